"""The tables of docs/zoo.md: what the models that ship know, and how they debated in results/tiny.

snakemake --cores 2 --config spec=tiny && python benchmarks/models/zoo.py
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cortexdsl as cx
from cortexdsl.engine.formulas import credibility
from cortexdsl_tiny.folder import find, names

RESULTS = Path("results/tiny")
TASKS = ("arithmetic", "choice", "world")
COUNTS = ("opening_accuracy", "wrong_to_right", "right_to_wrong", "input_tokens_per_agent", "calls")


def models() -> Iterable[tuple[str, ...]]:
    """Yield a row for each model, the most credible first."""
    cards = sorted((dict(find(f"tiny/{name}").card) for name in names()), key=lambda card: -card["parameters"])
    trust = credibility([card["parameters"] for card in cards], [card["tokens"] for card in cards])
    yield (
        "model", "parameters", "tokens", "credibility", "sums", "options", "facts", "each step", "unread",
        "sure", "calibration error", "debating", "among right", "among wrong", "minutes of a core",
    )  # fmt: skip
    for card, value in zip(cards, trust, strict=True):
        marks = card["marks"]
        yield (
            f"`{card['name']}`", f"{card['parameters']:,}", f"{card['tokens'] / 1e6:.1f} M", f"{value:.3f}",
            *(f"{marks['tasks'][task]['right']:.0%}" for task in TASKS),
            ", ".join(f"{100 * share:.0f}" for share in marks["steps"]),
            f"{marks['unread']:.1%}", f"{marks['confidence']:.2f}", f"{marks['calibration_error']:.2f}",
            *(f"{marks['debating'][what]:.0%}" for what in ("right", "among_right", "among_wrong")),
            f"{card['seconds_of_processor'] / 60:.0f}",
        )  # fmt: skip


def methods(run: Any) -> Iterable[tuple[str, ...]]:
    """Yield a row for each cell: accuracy by dataset with intervals, then what it took."""
    found = {(row.dataset, row.cell, row.metric): row for row in run.metrics.itertuples()}
    datasets = list(dict.fromkeys(run.scores.dataset))
    yield ("method", *datasets, "all", *(name.replace("_", " ") for name in COUNTS))
    for cell in run.cells:
        rows = [found[dataset, cell, "accuracy"] for dataset in (*datasets, "all")]
        yield (
            cell,
            *(f"{100 * row.estimate:.0f} ({100 * row.ci_low:.0f} to {100 * row.ci_high:.0f})" for row in rows),
            *(_count(found.get(("all", cell, name))) for name in COUNTS),
        )


def claims(run: Any) -> Iterable[tuple[str, ...]]:
    """Yield a row for each claim."""
    yield "claim", "estimate", "interval", "p, adjusted", "verdict"
    for row in run.claims.itertuples():
        yield (
            f"`{row.claim}`", f"{row.estimate:.3f}", f"{row.ci_low:.3f} to {row.ci_high:.3f}", f"{row.p_adjusted:.2g}",
            str(row.verdict),
        )  # fmt: skip


def _count(row: Any) -> str:
    return "" if row is None else f"{row.estimate:.2f}"


def show(rows: Iterable[tuple[str, ...]]) -> None:
    """Print a table in Markdown."""
    head, *body = rows
    for line in (head, ("---",) * len(head), *body):
        print("|", " | ".join(line), "|")
    print()


def main() -> None:
    """Print the tables."""
    show(models())
    run = cx.open(RESULTS)
    for table in (methods, claims):
        show(table(run))


if __name__ == "__main__":
    main()

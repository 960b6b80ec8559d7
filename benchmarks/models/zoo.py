"""The tables of docs/benchmarks/zoo-results.md: what the models that ship know, and how they debated in results/tiny.

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
COUNTS = {"wrong_to_right": ".2f", "right_to_wrong": ".2f", "input_tokens_per_agent": ".0f", "calls": ".1f"}
"""Columns of the table of methods, with their formats."""


def cards() -> list[dict[str, Any]]:
    """Return the cards of the models, the most credible first."""
    return sorted((dict(find(f"tiny/{name}").card) for name in names()), key=lambda card: -card["parameters"])


def models() -> Iterable[tuple[str, ...]]:
    """Yield a row for each model: its size and how often it is right."""
    shipped = cards()
    trust = credibility([card["parameters"] for card in shipped], [card["tokens"] for card in shipped])
    yield "model", "parameters", "tokens", "credibility", "sums", "options", "facts", "minutes to train"
    for card, value in zip(shipped, trust, strict=True):
        yield (
            f"`{card['name']}`", f"{card['parameters']:,}", f"{card['tokens'] / 1e6:.1f} M", f"{value:.3f}",
            *(f"{card['marks']['tasks'][task]['right']:.0%}" for task in TASKS),
            f"{card['seconds_of_processor'] / 60:.0f}",
        )  # fmt: skip


def replies() -> Iterable[tuple[str, ...]]:
    """Yield a row for each model: its steps, its confidence, and how often it is right in the middle of debates."""
    yield (
        "model", "each step", "unreadable", "stated confidence", "calibration error", "in debates", "among right",
        "among wrong",
    )  # fmt: skip
    for card in cards():
        marks = card["marks"]
        yield (
            f"`{card['name']}`", ", ".join(f"{100 * share:.0f}" for share in marks["steps"]), f"{marks['unread']:.1%}",
            f"{marks['confidence']:.2f}", f"{marks['calibration_error']:.2f}",
            *(f"{marks['debating'][what]:.0%}" for what in ("right", "among_right", "among_wrong")),
        )  # fmt: skip


def methods(run: Any) -> Iterable[tuple[str, ...]]:
    """Yield a row for each cell: accuracy by dataset with intervals, then what it took."""
    found = {(row.dataset, row.cell, row.metric): row for row in run.metrics.itertuples()}
    datasets = list(dict.fromkeys(run.scores.dataset))
    yield ("method", *datasets, "all", "opening", *(name.replace("_", " ") for name in COUNTS))
    for cell in run.cells:
        rows = [found[dataset, cell, "accuracy"] for dataset in (*datasets, "all")]
        yield (
            cell,
            *(f"{100 * row.estimate:.0f} ({100 * row.ci_low:.0f} to {100 * row.ci_high:.0f})" for row in rows),
            _count(found.get(("all", cell, "opening_accuracy")), ".0f", 100),
            *(_count(found.get(("all", cell, name)), form) for name, form in COUNTS.items()),
        )


def claims(run: Any) -> Iterable[tuple[str, ...]]:
    """Yield a row for each claim."""
    yield "claim", "estimate", "interval", "p, adjusted", "verdict"
    for row in run.claims.itertuples():
        yield (
            f"`{row.claim}`", f"{row.estimate:.3f}", f"{row.ci_low:.3f} to {row.ci_high:.3f}", f"{row.p_adjusted:.2g}",
            str(row.verdict),
        )  # fmt: skip


def _count(row: Any, form: str, scale: int = 1) -> str:
    return "" if row is None else format(scale * row.estimate, form)


def show(rows: Iterable[tuple[str, ...]]) -> None:
    """Print a table in Markdown."""
    head, *body = rows
    for line in (head, ("---",) * len(head), *body):
        print("|", " | ".join(line), "|")
    print()


def main() -> None:
    """Print the tables."""
    show(models())
    show(replies())
    run = cx.open(RESULTS)
    for table in (methods, claims):
        show(table(run))


if __name__ == "__main__":
    main()

"""Write the tables and figures of the case study (docs/worth.md, docs/benchmarks/worth-claims.md) from results/worth.

    make worth                              # runs specs/worth.yaml, then this
    python benchmarks/models/worth.py [RESULTS] [--pilot]

Everything between `<!-- made: NAME -->` and `<!-- end -->` is replaced, and only that: prose is typed by hand. With
--pilot the page says above its numbers that they are of a pilot.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import cortexdsl as cx

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "docs" / "worth.md", ROOT / "docs" / "benchmarks" / "worth-claims.md")
SPEC = ROOT / "specs" / "worth.yaml"
FIGURES = {"cost": "Accuracy and tokens of each method", "courses": "Where each debate was won or lost"}
BLOCK = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- end -->)", re.S)
CLAIM = re.compile(r"  - (?P<claim>[^#\n]+?)(?:\s+# (?P<question>.*))?$")
MARKS = {"supported": "**yes**", "contradicted": "**no**", "undecided": "undecided"}
EQUAL = "accuracy(debate) > accuracy(sampled)"
COURSES = ("kept_right", "won_in_debate", "won_by_vote", "lost_by_vote", "lost_in_debate", "never_found")


class Results:
    """A finished experiment, and what its spec says about its claims."""

    def __init__(self, folder: Path) -> None:
        self.run: Any = cx.open(folder)
        self.folder = folder
        self.metrics = {(row.dataset, row.cell, row.metric): row for row in self.run.metrics.itertuples()}
        self.claims = {row.claim: row for row in self.run.claims.itertuples()}
        self.datasets = tuple(dict.fromkeys(self.run.scores.dataset))

    def value(self, cell: str, metric: str, dataset: str = "all") -> Any:
        """Return the row of a metric; None if there is none."""
        return self.metrics.get((dataset, cell, metric))


def table(rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown; the first row is its head."""
    head, *body = [tuple(row) for row in rows]
    for line in (head, ("---",) * len(head), *body):
        yield "| " + " | ".join(line) + " |"


def setup(results: Results) -> Iterator[str]:
    """Yield what was run."""
    scores = results.run.scores
    asked = scores.groupby("dataset", sort=False).question_id.nunique()
    entries = [json.loads(line) for line in (results.folder / "ledger.jsonl").read_text("utf-8").splitlines()]
    times = [datetime.fromisoformat(entry["at"]) for entry in entries]
    replicates = scores.replicate.nunique()
    yield (
        f"{asked.sum()} questions ({', '.join(f'{count} of {name}' for name, count in asked.items())}), "
        f"{replicates} replicate{'s' if replicates > 1 else ''}, {len(results.run.cells)} cells, "
        f"{len(scores):,} debates, {len(results.claims)} claims. From the declaration of the claims to the verdicts, "
        f"the run took {(times[-1] - times[0]).total_seconds() / 60:.0f} minutes."
    )
    command = [sys.executable, "-m", "cortexdsl", "power", str(SPEC), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    plans = {plan["claim"]: plan for plan in map(json.loads, done.stdout.splitlines())}
    plan = plans[EQUAL]
    yield (
        f"Before the run, `cortexdsl power specs/worth.yaml` said: if the true difference is "
        f"{100 * plan['detectable']:.0f} points or more, `{EQUAL}` is supported with a probability of 80 % "
        f"(each claim at alpha {plan['alpha']:.2g})."
    )


def answers(results: Results) -> Iterator[str]:
    """Yield a table of claims for each part of the spec's hypotheses: the question, its answer, and by how much."""
    for part, claims in sections():
        rows = [("question", "claim", "answer", "estimate", "95 % interval", "p, adjusted")]
        for claim, question in claims:
            row = results.claims.get(claim)
            if row is None:
                continue
            rows.append(
                (
                    question.capitalize(), f"`{claim}`",
                    MARKS[row.verdict] if row.estimate == row.estimate else "not tested",
                    signed(row.estimate), between(row.ci_low, row.ci_high), chance(row.p_adjusted),
                )
            )  # fmt: skip
        counts = Counter(row[2].strip("*") for row in rows[1:])
        yield f"**{part[0].upper()}{part[1:]}** ({', '.join(f'{count} {mark}' for mark, count in counts.items())})"
        yield ""
        yield from table(rows)
        yield ""


def methods(results: Results) -> Iterator[str]:
    """Yield a row a cell: accuracy by dataset, and what a question cost."""
    names = (*results.datasets, "all")
    rows = [("cell", *names, "vote on first answers", "tokens", "Mflop", "dollars for 1,000 questions")]
    for cell in results.run.cells:
        cost = [results.value(cell, metric) for metric in ("opening_accuracy", "total_tokens", "compute", "dollars")]
        right = [share(results.value(cell, "accuracy", name)) for name in names]
        spent = [number(row, scale) for row, scale in zip(cost[1:], (1, 1e-6, 1e3), strict=True)]
        rows.append((f"`{cell}`", *right, share(cost[0], ends=False), *spent))
    yield "Per cent right with 95 % intervals; tokens and millions of operations (Mflop) are means per question."
    yield ""
    yield from table(rows)


def matches(results: Results) -> Iterator[str]:
    """Yield a row for each matched cell and dataset: what it spent as a share of its budget."""
    rows = [("cell", "dataset", "matched to", "unit", "spent / budget", "95 % interval")]
    with (results.folder / "matches.csv").open(encoding="utf-8") as stream:
        found = list(csv.DictReader(stream))
    for row in found:
        ends = " to ".join(f"{float(row[end]):.3f}" for end in ("ci_low", "ci_high") if row[end])
        unit = row["metric"].replace("_", " ")
        rows.append(
            (f"`{row['cell']}`", row["dataset"], f"`{row['reference']}`", unit, f"{float(row['ratio']):.3f}", ends)
        )
    within = sum(abs(float(row["ratio"]) - 1) <= 0.05 for row in found)
    yield f"{within} of {len(found)} budgets were reached within 5 %."
    yield ""
    yield from table(rows)


def headroom(results: Results) -> Iterator[str]:
    """Yield a row a cell: the share of debates by how they were won or lost, and what a perfect choice would add."""
    rows = [("cell", *(name.replace("_", " ") for name in COURSES), "oracle gap")]
    for cell in results.run.cells:
        shares = [results.value(cell, name) for name in (*COURSES, "oracle_gap")]
        rows.append((f"`{cell}`", *(share(row, ends=False) for row in shares)))
    yield "Per cent of the debates."
    yield ""
    yield from table(rows)


def samples(results: Results) -> Iterator[str]:
    """Yield pass@8 and the vote of eight for each cell that samples."""
    rows = [("cell", "one sample", "vote of 8", "one of 8 is right")]
    for cell in results.run.cells:
        found = [results.value(cell, name) for name in ("pass_at_1", "majority_at_8", "pass_at_8")]
        if found[1] is not None and found[1].estimate == found[1].estimate:
            rows.append((f"`{cell}`", *(share(row, ends=False) for row in found)))
    yield from table(rows)


def figure(results: Results, name: str) -> Iterator[str]:
    """Yield the link of a figure of the report, and copy the figure to the folder of the page."""
    shutil.copyfile(results.folder / "figures" / f"{name}.svg", PAGES[0].with_name(f"worth-{name}.svg"))
    yield f"![{FIGURES[name]}](worth-{name}.svg)"


def sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each part of the spec's hypotheses, by the comment above it, with its claims and their questions."""
    part: tuple[str, list[tuple[str, str]]] | None = None
    lines = SPEC.read_text("utf-8").partition("\nhypotheses:\n")[2].splitlines()
    for line in lines:
        if line.startswith("  # "):
            if part:
                yield part
            part = (line[4:], [])
        elif (claim := CLAIM.match(line)) and part:
            part[1].append((claim["claim"], claim["question"] or ""))
        elif line and not line.startswith(" "):
            break
    if part:
        yield part


def share(row: Any, ends: bool = True) -> str:
    """Return a share in per cent, with its interval."""
    if row is None or row.estimate != row.estimate:
        return ""
    interval = f" ({100 * row.ci_low:.0f} to {100 * row.ci_high:.0f})" if ends and row.ci_low == row.ci_low else ""
    return f"{100 * row.estimate:.0f}{interval}"


def number(row: Any, scale: float) -> str:
    """Return a mean in other units, with three digits or more."""
    if row is None or row.estimate != row.estimate:
        return ""
    value = row.estimate * scale
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def signed(value: float) -> str:
    """Return a number; nothing for none."""
    return "" if value != value else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"


def chance(p: float) -> str:
    """Return a p-value; nothing for none."""
    return "" if p != p else "< 0.001" if p < 0.001 else f"{p:.2g}"


def between(low: float, high: float) -> str:
    """Return an interval; nothing for none."""
    return f"{signed(low)} to {signed(high)}" if low == low else ""


BLOCKS: Mapping[str, Callable[[Results], Iterator[str]]] = {
    "setup": setup,
    "answers": answers,
    "methods": methods,
    "matches": matches,
    "headroom": headroom,
    "samples": samples,
    "cost": lambda results: figure(results, "cost"),
    "courses": lambda results: figure(results, "courses"),
}
PILOT = (
    "> **These are numbers of a pilot on a busy machine, at a quarter of the size. The final run replaces them.**\n\n"
)


def main() -> None:
    """Write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, nargs="?", default=ROOT / "results" / "worth")
    parser.add_argument("--pilot", action="store_true", help="say above the numbers that they are of a pilot")
    args = parser.parse_args()
    results = Results(args.results)

    def made(block: re.Match[str]) -> str:
        warning = PILOT if args.pilot and block[2] == "setup" else ""
        return f"{block[1]}{warning}" + "\n".join(BLOCKS[block[2]](results)).rstrip() + f"\n{block[3]}"

    for page in PAGES:
        page.write_text(BLOCK.sub(made, page.read_text("utf-8")), encoding="utf-8")
        print(f"{page.relative_to(ROOT)} has the numbers of {args.results}")


if __name__ == "__main__":
    main()

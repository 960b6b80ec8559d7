"""Failures first: a report whose cells lost more calls than the spec puts up with begins with that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cortexdsl.numbers import counted
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.records.tallies import Tallies
from cortexdsl.records.unread import mostly_unread, unread_sentences
from cortexdsl.report.inputs.health import Health
from cortexdsl.report.inputs.results import Results
from cortexdsl.terms import Limits


def losses_line(results: Results) -> str:
    """Return the sentence that a report must begin with, or nothing where few calls have failed.

    A cell is named where a larger share of its calls brought no words than `limits: failed` allows.
    """
    share = allowed(results.plan)
    worst = sorted(
        (row for row in results.health if row.calls and row.counts["failures"] > share * row.calls),
        key=lambda row: -row.counts["failures"] / row.calls,
    )
    if not worst:
        return ""
    cells = f"{len(worst)} of {counted(len(results.health), 'cell')}"
    named = "; ".join(map(_named, worst[:5])) + (f"; and {len(worst) - 5} more" if len(worst) > 5 else "")
    return (
        f"In {cells} more than {share:.3g} of the calls brought no reply: {named}. What such a cell shows may be "
        f"the outage and not the method. Ask the failed calls again: cortexdsl run {results.experiment} --errors-again"
    )


def unread_line(folder: Path, plan: Mapping[str, Any]) -> str:
    """Return what to say of steps most of whose replies could not be read, as their jobs counted them; or nothing."""
    tallies = Tallies(Path(Layout(str(folder)).ledgers)).read()
    if not tallies:
        return ""
    names = {str(cell["slug"]): str(cell["cell"]) for cell in plan.get("cells", ())}
    found = mostly_unread((names[tally.cell], tally.unread) for tally in tallies if tally.cell in names)
    return " ".join(f"{sentence}." for sentence in unread_sentences(found))


def allowed(plan: Mapping[str, Any]) -> float:
    """Return the share of calls that may fail, by the plan; older plans say nothing, and get what stands by itself."""
    return float((plan.get("limits") or {}).get("failed", Limits().failed))


def _named(row: Health) -> str:
    return f"{row.cell} ({row.counts['failures']:,} of {row.calls:,})"

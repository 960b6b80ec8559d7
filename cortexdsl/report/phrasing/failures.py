"""Failures in sentences: calls without a reply, unreadable replies, cells that lost too many calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cortexdsl.core.metrics import TOOL_METRICS
from cortexdsl.numbers import counted, number
from cortexdsl.records.links import Outcome
from cortexdsl.records.unread import mostly_unread_steps, unread_sentences
from cortexdsl.report.data import Health, ReportData
from cortexdsl.stats.tables.score_table import absent_in_words

TROUBLES = {
    "failures": ("call", "brought no reply"),
    "unparsed_turns": ("turn", "could not be read"),
    "unanswered": ("debate", "ended without an answer"),
}
"""By count: the noun, and what became of it."""
OUTCOMES: dict[Outcome, tuple[str, str]] = {
    "cut": ("Cut", "cut at their length limit"),
    "repetitive": ("In a loop", "that say the same over and over"),
    "refused": ("Refused", "that refuse"),
    "empty": ("Empty", "without a word"),
    "tool_calls": ("Tool called", "that call a tool"),
    "unmeasured": ("Unmeasured", "whose confidence could not be measured"),
}
"""The kinds of replies that are counted separately: as the heading of a column, and in a list of a sentence."""


def health_line(rows: Sequence[Health]) -> str:
    """Return all troubles of the experiment in one sentence."""
    debates, calls = sum(row.debates for row in rows), sum(row.calls for row in rows)
    total = {key: sum(row.counts[key] for row in rows) for key in rows[0].counts} if rows else {}
    absent = absent_in_words({(dataset, row.cell): which for row in rows for dataset, which in row.absent.items()})
    found = [f"{counted(total[key], noun)} {what}" for key, (noun, what) in TROUBLES.items() if total.get(key)]
    if found:
        *others, last = found
        all_found = f"{', '.join(others)}{',' if len(others) > 1 else ''} and {last}" if others else last
        said = f"Of {counted(calls, 'call')} in {counted(debates, 'debate')}, {all_found}."
    else:
        said = f"All {counted(calls, 'reply', 'replies')} of {counted(debates, 'debate')} arrived and could be read."
    return f"{said}{_outcomes(total)}{_tools(total)} {absent}".strip()


def _tools(total: Mapping[str, int]) -> str:
    """Say how often agents used tools in their turns; empty if they did not."""
    uses, failed = (total.get(name, 0) for name in TOOL_METRICS)
    lost = f", {failed:,} of them without a result" if failed else ""
    return f" Agents used tools {counted(uses, 'time')}{lost}." if uses else ""


def _outcomes(total: Mapping[str, int]) -> str:
    """List the kinds of replies that were counted; empty if there were none."""
    found = [f"{number(total[kind], 1)} {what}" for kind, (_, what) in OUTCOMES.items() if total.get(kind)]
    return f" Among the replies: {', '.join(found)}." if found else ""


def losses_line(data: ReportData) -> str:
    """Return the sentence that a report must begin with, or nothing if few calls have failed.

    Cells are named if a larger share of their calls brought no reply than `limits: failed` allows.
    """
    share = data.plan.limits.failed
    worst = sorted(
        (row for row in data.health if row.calls and row.counts["failures"] > share * row.calls),
        key=lambda row: -row.counts["failures"] / row.calls,
    )
    if not worst:
        return ""
    cells = f"{len(worst)} of {counted(len(data.health), 'cell')}"
    named = "; ".join(map(_named, worst[:5])) + (f"; and {len(worst) - 5} more" if len(worst) > 5 else "")
    return (
        f"In {cells} more than {share:.3g} of the calls brought no reply: {named}. What such a cell shows may be "
        f"the outage and not the method. Ask the failed calls again: cortexdsl run {data.experiment} --errors-again"
    )


def unread_line(data: ReportData) -> str:
    """Return what to say of steps most of whose replies could not be read, as their jobs counted them; or nothing."""
    if not data.tallies:
        return ""
    names = {cell.slug: cell.name for cell in data.plan.cells}
    found = mostly_unread_steps((names[tally.cell], tally.unread) for tally in data.tallies if tally.cell in names)
    return " ".join(f"{sentence}." for sentence in unread_sentences(found))


def _named(row: Health) -> str:
    return f"{row.cell} ({row.counts['failures']:,} of {row.calls:,})"

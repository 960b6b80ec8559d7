"""Matched budgets: what each matched cell spent, as a share of what it may spend."""

from __future__ import annotations

from cortexdsl.numbers import THIN, number
from cortexdsl.report.data import ReportData
from cortexdsl.report.phrasing.names import wording
from cortexdsl.report.tables.table import Table, group, measure, tabulate, text, value
from cortexdsl.stats.inference.budgets import TOLERANCE
from cortexdsl.stats.tables.rows import MatchRow

MATCHES = "matches"


def match_table(data: ReportData) -> Table | None:
    """Return the ratio that each matched budget reached; None without matched cells."""
    if not data.matches:
        return None
    fields = [
        text("Cell", "cell"),
        group("Dataset", "dataset"),
        text("Budget", "metric", lambda row: f"{wording(row.metric).noun} of {row.reference}"),
        value("Spent", "spent", number),
        value("Budget of", "budget", number),
        measure("Ratio", ("ratio", "ci_low", "ci_high"), "number"),
    ]
    note = f"Ratio: mean spending of the cell over that of the cell that it is matched to. {unmatched_line(data)}"
    caption = f"How matched budgets were met: means over questions, ratios with 95{THIN}% intervals."
    return tabulate(MATCHES, caption, fields, data.matches, note.strip())


def unmatched_line(data: ReportData) -> str:
    """Return a warning that names the cells whose budget was missed by more than the tolerance; empty if none did."""
    missed = [row for row in data.matches if row.ratio is None or abs(row.ratio - 1) > TOLERANCE]
    if not missed:
        return ""
    return f"Budgets missed by more than {TOLERANCE:.0%}: {'; '.join(map(_missed, missed))}."


def _missed(row: MatchRow) -> str:
    of = f"the {wording(row.metric).noun} of {row.reference}"
    if row.ratio is None:
        return f"{row.cell} and {of}, which are not known"
    return f"{row.cell} spent {number(row.ratio)} times {of}"

"""The table of labels: how many turns of each cell have which, and how many labels of the judge could not be read."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from cortexdsl.metrics.labels import read_labels
from cortexdsl.plan.layout import Layout
from cortexdsl.report.tables.table import Table, count, tabulate, text

LABELS = "labels"


def label_table(folder: Path) -> Table | None:
    """Return the table of an experiment's labels; None if it has none."""
    path = Path(Layout(folder.as_posix()).table("labels"))
    counts: dict[tuple[str, str], Counter[str | None]] = defaultdict(Counter)
    for row in read_labels(path) if path.is_file() else ():
        counts[row.cell, row.label][row.value] += 1
    if not counts:
        return None

    def values(row: tuple[tuple[str, str], Counter[str | None]]) -> str:
        return ", ".join(f"{value} {times:,}" for value, times in row[1].most_common() if value)

    fields = [
        text("Cell", "cell", lambda row: row[0][0]),
        text("Label", "label", lambda row: row[0][1]),
        count("Turns", "turns", lambda row: row[1].total()),
        text("Values", "values", values),
        count("Unreadable", "unread", lambda row: row[1][None]),
    ]
    note = "Unreadable: the judge's reply has no label of the set. Such turns are left out of metrics of labels."
    return tabulate(LABELS, "Labels of turns.", fields, counts.items(), note)

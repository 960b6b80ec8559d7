"""The table of labels: how many turns of each cell have which, and how many labels of the judge could not be read."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.metrics.labels import read_labels
from cortexdsl.plan.layout import Layout
from cortexdsl.report.tables.table import Table, count, tabulate, text

LABELS = "labels"


@dataclass(frozen=True, slots=True)
class LabelledCell:
    """How many turns of a cell have each value of a label, and how many of its labels could not be read."""

    cell: str
    label: str
    turns: int
    values: str
    unread: int


def label_table(folder: Path) -> Table | None:
    """Return the table of an experiment's labels; None if it has none."""
    path = Path(Layout(folder.as_posix()).table("labels"))
    counts: dict[tuple[str, str], Counter[str | None]] = defaultdict(Counter)
    for row in read_labels(path) if path.is_file() else ():
        counts[row.cell, row.label][row.value] += 1
    if not counts:
        return None
    rows = [
        LabelledCell(*place, given.total(), ", ".join(f"{v} {n:,}" for v, n in given.most_common() if v), given[None])
        for place, given in counts.items()
    ]
    fields = [
        text("Cell", "cell"),
        text("Label", "label"),
        count("Turns", "turns"),
        text("Values", "values"),
        count("Unreadable", "unread"),
    ]
    note = "Unreadable: the judge's reply has no label of the set. Such turns are left out of metrics of labels."
    return tabulate(LABELS, "Labels of turns.", fields, rows, note)

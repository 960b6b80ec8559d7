"""The table of labels: turns by value, and those whose label could not be read."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.metrics.labels import write_labels
from cortexdsl.metrics.rows import LabelRow
from cortexdsl.report.tables.files import as_csv
from cortexdsl.report.tables.labels import label_table


def row(turn: int, label: str, value: str | None, cell: str = "full") -> LabelRow:
    return LabelRow("sums", cell, 1, "q-1", turn, 1, "ann", label, value, "a" * 32)


def test_unreadable_labels_are_counted_and_values_stand_by_their_number(tmp_path: Path) -> None:
    rows = [
        *(row(turn, "error", value) for turn, value in enumerate(["no", "no", "yes", None])),
        row(0, "move", "follows"), row(0, "error", None, "sparse"),
    ]  # fmt: skip
    write_labels(tmp_path / "labels.csv", rows)
    table = label_table(tmp_path)
    assert table is not None
    assert as_csv(table).splitlines() == [
        "cell,label,turns,values,unread",
        'full,error,4,"no 2, yes 1",1',
        "full,move,1,follows 1,0",
        "sparse,error,1,,1",
    ]


def test_an_experiment_without_labels_has_no_such_table(tmp_path: Path) -> None:
    assert label_table(tmp_path) is None
    write_labels(tmp_path / "labels.csv", [])
    assert label_table(tmp_path) is None

"""A CSV file as typed rows, and a table as columns that are declared over them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import pytest

from cortexdsl.errors import DataError
from cortexdsl.report.csv_rows import read_frame
from cortexdsl.report.tables.files import as_csv, as_markdown
from cortexdsl.report.tables.table import count, group, share, tabulate, text
from cortexdsl.stats.tables.rows import ClaimRow


@dataclass(frozen=True)
class CellRow:
    cell: str
    right: float | None
    size: float
    answers: int
    rounds: int | None
    is_new: bool
    alpha: float
    note: str = ""


def read(folder: Path, text: str) -> tuple[CellRow, ...]:
    (folder / "cells.csv").write_text(text)
    return read_frame(folder / "cells.csv", CellRow, alpha=0.05)


def test_each_column_is_read_by_its_annotation(tmp_path: Path) -> None:
    """Empty and `nan` are unknown, 3.0 is the whole number 3; comments are skipped, other columns too."""
    head = "# schema 1\ncell,right,size,answers,rounds,is_new,other\n"
    full, sparse = read(tmp_path, head + "007,0.30000000000000004,1e-3,3.0,2,True,x\nb,nan,,,None,no,y\n")
    assert full == CellRow("007", 0.1 + 0.2, 0.001, 3, 2, True, 0.05)
    assert (sparse.right, sparse.answers, sparse.rounds, sparse.is_new, sparse.note) == (None, 0, None, False, "")
    assert math.isnan(sparse.size)


def test_older_results_may_lack_columns_but_not_names(tmp_path: Path) -> None:
    """Numbers and texts with a default may be absent; a text without one is what a row is about."""
    (row,) = read(tmp_path, "cell\na\n")
    assert (row.right, row.answers) == (None, 0)
    with pytest.raises(DataError, match=r"cells\.csv: no column cell; it has right, answers"):
        read(tmp_path, "right,answers\n1,2\n")
    with pytest.raises(DataError, match=r"cells\.csv:3: answers is 'many', not a number"):
        read(tmp_path, "cell,answers\na,1\nb,many\n")


def test_a_column_may_be_added_to_a_file_without_a_change_of_its_readers(tmp_path: Path) -> None:
    """Rows are named, not counted: the order of columns and unknown ones do not matter."""
    (tmp_path / "hypotheses.csv").write_text("verdict,added,p,claim,p_adjusted\nundecided,7,0.2,a > b,0.4\n")
    (row,) = read_frame(tmp_path / "hypotheses.csv", ClaimRow)
    assert (row.claim, row.verdict, row.p, row.p_adjusted, row.estimate) == ("a > b", "undecided", 0.2, 0.4, None)


def test_a_table_is_its_columns_over_rows(tmp_path: Path) -> None:
    """The CSV file has each number unrounded and the group in a column; Markdown rounds."""
    rows = read(tmp_path, "cell,right,size,answers\na,0.12345,,1200\nb,,,7\n")
    fields = [
        text("Cell", "cell"),
        group("Set", "set", lambda row: "one"),
        share("Right", "right"),
        count("N", "answers"),
    ]
    table = tabulate("made", "A caption.", fields, rows)
    assert as_csv(table) == "cell,set,right,answers\na,one,0.12345,1200\nb,one,,7\n"
    assert "| a | one | 12.3\u202f% | 1,200 |" in as_markdown(table).replace("\u2009", ",")
    assert [title for title, _ in table.groups()] == [""]
    assert table.shown == (0, 2, 3)

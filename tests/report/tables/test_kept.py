"""The table of what was kept of guided replies, and its place on the page."""

from __future__ import annotations

import re
from pathlib import Path

from cortexdsl.report.build import build_report
from cortexdsl.report.tables.work.kept import kept_table
from tests.report.conftest import write_results

PHASES = ("1-critic", "1-actor")
PLAN = {"trainings": [{"training": "acc", "phases": [{"phase": phase} for phase in PHASES]}]}
KEPT = """\
part,round,moments,right,wrong,below,same,cut,no_reply,examples
train,0,100,36,38,24,0,2,0,21
validation,0,20,8,7,5,0,0,0,5
"""


def kept(folder: Path, phase: str = "1-critic") -> Path:
    where = folder / "train" / "acc" / phase
    where.mkdir(parents=True)
    (where / "kept.csv").write_text(KEPT)
    return where


def test_what_was_kept_and_why_not_the_rest(tmp_path: Path) -> None:
    """Kinds of which there is none have no column; a phase that has not begun has no row."""
    kept(tmp_path)
    table = kept_table(tmp_path, PLAN)
    assert table is not None
    assert [column.title for column in table.columns] == [
        "Phase", "Part", "Round", "Replies", "Guided right", "Guided wrong", "No difference", "Cut", "To imitate",
    ]  # fmt: skip
    assert [[entry.text for entry in row] for row in table.rows] == [
        ["acc 1-critic", "train", "0", "100", "36", "38", "24", "2", "21"],
        ["acc 1-critic", "validation", "0", "20", "8", "7", "5", "0", "5"],
    ]


def test_where_nothing_learns_there_is_none(tmp_path: Path) -> None:
    assert kept_table(tmp_path, {}) is None
    assert kept_table(tmp_path, PLAN) is None


def test_each_table_stands_on_the_page_once(tmp_path: Path) -> None:
    """Beside the section that says what was learned; and it has its files."""
    folder = write_results(tmp_path / "invented", **PLAN)
    kept(folder)
    build_report(folder, {}, has_figures=False)
    page = (folder / "report.html").read_text()
    found = re.findall(r'<table id="(table-[^"]+)"', page)
    assert {"table-kept", "table-agents"} <= set(found)
    assert len(found) == len(set(found))
    assert (folder / "tables" / "kept.csv").read_text().startswith("training,phase,part,round,moments,right,wrong,")

"""Who persuaded whom, as the report tells it."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.report.inputs.results import read_results
from cortexdsl.report.tables.talk.persuasion import MOST, persuasion_table
from tests.report.conftest import plan, write_results


def test_the_most_persuasive_of_a_cell_come_first(tmp_path: Path) -> None:
    """Cells in the plan's order; of 8 answers that quick heard from slow and did not share it took over 6, 75 %."""
    folder = write_results(tmp_path)
    table = persuasion_table(folder, read_results(folder))
    assert table is not None
    assert [(row[1].text, row[0].text, row[3].text, row[4].values) for row in table.rows] == [
        ("sparse", "slow", "quick", (6, 8)),
        ("sparse", "quick", "slow", (2, 10)),
        ("sparse", "slow", "vote", (0, 3)),
        ("full", "quick", "slow", (1, 4)),
    ]
    best, never = table.rows[0], table.rows[2]
    assert [entry.whole for entry in best[4:]] == ["75.0\u202f% 6 of 8", "100.0\u202f% 6 of 6", "0.0\u202f% 0 of 2"]
    assert [entry.whole for entry in never[4:]] == ["0.0\u202f% 0 of 3", "\u2013", "0.0\u202f% 0 of 3"]
    assert "agent=slow" in best[4].link
    assert never[4].link == ""


def test_points_of_a_large_grid_stand_in_the_file_alone(tmp_path: Path) -> None:
    cells = [dict(cell, axes={"keep": "median"} if "[" in cell["cell"] else {}) for cell in plan()["cells"]]
    folder = write_results(tmp_path, cells=cells)
    head, *rows = (folder / "persuasion.csv").read_text().splitlines()
    point = rows[1].replace("sparse", "sparse[keep=median]")
    (folder / "persuasion.csv").write_text("\n".join([head, *rows, *[point] * MOST]))
    table = persuasion_table(folder, read_results(folder))
    assert table is not None
    assert len(table.rows) == len(rows)
    assert "persuasion.csv alone" in table.note


def test_where_nobody_heard_another_mind_there_is_no_table(tmp_path: Path) -> None:
    folder = write_results(tmp_path)
    (folder / "persuasion.csv").write_text("dataset,cell,speaker,listener,faced,adopted\n")
    assert persuasion_table(folder, read_results(folder)) is None

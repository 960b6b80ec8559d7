"""Tables of debates: confidences by source, kinds of replies, who persuaded whom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cortexdsl.plan.record import parse_plan
from cortexdsl.report.data import Health, ReportData, read_data
from cortexdsl.report.phrasing.failures import health_line
from cortexdsl.report.tables.debates import MOST, calibration_table, health_table, persuasion_table
from tests.report.conftest import plan, write_results

CALIBRATION = """\
dataset,cell,confidence,answers,stated,mean_confidence,accuracy,brier,ece
sums,b,stated,40,40,0.9,0.5,0.4,0.4
sums,b,logprob,40,30,0.75,0.6,0.2,0.15
sums,a,stated,40,0,,,,
"""


def results(*health: Health) -> ReportData:
    return ReportData(parse_plan({"experiment": "x", "cells": [{"cell": "a"}, {"cell": "b"}]}), health=health)


def test_each_source_of_a_cell_is_a_row_and_silence_is_none(tmp_path: Path) -> None:
    (tmp_path / "calibration.csv").write_text(CALIBRATION)
    table = calibration_table(tmp_path, results())
    assert table is not None
    assert [row[2].text for row in table.rows] == ["stated", "logprob"]
    assert [row[3].values for row in table.rows] == [(40, 40), (30, 40)]
    assert [row[-1].values for row in table.rows] == [(0.4,), (0.15,)]


def test_without_confidences_there_is_no_table(tmp_path: Path) -> None:
    assert calibration_table(tmp_path, results()) is None


def test_it_stands_on_the_page_once(reported: Path) -> None:
    """As every other table does; a second one of its name would take its links."""
    found = re.findall(r'<table id="(table-[^"]+)"', (reported / "report.html").read_text())
    assert {"table-calibration", "table-agents"} <= set(found)
    assert len(found) == len(set(found))


def _health(**counts: int) -> Health:
    names = ("failures", "unparsed_turns", "unparsed", "unanswered", "was_tied", "cut", "repetitive", "refused",
             "empty", "tool_calls", "other_language", "unmeasured", "rankings", "partial_rankings")  # fmt: skip
    return Health("a", 10, 40, {name: counts.get(name, 0) for name in names}, {"rounds": 10}, {})


def test_kinds_of_replies_are_said_and_have_columns_where_there_are_any() -> None:
    odd = _health(unparsed_turns=3, refused=3, other_language=1)
    line = health_line([odd])
    assert line.endswith("Among the replies: 3 that refuse, 1 in another script than their question.")
    assert "Among" not in health_line([_health()])
    (table,) = health_table(results(odd))
    assert [head.title for head in table.columns if head.title in ("Refused", "Other script", "Empty")] == [
        "Refused", "Other script",
    ]  # fmt: skip


def test_partial_rankings_have_a_column_if_there_are_ballots() -> None:
    (table,) = health_table(results(_health(rankings=1_200, partial_rankings=7), _health()))
    (place,) = (k for k, head in enumerate(table.columns) if head.title == "Partial rankings")
    assert [row[place].whole.replace("\N{NARROW NO-BREAK SPACE}", " ") for row in table.rows] == ["7 of 1,200", "–"]
    assert "Partial rankings" not in [head.title for head in next(health_table(results(_health()))).columns]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({}, "All 40 replies of 10 debates arrived and could be read."),
        ({"unparsed_turns": 2}, "Of 40 calls in 10 debates, 2 turns could not be read."),
        ({"failures": 1, "unanswered": 1},
         "Of 40 calls in 10 debates, 1 call brought no reply and 1 debate ended without an answer."),
        ({"failures": 1, "unparsed_turns": 1, "unanswered": 2},
         "Of 40 calls in 10 debates, 1 call brought no reply, 1 turn could not be read, and 2 debates ended without an"
         " answer."),
    ],
)  # fmt: skip
def test_only_troubles_that_there_were_are_named(counts: dict[str, int], said: str) -> None:
    assert health_line([_health(**counts)]) == said


def test_the_most_persuasive_of_a_cell_come_first(tmp_path: Path) -> None:
    """Cells in the plan's order; of 8 answers that quick heard from slow and did not share it took over 6, 75 %."""
    folder = write_results(tmp_path)
    table = persuasion_table(folder, read_data(folder))
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
    table = persuasion_table(folder, read_data(folder))
    assert table is not None
    assert len(table.rows) == len(rows)
    assert "persuasion.csv alone" in table.note


def test_where_nobody_heard_another_mind_there_is_no_table(tmp_path: Path) -> None:
    folder = write_results(tmp_path)
    (folder / "persuasion.csv").write_text("dataset,cell,speaker,listener,faced,adopted\n")
    assert persuasion_table(folder, read_data(folder)) is None

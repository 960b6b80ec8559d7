"""The table of confidences by source, and the sentence that counts kinds of replies."""

from __future__ import annotations

import re
from pathlib import Path

from cortexdsl.report.build import build_report
from cortexdsl.report.inputs.health import Health, health_line
from cortexdsl.report.inputs.results import Results
from cortexdsl.report.tables.talk.calibration import calibration_table
from cortexdsl.report.tables.talk.debates import health_table
from tests.report.conftest import write_results

CALIBRATION = """\
dataset,cell,confidence,answers,stated,mean_confidence,accuracy,brier,ece
sums,b,stated,40,40,0.9,0.5,0.4,0.4
sums,b,logprob,40,30,0.75,0.6,0.2,0.15
sums,a,stated,40,0,,,,
"""


def results(*health: Health) -> Results:
    return Results({"experiment": "x", "cells": [{"cell": "a"}, {"cell": "b"}]}, (), (), (), (), health, (), ())


def test_each_source_of_a_cell_is_a_row_and_silence_is_none(tmp_path: Path) -> None:
    (tmp_path / "calibration.csv").write_text(CALIBRATION)
    table = calibration_table(tmp_path, results())
    assert table is not None
    assert [row[2].text for row in table.rows] == ["stated", "logprob"]
    assert [row[3].values for row in table.rows] == [(40, 40), (30, 40)]
    assert [row[-1].values for row in table.rows] == [(0.4,), (0.15,)]


def test_without_confidences_there_is_no_table(tmp_path: Path) -> None:
    assert calibration_table(tmp_path, results()) is None


def test_it_stands_on_the_page_once(tmp_path: Path) -> None:
    """As every other table does; a second one of its name would take its links."""
    folder = write_results(tmp_path / "invented")
    (folder / "calibration.csv").write_text(CALIBRATION.replace("sums,b", "arithmetic,sparse"))
    build_report(folder, {}, has_figures=False)
    found = re.findall(r'<table id="(table-[^"]+)"', (folder / "report.html").read_text())
    assert {"table-calibration", "table-agents"} <= set(found)
    assert len(found) == len(set(found))


def _health(**counts: int) -> Health:
    names = ("failures", "unparsed_turns", "unparsed", "unanswered", "was_tied", "cut", "repetitive", "refused",
             "empty", "tool_calls", "other_language", "unmeasured")  # fmt: skip
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

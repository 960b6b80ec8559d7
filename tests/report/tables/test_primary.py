"""The values of scores.csv that tables of axes and of the spread are computed from."""

from __future__ import annotations

import math
from pathlib import Path

from cortexdsl.metrics.rows import MetricRow
from cortexdsl.plan.record import parse_plan
from cortexdsl.report.data import ReportData, ScoreRow, read_scores
from cortexdsl.report.tables.results import levels_of

ROWS = """cell,dataset,replicate,question_id,cluster,score,calls
full,d,1,NA,,1,3
full,d,1,null,none,0,3
full,d,1,q,"",,3
"""


def read(folder: Path, text: str = ROWS, primary: str | None = "accuracy") -> tuple[ScoreRow, ...]:
    (folder / "scores.csv").write_text(text)
    return read_scores(folder, primary)


def test_ids_that_look_like_missing_values_are_kept(tmp_path: Path) -> None:
    """Only an empty cell is missing; questions may be called NA, null or None."""
    rows = read(tmp_path)
    assert [row.question_id for row in rows] == ["NA", "null", "q"]
    assert [row.cluster for row in rows] == ["", "none", ""]
    assert [row.value for row in rows] == [1.0, 0.0, None]
    assert read_scores(tmp_path / "nowhere", "accuracy") == ()


def test_values_are_those_of_the_primary_metric(tmp_path: Path) -> None:
    """The column of another metric has its name; a table without the column has no values, and so no axes."""
    assert [row.value for row in read(tmp_path, ROWS.replace("calls", "f1"), "f1")] == [3.0, 3.0, 3.0]
    metric = MetricRow("d", "full", "f1", 0.5, None, None, 3, 1)
    data = ReportData(parse_plan(AXES), metrics=(metric,), scores=read(tmp_path, primary="f1"))
    assert not data.has_values
    assert levels_of(data) == []


AXES = {
    "cells": [
        {"cell": f"m[rounds={n}]", "method": "m", "axes": {"rounds": str(n)}, "settings": {"rounds": n}} for n in (1, 2)
    ]
}


def test_values_of_axes_are_paired_by_cluster_or_question(tmp_path: Path) -> None:
    """q1 and q2 are one cluster, so one unit has the difference (1 - 0 + 1 - 1) / 2 = 0.5 and q3 has 0: 0.25."""
    lines = [
        f"m[rounds={n}],d,1,{question},{cluster},{score}"
        for n, scores in ((1, (0, 1, 1)), (2, (1, 1, 1)))
        for question, cluster, score in zip(("q1", "q2", "q3"), ("k", "k", ""), scores, strict=True)
    ]
    text = "\n".join(["cell,dataset,replicate,question_id,cluster,score", *lines, ""])
    metric = MetricRow("d", "m[rounds=1]", "accuracy", 0.5, None, None, 3, 1)
    levels = levels_of(ReportData(parse_plan(AXES), metrics=(metric,), scores=read(tmp_path, text)))
    assert [(one.value, one.mean) for one in levels] == [("1", 0.75), ("2", 1.0)]
    assert math.isclose(levels[1].effect, 0.25)

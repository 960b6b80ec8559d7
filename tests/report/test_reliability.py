"""The figure of confidences: a panel for each source, so that sources can be held against each other."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from cortexdsl.metrics.rows import BinRow, MetricRow
from cortexdsl.plan.record import parse_plan
from cortexdsl.report.data import ReportData
from cortexdsl.report.figures.drawing import SHEETS
from cortexdsl.report.figures.reliability import confidence_figure

pytestmark = pytest.mark.usefixtures("svg_alone")
GRID = ("sparse", "sparse[confidence=consistency-5]", "sparse[confidence=logprob]", "sparse[keep=median]", "vote")


def results(cells: tuple[str, ...], *buckets: tuple[str, str]) -> ReportData:
    """Invented results in which a cell's confidences of some sources lie at 0.9 and are right in 0.7."""
    found = tuple(BinRow("sums", cell, kind, 0.8, 1.0, 40, 0.9, 0.7) for cell, kind in buckets)
    metrics = tuple(MetricRow("sums", cell, "accuracy", 0.7, 0.6, 0.8, 40, 1) for cell in cells)
    plan = {"experiment": "x", "cells": [{"cell": cell} for cell in cells]}
    return ReportData(parse_plan(plan), metrics, bins=found)


def titles(results: ReportData) -> list[str]:
    """The headings of the panels, as the drawing for a page has them."""
    drawing = confidence_figure(results)
    assert drawing is not None
    words = re.findall(r">\s*([A-Z][a-z]+)\s*</text>", drawing.inline(SHEETS[0]))
    return [word for word in words if word in ("Stated", "Logprob", "Consistency", "Verifier", "Recalibrated")]


def test_each_source_has_a_panel_and_points_of_a_grid_of_sources_are_drawn() -> None:
    every = [(cell, kind) for cell in GRID for kind in ("stated", "recalibrated")]
    made = results(GRID, *every, (GRID[1], "consistency"), (GRID[2], "logprob"))
    assert titles(made) == ["Stated", "Logprob", "Consistency", "Recalibrated"]


def test_without_measured_confidences_there_are_two() -> None:
    made = results(("sparse",), ("sparse", "stated"), ("sparse", "recalibrated"))
    assert titles(made) == ["Stated", "Recalibrated"]
    drawing = confidence_figure(made)
    assert drawing is not None
    assert "measured" not in drawing.caption


def test_what_nobody_stated_has_no_panel() -> None:
    assert titles(results(("sparse",), ("sparse", "verifier"), ("sparse", "recalibrated"))) == [
        "Verifier", "Recalibrated",
    ]  # fmt: skip


def test_only_points_of_another_axis_make_no_figure() -> None:
    made = results((GRID[3],), (GRID[3], "stated"), (GRID[3], "recalibrated"))
    assert confidence_figure(made) is None
    assert confidence_figure(replace(made, bins=())) is None


def test_more_methods_than_colours_differ_by_their_marks() -> None:
    """There are seven colours: the eighth of eight methods has the first one, and another mark."""
    methods = tuple(f"method-{letter}" for letter in "abcdefgh")
    made = results(methods, *((cell, kind) for cell in methods for kind in ("stated", "recalibrated")))
    assert titles(made) == ["Stated", "Recalibrated"]
    drawing = confidence_figure(made)
    assert drawing is not None
    words = re.findall(r">\s*([\w-]+)\s*</text>", drawing.inline(SHEETS[0]))
    assert [words.count(method) for method in methods] == [1] * 8

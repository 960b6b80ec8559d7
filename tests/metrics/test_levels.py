"""Main effects of a grid, worked out by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from cortexdsl.claims.cells import CellNames
from cortexdsl.metrics.axis_effects import axis_levels

ARMS = [
    CellNames("m", "m", aliases=("m[k=1, w=a]",)),
    CellNames("m[k=1, w=b]", "m", axes={"k": 1, "w": "b"}),
    CellNames("m[k=2, w=a]", "m", axes={"k": 2, "w": "a"}),
    CellNames("m[k=2, w=b]", "m", axes={"k": 2, "w": "b"}),
    CellNames("other", "other"),
]
VALUES = {  # three questions
    "m": (1, 0, 1), "m[k=1, w=b]": (1, 0, 0), "m[k=2, w=a]": (1, 1, 1), "m[k=2, w=b]": (1, 0, 1), "other": (0, 0, 0),
}  # fmt: skip


def scores(**more: tuple[float, ...]) -> pd.DataFrame:
    rows = [("d", cell, f"q{n}", value) for cell, own in (VALUES | more).items() for n, value in enumerate(own)]
    return pd.DataFrame(rows, columns=["dataset", "cell", "unit", "value"])


def test_a_level_is_the_mean_over_the_other_axes() -> None:
    """k=1: (1, 0, .5), k=2: (1, .5, 1): differences 0, .5, .5, their mean 1/3, t(2) = 4.3027, error 1/6."""
    found = {(level.axis, level.value): level for level in axis_levels(scores(), ARMS)}
    assert set(found) == {("k", "1"), ("k", "2"), ("w", "a"), ("w", "b")}
    two = found["k", "2"]
    assert two.cells == ("m[k=2, w=a]", "m[k=2, w=b]")
    assert two.mean == pytest.approx(5 / 6)
    assert two.effect == pytest.approx(1 / 3)
    assert (two.low, two.high) == (pytest.approx(1 / 3 - 4.302653 / 6), pytest.approx(1 / 3 + 4.302653 / 6))
    assert found["k", "1"].effect == pytest.approx(-two.effect)


def test_a_base_method_is_the_grid_point_that_repeats_it() -> None:
    """m is m[k=1, w=a] by another name: it is one of the cells of k=1."""
    (level,) = (one for one in axis_levels(scores(), ARMS) if (one.axis, one.value) == ("k", "1"))
    assert set(level.cells) == {"m", "m[k=1, w=b]"}


def test_datasets_count_alike_however_many_questions_they_have() -> None:
    """An effect of 1/3 on three questions and of 0 on thirty is 1/6 in the mean over datasets."""
    many = pd.DataFrame([("e", cell, f"q{n}", 1.0) for cell in VALUES for n in range(30)], columns=scores().columns)
    levels = axis_levels(pd.concat([scores(), many]), ARMS)
    assert {round(level.effect, 6) for level in levels if level.axis == "k"} == {0.166667, -0.166667}


def test_a_cell_that_was_never_run_makes_no_level() -> None:
    """An axis with one value left is no axis; a single question has no interval."""
    left = scores()
    assert {level.axis for level in axis_levels(left[~left.cell.str.contains("k=2")], ARMS)} == {"w"}
    one = axis_levels(left[left.unit == "q0"], ARMS)
    assert all(level.low != level.low for level in one)

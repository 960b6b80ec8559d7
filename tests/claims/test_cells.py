"""Names of cells, values of axes, and what is said where a name means none or several."""

from __future__ import annotations

from typing import Any

import pytest

from cortexdsl.claims.cells import CellNames, cells_at, cells_of, find_cell, levels_of, value_text
from cortexdsl.claims.values import Slice
from cortexdsl.errors import InputError

GRID = tuple(CellNames(f"s[keep={keep}, rounds={rounds}]", "s") for keep in ("median", "mean") for rounds in (10, 9, 2))


def part(method: str = "s", fixed: dict[str, Any] | None = None, **levels: tuple[str, ...]) -> Slice:
    return Slice(method, ("rounds",), levels, fixed or {})


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (5, "5"), (5.0, "5"), ("5.0", "5"), ("0.50", "0.5"), (1e-6, "1e-06"),
        (True, "true"), ("False", "false"), (None, "none"), ("Mean", "Mean"), ("'mean'", "mean"),
        ({"top": 3}, "top-3"), ("{top: 3}", "top-3"), ("top:3", "top-3"), ("top-3", "top-3"),
        ({"top": 3, "of": 4.0}, "top-3,of-4"), ([1, 2.0], "[1,2]"), (("a", "b"), "[a,b]"),
        (" mean of all ", "meanofall"),
    ],
)  # fmt: skip
def test_a_value_is_one_word_however_it_is_written(value: Any, word: str) -> None:
    assert value_text(value) == word


def test_a_cell_has_its_names_and_its_point() -> None:
    arm = CellNames("s", "s", ("s[rounds=3]",), {"rounds": 3.0})
    assert arm.points == (("s", {}), ("s", {"rounds": "3"}), ("s", {"rounds": "3"}))
    assert [(arm.cell, arm.method) for arm in cells_of(["s[rounds=3]", "v", "v"])] == [("s[rounds=3]", "s"), ("v", "v")]


def test_a_cell_wins_over_another_ones_other_name() -> None:
    arms = (CellNames("a", "a", ("b",)), CellNames("b", "b"))
    assert find_cell(arms, "b").cell == "b"
    assert find_cell(arms[:1], "b").cell == "a"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("s", r"^'s' has 6 cells; name one: s\[keep=median, rounds=10\], s\[keep=median, rounds=9\], "),
        ("s[keep=mean, rounds=3]", r"^no cell 's\[keep=mean, rounds=3\]'; nearest: s\[keep=mean, rounds=\d+\]$"),
        ("zzz", r"^no cell 'zzz'; there are s\[keep=median, rounds=10\], s, "),
        ("s[rounds=9]", r"^no cell 's\[rounds=9\]'; nearest: "),
    ],
)
def test_a_name_that_means_none_or_several_is_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_cell(GRID, name)


def test_a_method_of_one_cell_is_that_cell() -> None:
    assert find_cell((*GRID, CellNames("vote[agents=five]", "vote")), "vote").cell == "vote[agents=five]"
    assert find_cell(GRID, "s[rounds=9.0, keep=mean]").cell == "s[keep=mean, rounds=9]"


def test_levels_are_numbers_in_order_words_as_they_come_and_as_a_claim_orders_them() -> None:
    assert levels_of(GRID, part(), "rounds") == ("2", "9", "10")
    assert levels_of(GRID, part(), "keep") == ("median", "mean")
    assert levels_of(GRID, part(rounds=("9", "2.0")), "rounds") == ("9", "2")
    mixed = tuple(CellNames(f"s[rounds={value}]", "s") for value in ("all", "10", "9"))
    assert levels_of(mixed, part(), "rounds") == ("all", "10", "9")


def test_cells_of_a_point_by_what_is_left_open() -> None:
    found = cells_at(GRID, part(), {"rounds": "9"})
    assert {rest: arm.cell for rest, arm in found.items()} == {
        (("keep", "median"),): "s[keep=median, rounds=9]",
        (("keep", "mean"),): "s[keep=mean, rounds=9]",
    }
    assert list(cells_at(GRID, part(fixed={"keep": "mean"}), {"rounds": "9"})) == [()]


@pytest.mark.parametrize(
    ("method", "axis", "message"),
    [
        (
            "s",
            "groups",
            r"^the grid of 's' has no axis 'groups'; its axes: keep \(median, mean\), rounds \(10, 9, 2\)$",
        ),
        ("vote", "rounds", r"^the grid of 'vote' has no axis 'rounds'; it has no grid$"),
        ("vot", "rounds", r"^the grid of 'vot' has no axis 'rounds'; nearest method: vote$"),
        ("xyz", "rounds", r"^the grid of 'xyz' has no axis 'rounds'; it has no grid$"),
    ],
)
def test_an_axis_that_is_not_there_is_named_beside_those_that_are(method: str, axis: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        levels_of((*GRID, CellNames("vote", "vote")), part(method), axis)


def test_a_point_that_is_not_there_is_named_too() -> None:
    with pytest.raises(InputError, match=r"^'s' has no cell at keep=mode, rounds=9; its axes: keep \(median, mean\), "):
        cells_at(GRID, part(fixed={"keep": "mode"}), {"rounds": "9"})

"""What a claim compares: its contrast of cells, by hand, what p tests in words, and claims that compare nothing."""

from __future__ import annotations

import numpy as np
import pytest

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.designs import Design, design_of
from cortexdsl.claims.parser import parse_claim
from cortexdsl.errors import InputError
from cortexdsl.stats.findings import null_of

GRID = tuple(CellNames(f"s[keep={keep}, rounds={rounds}]", "s") for keep in ("mean", "median") for rounds in (1, 2, 4))
PLAIN = tuple(CellNames(cell, cell) for cell in "abcd")


def design(text: str, arms: tuple[CellNames, ...] = GRID) -> Design:
    return design_of(parse_claim(text), arms)


def shown(found: Design) -> list[dict[str, float]]:
    """Each contrast in shown units: cell -> weight; cells that do not count are left out."""
    return [
        {cell: pytest.approx(weight * found.scale) for cell, weight in zip(found.cells, row, strict=True) if weight}
        for row in found.weights
    ]


def at(keep: str, rounds: int) -> str:
    return f"s[keep={keep}, rounds={rounds}]"


# ---------------------------------------------------------------- trends
def test_a_slope_over_numbers_averages_over_the_axes_that_are_left_open() -> None:
    """Rounds 1, 2, 4 lie -4/3, -1/3, 5/3 from their mean, squares 42/9: a mean at 4 counts 5/3 / (42/9) = 5/14."""
    weights = {1: -4 / 14, 2: -1 / 14, 4: 5 / 14}
    (row,) = shown(design("accuracy(s[rounds]) increasing"))
    assert row == {at(keep, r): weight / 2 for keep in ("mean", "median") for r, weight in weights.items()}
    (fixed,) = shown(design("accuracy(s[rounds, keep=mean]) increasing"))
    assert fixed == {at("mean", r): weight for r, weight in weights.items()}


def test_the_means_of_a_trend_are_those_of_its_levels() -> None:
    found = design("accuracy(s[rounds]) decreasing")
    assert found.levels.sum(axis=1).tolist() == [1, 1, 1]
    assert set(np.unique(found.levels)) == {0, 0.5}
    assert (found.sign, found.notes) == (-1.0, ("change per unit of rounds",))


def test_thresholds_of_a_millionth_are_not_equal() -> None:
    arms = tuple(CellNames(f"s[above={x}]", "s") for x in ("0.000001", "0.000002", "0.000004"))
    (row,) = shown(design("accuracy(s[above]) increasing", arms))
    assert list(row.values()) == [pytest.approx(w * 1e6 / 14) for w in (-4, -1, 5)]


def test_monotone_is_every_step() -> None:
    found = design("accuracy(s[rounds]) monotone decreasing")
    assert shown(found) == [
        {at("mean", b): 0.5, at("median", b): 0.5, at("mean", a): -0.5, at("median", a): -0.5}
        for a, b in ((1, 2), (2, 4))
    ]
    assert found.sign == -1.0
    assert found.notes == (
        "the estimate is from 1 to 2, the step that decides",
        "the estimate is from 2 to 4, the step that decides",
    )
    assert found.favourable.tolist() == [1, 1, 0, 0, -1, -1]  # what one would like of rounds 1, 2, 4


# ---------------------------------------------------------------- the best
@pytest.mark.parametrize(
    ("claim", "sign"), [("best rounds of s is 2", 1.0), ("lowest rounds of s by calls is 2", -1.0)]
)
def test_the_best_is_held_against_each_other_value(claim: str, sign: float) -> None:
    found = design(claim)
    assert found.sign == sign
    assert shown(found) == [
        {at("mean", 2): 0.5, at("median", 2): 0.5, at("mean", r): -0.5, at("median", r): -0.5} for r in (1, 4)
    ]
    assert found.notes == (
        "the estimate is against 1, the rival that decides",
        "the estimate is against 4, the rival that decides",
    )


# ---------------------------------------------------------------- every other, teams
def test_every_other_is_each_rival_once() -> None:
    """A cell with two names is one rival."""
    arms = (*PLAIN[:2], CellNames("c", "c", ("c2",)))
    found = design("accuracy(b) > accuracy(every other)", arms)
    assert shown(found) == [{"b": 1, "a": -1}, {"b": 1, "c": -1}]
    assert found.notes == (
        "the estimate is against a, the rival that decides",
        "the estimate is against c, the rival that decides",
    )


def test_teams_are_those_that_all_methods_have_at_the_other_axes_that_are_named() -> None:
    """f has no team `three`, and s keeps by median in another cell of team one."""
    arms = (
        *(CellNames(f"s[keep=mean, agents={team}]", "s") for team in ("one", "two", "three")),
        CellNames("s[keep=median, agents=one]", "s"),
        *(CellNames(f"f[agents={team}]", "f") for team in ("two", "one")),
    )
    found = design("accuracy(s[keep=mean]) > accuracy(f) over teams", arms)
    assert [(part.notes[0], part.cells) for part in found.parts] == [
        ("one", ("s[keep=mean, agents=one]", "f[agents=one]")),
        ("two", ("s[keep=mean, agents=two]", "f[agents=two]")),
    ]
    assert found.notes == ("",)


# ---------------------------------------------------------------- ratios
def test_a_ratio_of_ratios_is_a_product_of_powers() -> None:
    found = design("accuracy(a) per calls >= 2 * accuracy(b) per calls", PLAIN)
    assert found.ratio
    assert [(str(q.metric), q.name, w) for q, w in zip(found.quantities, found.weights[0], strict=True)] == [
        ("accuracy", "a", 1.0), ("accuracy", "b", -1.0), ("calls", "a", -1.0), ("calls", "b", 1.0),
    ]  # fmt: skip
    assert (found.null, found.sign) == (2.0, 1.0)


# ---------------------------------------------------------------- what p tests, in words
@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("accuracy(a) > accuracy(b)", "a difference of 0, two-sided"),
        ("accuracy(a) > accuracy(b) + 0.05", "a difference of 0.05, two-sided"),
        ("accuracy(a) >= accuracy(b) - 0.05",
         "a difference of -0.05 (the margin), two-sided"),
        ("calls(a) <= calls(b) + 2", "a difference of 2 (the margin), two-sided"),
        ("calls(a) < calls(b) - 2", "a difference of -2, two-sided"),
        ("accuracy(a) > 0.5", "a mean of 0.5, two-sided"),
        ("calls(a) < 5", "a mean of 5, two-sided"),
        ("calls(a) <= 0.7 * calls(b)", "a ratio of 0.7, two-sided"),
        ("accuracy(a) == accuracy(b) +- 0.02", "-0.02 or less, or 0.02 or more, two one-sided tests"),
    ],
)  # fmt: skip
def test_what_p_tests_is_said(claim: str, words: str) -> None:
    assert null_of(design(claim, PLAIN)) == words


# ---------------------------------------------------------------- claims that compare nothing
ONE = GRID[:1]
ROW = GRID[:3]


@pytest.mark.parametrize(
    ("claim", "arms", "message"),
    [
        ("accuracy(a) > accuracy(b2)", (CellNames("a", "a", ("b2",)), *PLAIN[1:]),
         r"^the claim 'accuracy\(a\) > accuracy\(b2\)' compares a with itself under another name$"),
        ("accuracy(c) - accuracy(a) > accuracy(b2) - accuracy(d)", (CellNames("a", "a", ("b2",)), *PLAIN[1:]),
         r"compares a with itself under another name$"),
        ("accuracy(s[rounds]) increasing", ONE, "rounds has one value; a trend needs two$"),
        ("best rounds of s is 1", ONE, "rounds has one value$"),
        ("best rounds of s is 3", ROW, "rounds has no value '3'; it has 1, 2, 4$"),
        ("accuracy(s[rounds]) increasing", (GRID[0], GRID[4]),
         r"^no setting of the other axes of 's' has all points .*; fix them with =$"),
        ("accuracy(a) > accuracy(every other)", PLAIN[:1], "there is no other cell than a$"),
    ],
)  # fmt: skip
def test_what_compares_nothing_is_refused(claim: str, arms: tuple[CellNames, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        design(claim, arms)


def test_two_values_are_enough() -> None:
    assert shown(design("accuracy(s[rounds]) increasing", GRID[:2])) == [{at("mean", 2): 1, at("mean", 1): -1}]

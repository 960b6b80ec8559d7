"""Which incoming edges a listener keeps: rules worked by hand, and what holds for every weight."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cortexdsl.core import Bools, Floats, Keep
from cortexdsl.core.keep_rules import KEEP_RULES, select_edges

# The first listener of five hears four others with weights 1, 2, 3 and 10: mean 4, median 2.5.
COLUMN = [np.nan, 1.0, 2.0, 3.0, 10.0]


def one_listener(rule: Keep, column: list[float] = COLUMN) -> list[float]:
    """The weights that a single listener keeps."""
    weight = np.array(column).reshape(-1, 1)
    return [w for w, keep in zip(column, select_edges(weight, rule)[:, 0], strict=True) if keep]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Keep("mean"), [10.0]),
        (Keep("median"), [3.0, 10.0]),
        (Keep("top"), [10.0]),  # of one, where no number is said
        (Keep("top", 1), [10.0]),
        (Keep("top", 3), [2.0, 3.0, 10.0]),
        (Keep("top", 9), [1.0, 2.0, 3.0, 10.0]),
        (Keep("drop_bottom"), [1.0, 2.0, 3.0, 10.0]),
        (Keep("drop_bottom", 1), [2.0, 3.0, 10.0]),
        (Keep("drop_bottom", 3), [10.0]),
        (Keep("drop_bottom", 9), [10.0]),  # somebody is always left
        (Keep("above", 2), [3.0, 10.0]),  # more than, not as much as
        (Keep("above", 10), []),
        (Keep("above"), [1.0, 2.0, 3.0, 10.0]),  # than 0, where no number is said
        (Keep("drop_bottom", 0), [1.0, 2.0, 3.0, 10.0]),
        (Keep("all"), [1.0, 2.0, 3.0, 10.0]),
    ],
)
def test_rules_on_a_column_worked_by_hand(rule: Keep, expected: list[float]) -> None:
    assert one_listener(rule) == expected


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([1.0, 2.0], [2.0]),  # 1.5
        ([1.0, 2.0, 10.0], [2.0, 10.0]),  # 2
        ([1.0, 2.0, 3.0, 3.0, 10.0], [3.0, 3.0, 10.0]),  # 3
        ([1.0, 2.0, 2.5, 3.0, 9.0, 10.0], [3.0, 9.0, 10.0]),  # 2.75
    ],
)
def test_the_median_of_an_even_number_lies_between_the_two_in_the_middle(
    column: list[float], expected: list[float]
) -> None:
    assert one_listener(Keep("median"), column) == expected


def test_those_who_are_no_candidates_themselves_may_be_kept_from_the_first_to_the_last() -> None:
    """A choice among agents has no diagonal: the highest of four stands last, and the lowest first."""
    assert one_listener(Keep("top", 1), [1.0, 2.0, 3.0, 10.0]) == [10.0]
    assert one_listener(Keep("drop_bottom", 1), [1.0, 2.0, 3.0, 10.0]) == [2.0, 3.0, 10.0]
    assert one_listener(Keep("top", 4), [1.0, 2.0, 3.0, 10.0]) == [1.0, 2.0, 3.0, 10.0]


@pytest.mark.parametrize("rule", ["mean", "median", "mean_of_all", "top", "drop_bottom", "all"])
@pytest.mark.parametrize("only", [-4.0, 0.0, 4.0])
def test_the_only_candidate_is_kept_whatever_its_weight(rule: Any, only: float) -> None:
    assert one_listener(Keep(rule), [np.nan, only]) == [only]


@pytest.mark.parametrize("rule", ["mean", "median", "mean_of_all", "top", "drop_bottom", "above", "all"])
def test_who_can_hear_nobody_keeps_nobody_beside_one_who_can(rule: Any) -> None:
    weight = np.array([[np.nan, 1.0], [np.nan, np.nan]])
    assert select_edges(weight, Keep(rule)).tolist() == [[False, True], [False, False]]


def test_a_tie_at_the_boundary_of_top_is_kept() -> None:
    """Of 1, 2, 2, 3 the two highest are 3 and 2; the other 2 is as good."""
    assert one_listener(Keep("top", 2), [np.nan, 1.0, 2.0, 2.0, 3.0]) == [2.0, 2.0, 3.0]


def test_a_weight_that_rounding_puts_below_the_mean_is_kept() -> None:
    """0.1 three times averages to 0.10000000000000002 in floating point, more than each of them."""
    assert np.mean([0.1, 0.1, 0.1]) > 0.1
    assert one_listener(Keep("mean"), [np.nan, 0.1, 0.1, 0.1]) == [0.1, 0.1, 0.1]


def test_a_mean_of_nothing_is_not_left_to_the_order_of_adding() -> None:
    """0.1, 0.2, -0.3 and 0 have the mean 0, which floating point makes 1.4e-17 or 6.9e-18, as they stand."""
    orders = list(itertools.permutations([0.1, 0.2, -0.3, 0.0]))
    assert len({float(np.mean(order)) for order in orders}) > 1
    for order in orders:
        assert sorted(one_listener(Keep("mean"), [np.nan, *order])) == [0.0, 0.1, 0.2]


def test_the_tolerance_is_relative_and_small() -> None:
    """Of 1 and 1 - 1e-6 the mean is 1 - 5e-7: the lower is out by more than a billionth. At 1e-12 both stay."""
    assert len(one_listener(Keep("mean"), [np.nan, 1.0, 1.0 - 1e-6])) == 1
    assert len(one_listener(Keep("mean"), [np.nan, 1.0, 1.0 - 1e-12])) == 2
    assert len(one_listener(Keep("mean"), [np.nan, 1e-20, 1e-20 * (1 - 1e-6)])) == 1


def test_the_mean_of_all_is_one_threshold_for_every_listener() -> None:
    """Weights are the speakers' confidences 0.9, 0.6, 0.3: their mean 0.6 keeps the first two, whoever listens.

    The speaker of 0.9 hears 0.6; the one of 0.6 hears 0.9; the one of 0.3 hears both.
    """
    weight = np.repeat([[0.9], [0.6], [0.3]], 3, axis=1)
    np.fill_diagonal(weight, np.nan)
    assert select_edges(weight, Keep("mean_of_all")).tolist() == [
        [False, True, True],
        [True, False, True],
        [False, False, False],
    ]


def test_the_mean_of_all_leaves_nobody_alone() -> None:
    """With confidences 0.9, 0.1, 0.1 the mean is 0.3667; only the first is above, and itself keeps its best two."""
    weight = np.repeat([[0.9], [0.1], [0.1]], 3, axis=1)
    np.fill_diagonal(weight, np.nan)
    assert select_edges(weight, Keep("mean_of_all"))[:, 0].tolist() == [False, True, True]
    assert select_edges(weight, Keep("mean_of_all"))[:, 1].tolist() == [True, False, False]


def test_a_single_agent_hears_nobody_under_any_rule() -> None:
    for rule in (Keep("mean"), Keep("mean_of_all"), Keep("top", 1), Keep("all"), Keep("above", 0)):
        assert select_edges(np.array([[np.nan]]), rule).tolist() == [[False]]


@st.composite
def weights(draw: st.DrawFn) -> Floats:
    n = draw(st.integers(2, 7))
    weight = draw(arrays(float, (n, n), elements=st.floats(-1e6, 1e6, allow_subnormal=False)))
    np.fill_diagonal(weight, np.nan)
    return weight


RULES = st.one_of(
    st.sampled_from([Keep("mean"), Keep("median"), Keep("mean_of_all"), Keep("all")]),
    st.integers(1, 8).map(lambda k: Keep("top", k)),
    st.integers(0, 8).map(lambda k: Keep("drop_bottom", k)),
)


@given(weights(), RULES)
def test_nobody_is_left_without_a_neighbour_and_nobody_hears_itself(weight: Floats, rule: Keep) -> None:
    keeps = select_edges(weight, rule)
    assert keeps.any(axis=0).all()
    assert not keeps.diagonal().any()


@given(st.integers(2, 8), st.floats(-1e9, 1e9), RULES)
def test_equal_weights_are_all_kept(n: int, value: float, rule: Keep) -> None:
    weight = np.full((n, n), value)
    np.fill_diagonal(weight, np.nan)
    assert select_edges(weight, rule).sum() == n * (n - 1)


@given(weights(), RULES, st.randoms(use_true_random=False))
def test_the_order_of_agents_does_not_matter(weight: Floats, rule: Keep, random: object) -> None:
    order = list(range(len(weight)))
    random.shuffle(order)  # type: ignore[attr-defined]
    # Rounding of a mean depends on the order, by less than the tolerance unless a weight lies right at it.
    weight = np.round(weight, 3)
    permuted: Bools = select_edges(weight[np.ix_(order, order)], rule)
    assert (permuted == select_edges(weight, rule)[np.ix_(order, order)]).all()


@given(weights(), st.integers(1, 8))
def test_a_larger_top_keeps_what_a_smaller_one_does(weight: Floats, k: int) -> None:
    assert not (select_edges(weight, Keep("top", k)) & ~select_edges(weight, Keep("top", k + 1))).any()


# ---------------------------------------------------------------- declarations
@pytest.mark.parametrize("name", [name for name, rule in KEEP_RULES.items() if rule.retained])
@pytest.mark.parametrize("number", range(8))
def test_a_rule_that_counts_agents_keeps_as_many_as_it_declares(name: str, number: int) -> None:
    """Of five candidates with distinct weights; a number beyond them keeps all, one that leaves nobody keeps one."""
    keep = Keep(name, number)
    retained = keep.retained(5)
    assert retained is not None
    assert len(one_listener(keep, [np.nan, 1.0, 2.0, 3.0, 4.0, 5.0])) == min(5, max(1, retained))


@pytest.mark.parametrize("name", KEEP_RULES)
def test_equal_weights_are_all_kept_by_a_rule_that_compares(name: str) -> None:
    if KEEP_RULES[name].compares:
        assert one_listener(Keep(name, 1), [np.nan, 2.0, 2.0, 2.0]) == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(("keep", "expected"), [(Keep("above", 3), True), (Keep("top", 1), False), (Keep("all"), False),
                                                (Keep("mean"), False)])  # fmt: skip
def test_a_threshold_may_keep_nobody(keep: Keep, expected: bool) -> None:
    assert keep.may_keep_nobody == expected
    assert (one_listener(keep, [np.nan, 1.0, 2.0]) == []) == expected

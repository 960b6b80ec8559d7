"""Recalibration: CortexDebate's Eq. 2 and ReConcile's table, bound by bound."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.debate.confidence import recalibrate
from cortexdsl.terms import Bin

CORTEXDEBATE = (Bin(0.0, 0.3, 0.3), Bin(0.3, 0.6, None), Bin(0.6, 0.8, 0.6), Bin(0.8, 1.0, 0.8))
RECONCILE = (
    Bin(0.0, 0.6, 0.1, high_closed=True),
    Bin(0.6, 0.8, 0.3, low_open=True),
    Bin(0.8, 0.9, 0.5),
    Bin(0.9, 1.0, 0.8),
    Bin(1.0, 1.0, 1.0),
)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (0.0, 0.3),
        (0.29, 0.3),
        (0.3, 0.3),
        (0.45, 0.45),
        (0.5999, 0.5999),
        (0.6, 0.6),
        (0.79, 0.6),
        (0.8, 0.8),
        (1, 0.8),
    ],
)
def test_cortexdebate_bins(stated: float, expected: float) -> None:
    assert recalibrate(stated, CORTEXDEBATE) == expected


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (0.0, 0.1),
        (0.6, 0.1),
        (0.601, 0.3),
        (0.799, 0.3),
        (0.8, 0.5),
        (0.899, 0.5),
        (0.9, 0.8),
        (0.999, 0.8),
        (1.0, 1.0),
    ],
)
@pytest.mark.parametrize("bins", [RECONCILE, RECONCILE[::-1]], ids=["ascending", "descending"])
def test_reconcile_bins_whatever_their_order(stated: float, expected: float, bins: tuple[Bin, ...]) -> None:
    """p = 1 -> 1; [.9, 1) -> .8; [.8, .9) -> .5; (.6, .8) -> .3; <= .6 -> .1."""
    assert recalibrate(stated, bins) == expected


def test_a_bin_for_one_value_leaves_the_rest_to_the_next() -> None:
    """0.8 alone becomes 0.5; what lies above it, 0.9."""
    bins = (Bin(0.8, 1.0, 0.9, low_open=True), Bin(0.8, 0.8, 0.5, high_closed=True), Bin(0.0, 0.8, 0.1))
    for order in (bins, bins[::-1]):
        assert [recalibrate(stated, order) for stated in (0.79, 0.8, 0.81, 1.0)] == [0.1, 0.5, 0.9, 0.9]


@pytest.mark.parametrize(("stated", "used"), [(1.2, 1.0), (95.0, 1.0), (-0.1, 0.0), (math.inf, 1.0), (0.7, 0.7)])
def test_without_bins_a_confidence_is_kept_within_zero_and_one(stated: float, used: float) -> None:
    assert recalibrate(stated, ()) == used


def test_what_was_not_stated_is_not_made_up() -> None:
    assert recalibrate(None, CORTEXDEBATE) is None
    assert recalibrate(math.nan, CORTEXDEBATE) is None


@given(st.floats(0, 1), st.floats(0, 1))
def test_cortexdebate_recalibration_keeps_the_order(one: float, other: float) -> None:
    low, high = sorted((one, other))
    below, above = recalibrate(low, CORTEXDEBATE), recalibrate(high, CORTEXDEBATE)
    assert below is not None
    assert above is not None
    assert below <= above

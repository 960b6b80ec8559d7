"""Calibration: Brier score, ECE and reliability bins against values worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.metrics.calibration import brier_score, brier_stated, expected_calibration_error, pairs, reliability_bins
from cortexdsl.metrics.tables import calibration_tables
from cortexdsl.metrics.view import view_debate
from tests.stats.debates import grade, made, record

SURE = ([0.9, 0.8, 0.3, 0.6], [True, False, False, True])


def test_brier_score_by_hand() -> None:
    # (0.1^2 + 0.8^2 + 0.3^2 + 0.4^2) / 4 = (0.01 + 0.64 + 0.09 + 0.16) / 4
    assert brier_score(*SURE) == pytest.approx(0.225)


def test_ece_by_hand_with_two_bins() -> None:
    # [0, .5): 0.3 wrong -> |0 - 0.3|; [.5, 1]: mean .7667, 2 of 3 right -> |.6667 - .7667|
    assert expected_calibration_error(*SURE, bins=2) == pytest.approx(0.25 * 0.3 + 0.75 * 0.1)


def test_a_confidence_on_an_edge_belongs_to_the_bin_that_begins_there_and_one_to_the_last() -> None:
    bins = reliability_bins([0.3, 0.7, 1.0, 0.0], [True, True, True, False])
    assert [b.answers for b in bins] == [1, 0, 0, 1, 0, 0, 0, 1, 0, 1]
    assert math.isnan(bins[1].accuracy)


def test_nothing_to_judge_is_not_a_number_and_beyond_one_is_refused() -> None:
    assert math.isnan(brier_score([], []))
    assert math.isnan(expected_calibration_error([], []))
    with pytest.raises(ValueError, match=r"lies in \[0, 1\]"):
        brier_score([1.5], [True])
    with pytest.raises(ValueError, match="equally long"):
        brier_score([0.5], [])
    with pytest.raises(ValueError, match="at least one"):
        reliability_bins([0.5], [True], bins=0)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1), st.integers(1, 20))
def test_every_answer_is_in_one_bin_and_ece_is_at_most_one(answers: list[tuple[float, bool]], bins: int) -> None:
    confidence, right = [c for c, _ in answers], [y for _, y in answers]
    found = reliability_bins(confidence, right, bins)
    assert sum(b.answers for b in found) == len(answers)
    for b in found:
        assert b.answers == 0 or b.low <= b.confidence <= b.high + 1e-12
    assert 0.0 <= expected_calibration_error(confidence, right, bins) <= 1.0


def test_stated_confidences_are_clipped_and_a_debate_that_lacks_one_has_no_score() -> None:
    """Wrong answers may be those that lack it, so that the mean of the others says nothing."""
    said = [{"a": "R", "b": "W"}]
    view = view_debate(made(said, confidence=[{"a": 1.4, "b": 0.5}]), grade)
    assert pairs(view, "stated") == [(1.0, True), (0.5, False)]
    assert brier_stated(view) == pytest.approx(0.125)
    view = view_debate(made([{**said[0], "c": "R"}], confidence=[{"a": 1.4, "b": 0.5}]), grade)
    assert (pairs(view, "stated"), brier_stated(view)) == ([(1.0, True), (0.5, False)], None)


def test_tables_before_and_after_recalibration() -> None:
    debate = made([{"a": "R", "b": "W", "c": "R"}], confidence=[{"a": 0.9, "b": 0.9}])
    summary, diagram = calibration_tables([record(debate)], grade)
    stated = summary[summary["confidence"] == "stated"].iloc[0]
    assert (stated["answers"], stated["stated"], stated["accuracy"]) == (3, 2, 0.5)
    assert stated["ece"] == pytest.approx(0.4)  # two answers at 0.9, one right
    assert stated["brier"] == pytest.approx((0.01 + 0.81) / 2)
    assert len(diagram) == 2 * 10
    full = diagram[diagram["answers"] > 0]
    assert full[["low", "answers", "accuracy"]].values.tolist() == [[0.9, 2, 0.5], [0.9, 2, 0.5]]

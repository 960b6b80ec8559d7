"""A claim that was declared and is withdrawn still counts: leaving it out makes no other one more significant."""

from __future__ import annotations

import pytest

from cortexdsl.analysis.phrasing import withdrawn
from cortexdsl.analysis.tests.corrections import adjust


def test_an_absent_test_counts_as_one_that_shows_nothing() -> None:
    """Holm on .032 and two tests at 1: three times .032; by hand."""
    assert adjust([0.032], "holm", 2).tolist() == pytest.approx([0.096])


@pytest.mark.parametrize("correction", ["holm", "hommel", "bh", "by"])
def test_withdrawing_a_claim_never_lowers_the_others(correction: str) -> None:
    """Whatever the withdrawn claim's p was, 1 is at least as large."""
    whole, without = adjust([0.01, 0.03, 0.6], correction), adjust([0.01, 0.03], correction, 1)
    assert (without >= whole[:2] - 1e-12).all()


def test_without_a_correction_nothing_counts_a_withdrawn_claim_and_the_note_says_so() -> None:
    said = "2 claims that were declared before the run are no longer made, and the correction counts this"
    assert withdrawn(2, "holm") == said
    assert withdrawn(2, "none").endswith("nothing corrects for this (correction: none)")
    assert withdrawn(0, "none") == ""

"""Which replies make a pair (Eq. 5 of ACC-Debate), at the edges of k and eps, and why others make none."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl_train.pairs import ValuedMoment, ValuedReply, is_exemplary, select_pair


def tried(right: int, of: int = 5, text: str = "", *, failed: bool = False, cut: bool = False) -> ValuedReply:
    return ValuedReply(text or f"{right}/{of}", failed, cut, (1.0,) * right + (0.0,) * (of - right))


def moment(natural: ValuedReply, right: ValuedReply, wrong: ValuedReply) -> ValuedMoment:
    return ValuedMoment(
        "q", 0, 0, ({"role": "user", "content": "?"},), {"natural": natural, "right": right, "wrong": wrong}
    )


NATURAL = tried(2, text="natural")


@pytest.mark.parametrize(
    ("right", "wrong", "threshold", "outcome"),
    [
        (3, 2, 0.2, "right"),  # 3/5 - 2/5 is a little less than 0.2 in floating point, and reaches it
        (3, 2, 0.21, "below"),
        (2, 1, 0.2, "wrong"),
        (3, 1, 0.2, "right"),  # both reach it: the guided reply is learned first
        (2, 2, 0.0, "right"),  # at 0 what does no harm makes a pair
        (1, 2, 0.0, "wrong"),
        (1, 3, 0.0, "below"),  # the guided reply did harm, and the misled one good
        (5, 0, 1.0, "below"),
    ],
)
def test_a_pair_is_kept_where_a_value_differs_by_the_threshold(
    right: int, wrong: int, threshold: float, outcome: str
) -> None:
    found = moment(NATURAL, tried(right, text="right"), tried(wrong, text="wrong"))
    pair, said = select_pair(found, threshold)
    assert said == outcome
    assert (pair is None) == (outcome == "below")
    if pair is not None:
        texts = {"right": ("right", "natural"), "wrong": ("natural", "wrong")}[outcome]
        assert (pair.chosen.text, pair.rejected.text) == texts
        assert pair.guided == outcome


@pytest.mark.parametrize(
    ("natural", "right", "wrong", "outcome"), [(0, 1, 0, "right"), (1, 1, 0, "wrong"), (0, 0, 0, "below")]
)
def test_with_one_sample_and_a_threshold_of_one_only_certainties_differ(
    natural: int, right: int, wrong: int, outcome: str
) -> None:
    found = moment(tried(natural, 1, "n"), tried(right, 1, "r"), tried(wrong, 1, "w"))
    assert select_pair(found, 1.0)[1] == outcome


@given(k=st.integers(1, 12), counts=st.tuples(*[st.integers(0, 12)] * 3), eps=st.fractions(0, 1, max_denominator=12))
def test_selection_is_equation_5_in_exact_arithmetic(k: int, counts: tuple[int, int, int], eps: Fraction) -> None:
    natural, right, wrong = (min(count, k) for count in counts)
    if Fraction(right - natural, k) >= eps:
        meant = "right"
    elif Fraction(natural - wrong, k) >= eps:
        meant = "wrong"
    else:
        meant = "below"
    found = moment(tried(natural, k, "n"), tried(right, k, "r"), tried(wrong, k, "w"))
    assert select_pair(found, float(eps))[1] == meant


def test_what_cannot_be_learned_from_gives_way_to_the_other_pair_and_else_says_why() -> None:
    good, bad = tried(5, text="good"), tried(0, text="bad")
    cases = [
        (moment(NATURAL, tried(5, text="natural"), tried(2, text="w")), "same"),
        (moment(NATURAL, tried(5, text="r", cut=True), tried(2, text="w")), "cut"),
        (moment(NATURAL, tried(5, text="r", failed=True), tried(2, text="w")), "no_reply"),
        (moment(tried(2, text="n", failed=True), good, bad), "no_reply"),
        (moment(NATURAL, tried(5, text="r", cut=True), bad), "wrong"),
        (moment(tried(2, text="n", cut=True), good, bad), "right"),  # what is rejected may have been cut
        (moment(tried(5, text="n", cut=True), tried(5, text="r"), bad), "cut"),
    ]
    for found, outcome in cases:
        assert select_pair(found, 0.2)[1] == outcome


def test_only_whole_replies_from_which_every_roll_out_ends_right_are_imitated() -> None:
    assert is_exemplary(moment(tried(5), tried(0), tried(0)))
    for natural in (tried(4), tried(5, cut=True), tried(5, failed=True)):
        assert not is_exemplary(moment(natural, tried(5), tried(5)))

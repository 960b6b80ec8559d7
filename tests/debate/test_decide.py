"""Votes: majority, weights, ties and abstentions, counted by hand."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.debate.decide import Decision, vote
from cortexdsl.terms import Decide, Turn

MAJORITY, WEIGHTED = Decide("majority"), Decide("weighted")
Ballot = tuple[str | None, float | None]


def turns(ballots: Sequence[Ballot]) -> list[Turn]:
    return [
        Turn(
            k,
            0,
            0,
            "answer",
            "answer",
            f"agent {k}",
            None,
            (),
            (),
            "text",
            answer,
            None,
            confidence,
            confidence,
            1,
            1,
            "",
        )
        for k, (answer, confidence) in enumerate(ballots)
    ]


def no_draw() -> random.Random:
    raise AssertionError("nothing is left to chance here")


def decide(rule: Decide, *ballots: Ballot) -> Decision:
    return vote(turns(ballots), rule, no_draw)


def test_the_majority_wins_however_confident_the_others_are() -> None:
    decision = decide(MAJORITY, ("42", 0.1), ("41", 0.99), ("42", 0.1))
    assert decision == Decision("42", {"42": 2.0, "41": 1.0}, was_tied=False)


def test_a_tie_goes_to_the_summed_confidence_and_is_said() -> None:
    """Two for 41 with 0.8 + 0.3 = 1.1, two for 42 with 0.6 + 0.6 = 1.2."""
    decision = decide(MAJORITY, ("41", 0.8), ("42", 0.6), ("41", 0.3), ("42", 0.6))
    assert decision == Decision("42", {"41": 2.0, "42": 2.0}, was_tied=True)


def test_a_third_answer_takes_no_part_in_breaking_the_tie() -> None:
    """43 is the most confident, but has one vote of five."""
    decision = decide(MAJORITY, ("41", 0.5), ("42", 0.4), ("41", 0.3), ("42", 0.3), ("43", 1.0))
    assert (decision.answer, decision.was_tied) == ("41", True)


def test_confidences_that_differ_by_rounding_alone_are_left_to_the_draw() -> None:
    """0.1 + 0.2 and 0.3 differ in the last bit only."""
    ballots: list[Ballot] = [("41", 0.1), ("42", 0.3), ("41", 0.2), ("42", 0.0)]
    drawn = {vote(turns(ballots), MAJORITY, lambda s=s: random.Random(s)).answer for s in range(20)}  # type: ignore[misc]
    assert drawn == {"41", "42"}


def test_the_draw_is_seeded_and_blind_to_the_order_of_agents() -> None:
    ballots: list[Ballot] = [("41", 0.5), ("42", 0.5), ("40", 0.5)]
    first = vote(turns(ballots), MAJORITY, lambda: random.Random(5))
    other = vote(turns(ballots[::-1]), MAJORITY, lambda: random.Random(5))
    assert first.answer == other.answer
    assert first.was_tied


def test_the_unreadable_abstain() -> None:
    """One readable answer of three wins alone; none at all is no answer and no tie."""
    assert decide(MAJORITY, (None, 0.9), ("41", 0.1), (None, 0.9)) == Decision("41", {"41": 1.0})
    assert decide(MAJORITY, (None, 0.9), (None, None)) == Decision(None, {}, was_tied=False)
    assert vote([], MAJORITY, no_draw) == Decision(None)


def test_votes_may_weigh_their_confidence() -> None:
    """ReConcile: two at 0.3 have 0.6, one at 0.8 wins."""
    decision = decide(WEIGHTED, ("41", 0.3), ("41", 0.3), ("42", 0.8))
    assert decision.answer == "42"
    assert decision.votes == pytest.approx({"41": 0.6, "42": 0.8})


def test_equal_weights_go_to_the_most_votes() -> None:
    """0.4 + 0.4 against 0.8; and nobody confident: 0 against 0, two votes against one."""
    tied = decide(WEIGHTED, ("41", 0.8), ("42", 0.4), ("42", 0.4))
    assert (tied.answer, tied.was_tied) == ("42", True)
    silent = decide(WEIGHTED, ("41", None), ("42", None), ("41", None))
    assert (silent.answer, silent.was_tied) == ("41", True)


def test_without_a_fallback_all_different_is_no_answer() -> None:
    """The paper's rule; a tie of two against two is still settled by confidence."""
    paper = Decide("majority", fallback="none")
    assert decide(paper, ("40", 0.9), ("41", 0.1), ("42", 0.1)) == Decision(None, {"40": 1, "41": 1, "42": 1}, True)
    assert decide(paper, ("41", 0.9), ("42", 0.1), ("41", 0.9), ("42", 0.1)).answer == "41"
    assert decide(paper, ("41", 0.9), (None, 0.1)) == Decision("41", {"41": 1.0})


@given(
    st.lists(st.tuples(st.sampled_from(["40", "41", "42", None]), st.sampled_from([None, 0.3, 0.6, 0.8])), max_size=7),
    st.sampled_from([MAJORITY, WEIGHTED, Decide("majority", fallback="none")]),
    st.randoms(use_true_random=False),
)
def test_the_order_of_agents_does_not_change_a_vote(
    ballots: list[Ballot], rule: Decide, shuffler: random.Random
) -> None:
    shuffled = list(ballots)
    shuffler.shuffle(shuffled)
    one, other = (vote(turns(some), rule, lambda: random.Random(3)) for some in (ballots, shuffled))
    assert (one.answer, one.was_tied) == (other.answer, other.was_tied)
    assert one.votes == pytest.approx(other.votes)
    assert one.answer is None or one.answer in {answer for answer, _ in ballots}

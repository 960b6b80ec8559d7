"""Votes: majority, weights, ties and abstentions, counted by hand."""

import dataclasses
import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.core import Call, Choose, Decide, Everyone, Keep, OfRole, Repeat, Reply, Turn
from cortexdsl.engine.decisions import Decision, vote, weighted_vote
from cortexdsl.engine.readings import reread_debate
from tests.engine.stage import Stage, StagedReader, method, run

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
    paper = Decide("majority", tie="none")
    assert decide(paper, ("40", 0.9), ("41", 0.1), ("42", 0.1)) == Decision(None, {"40": 1, "41": 1, "42": 1}, True)
    assert decide(paper, ("41", 0.9), ("42", 0.1), ("41", 0.9), ("42", 0.1)).answer == "41"
    assert decide(paper, ("41", 0.9), (None, 0.1)) == Decision("41", {"41": 1.0})


def test_three_votes_to_two_are_no_tie() -> None:
    assert decide(MAJORITY, *[("41", 0.1)] * 3, *[("42", 0.9)] * 2) == Decision("41", {"41": 3.0, "42": 2.0})


def test_of_three_tied_answers_the_most_trusted_wins_wherever_it_stands() -> None:
    ballots: list[Ballot] = [("40", 0.2), ("41", 0.9), ("42", 0.3)]
    assert {decide(MAJORITY, *order).answer for order in itertools.permutations(ballots)} == {"41"}
    assert decide(MAJORITY, *ballots).was_tied


def test_a_draw_is_between_the_most_trusted_alone() -> None:
    """40 and 42 have .5, 41 has .4: it is never drawn."""
    found = {
        vote(turns([("40", 0.5), ("41", 0.4), ("42", 0.5)]), MAJORITY, lambda s=s: random.Random(s)).answer  # type: ignore[misc]
        for s in range(20)
    }
    assert found == {"40", "42"}


# ---------------------------------------------------------------- answers of all rounds
VOTE = Decide("vote", weight="1")


def weighed(*ballots: tuple[str | None, float, float | None], last: int, rule: Decide = VOTE) -> Decision:
    """Weigh (answer, weight, confidence), the last so many of which are the last answers."""
    said = turns([(answer, confidence) for answer, _, confidence in ballots])
    return weighted_vote(said, [weight for _, weight, _ in ballots], rule, said[-last:], no_draw)


def test_weights_of_one_answer_add_up_and_the_highest_sum_wins() -> None:
    found = weighed(("41", 2.0, 0.1), ("42", 1.5, 0.9), (None, 9.0, 0.9), ("41", 0.5, 0.1), last=2)
    assert found == Decision("41", {"41": 2.5, "42": 1.5})
    assert weighed((None, 1.0, 0.5), last=1) == Decision(None)


def test_equal_weights_go_to_the_confidence_of_the_last_answers() -> None:
    """40, 41 and 42 weigh 2 each. Who gave 40 and 42 last is sure by .3 and .4 + .1, of 41 by .2 + nothing."""
    ballots = (
        ("40", 1.0, 1.0), ("41", 1.0, 1.0), ("42", 0.0, 1.0),
        ("41", 0.5, 0.2), ("40", 1.0, 0.3), ("42", 1.0, 0.4), ("41", 0.5, None), ("42", 1.0, 0.1), (None, 5.0, 1.0),
    )  # fmt: skip
    assert weighed(*ballots, last=6) == Decision("42", {"40": 2.0, "41": 2.0, "42": 2.0}, was_tied=True)


def test_equal_weights_without_a_fallback_are_an_answer_only_where_two_agree_at_the_end() -> None:
    """Weights are level; nobody's last answer is another's: none. Where two end on 41, confidence settles it."""
    none = Decide("vote", weight="1", tie="none")
    ballots = (("40", 1.0, 0.9), ("41", 1.0, 0.1))
    assert weighed(*ballots, last=2, rule=none) == Decision(None, {"40": 1.0, "41": 1.0}, was_tied=True)
    unread = (*ballots, (None, 1.0, 0.5), (None, 1.0, 0.5))
    assert weighed(*unread, last=2, rule=none) == Decision(None, {"40": 1.0, "41": 1.0}, was_tied=True)
    level = (("40", 2.0, 0.9), ("41", 1.0, 0.1), ("41", 1.0, 0.1))
    assert weighed(*level, last=3, rule=none).answer == "40"


# ---------------------------------------------------------------- whose word is the last
ENDS = {
    "answer": {},
    "revise": {"hears": Everyone()},
    "conclude": {"role": "judge", "hears": OfRole(("debater",))},
    "rule": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
    "close": {"role": "writer", "hears": OfRole(("judge",))},
}
ROLES = {"debater": "a b c", "judge": "j", "writer": "w"}


LAST = Decide("last", "".join(["jud", "ge"]))  # a text that was read is equal to another, and not the same one


def test_the_last_answer_of_a_role_is_not_that_of_others_nor_what_it_says_besides() -> None:
    """The judge concludes three times, 1, 2 and 3; then it gives a verdict, and a debater and a writer answer."""
    of = method(ENDS, ["answer", *["conclude"] * 3, "rule", "revise", "close"], ROLES, LAST)

    class Counting(Stage):
        said = 0

        async def ask(self, call: Call) -> Reply:
            reply = await super().ask(call)
            self.said += call.model.name == "j"
            return dataclasses.replace(reply, text=reply.text.replace("?", str(self.said)))

    debate = run(of, Counting({"conclude:j1": "?|0.5", "rule:j1": "agree|-"}))
    assert [turn.answer for turn in debate.turns if turn.step == "conclude"] == ["1", "2", "3"]
    assert debate.answer == "3"


@pytest.mark.parametrize(("rule", "expected"), [("first", "1"), ("last", "3")])
def test_the_first_and_the_last_voter_answer_in_the_last_round(rule: Any, expected: str) -> None:
    script = {f"revise:{name}1": f"{k}|0.5" for k, name in enumerate("abc", 1)}
    assert run(method(ENDS, ["answer", "revise"], ROLES, Decide(rule)), Stage(script)).answer == expected


def test_who_was_silent_votes_with_its_last_answer_and_others_with_theirs() -> None:
    """b alone speaks again: its 41 stands for its 42, and the openings of a and c stay."""
    steps = {**ENDS, "again": {"role": "some", "hears": Everyone()}}
    one = Choose("some", "debater", "position == 2", Keep("above", 0))
    of = method(steps, ["answer", one, Repeat(2, ("again",))], {**ROLES, "some": "a"})
    assert run(of, Stage({"again:b2": "41|0.5"})).votes == {"42": 2.0, "41": 1.0}


BY_SOME = {"answer": {}, "guess": {"role": "some", "hears": Everyone()}}
LAST_OF_SOME = Decide("last", "some", otherwise="first")


def some(where: str) -> Choose:
    return Choose("some", "debater", where, Keep("above", 0))


@pytest.mark.parametrize(
    ("then", "answer"),
    [
        ([], "3"),  # b and c have answered, c last
        ([some("n_agents > 9")], "1"),  # nobody plays the role: the first voter's answer
        ([some("position == 2")], "2"),  # b plays it still
        ([some("position == 1")], "1"),  # a has not answered in it
        ([some("position == 1"), "guess"], "9"),
        ([some("position == 1"), some("position == 3")], "3"),  # c is back in it
        ([Choose("debater", "debater", "position < 3", Keep("above", 0))], "2"),  # c has left
    ],
)
def test_the_last_answer_is_of_somebody_who_plays_the_role_still(then: list[Any], answer: str) -> None:
    """Voters answer 1 each; then b says 2 and c says 3 in the role."""
    of = method(BY_SOME, ["answer", some("position > 1"), "guess", *then], {**ROLES, "some": "a b c"}, LAST_OF_SOME)
    script = {f"answer:{name}0": "1|0.5" for name in "abc"}
    debate = run(of, Stage({**script, "guess:b1": "2|0.5", "guess:c1": "3|0.5", "guess:a2": "9|0.5"}))
    assert debate.answer == answer
    again = reread_debate(debate, of, StagedReader(), seed=7, replicate=1)
    assert again.answer == answer


@given(
    st.lists(st.tuples(st.sampled_from(["40", "41", "42", None]), st.sampled_from([None, 0.3, 0.6, 0.8])), max_size=7),
    st.sampled_from([MAJORITY, WEIGHTED, Decide("majority", tie="none")]),
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


@pytest.mark.parametrize(
    ("said", "answer"),
    [("40|0.5", "40"), ("-|-", "41"), (None, "41")],
    ids=["the judge answers", "it cannot be read", "it is not asked"],
)
def test_where_a_role_gives_no_answer_a_vote_decides(said: str | None, answer: str) -> None:
    """Two of three answer 41; the judge is asked where the opening is not unanimous, or not at all."""
    steps = {"answer": {}, "judge": {"role": "judge", "hears": OfRole(("debater",))}}
    ask = Repeat(1, ("judge",), unless="never" if said else "n_agents == 3")
    rule = Decide("last", "judge", otherwise="majority")
    of = method(steps, ["answer", ask], {"debater": "a b c", "judge": "j"}, rule)
    stage = Stage({"answer:a0": "41|0.5", "answer:b0": "41|0.5", "judge:j1": said, "judge:j0": said})
    assert run(of, stage).answer == answer
    alone = dataclasses.replace(of, decide=Decide("last", "judge"))
    assert run(alone, Stage(stage.script)).answer == ("40" if answer == "40" else None)

"""Metrics of one debate, each worked out by hand on the debate below.

Agents a, b, c; the right answer is R. Edges are speaker -> listener.

| round | heard              | a | b | c |
|-------|--------------------|---|---|---|
| 0     |                    | R | W | W |
| 1     | a->b, b->a, c->a   | W | R | W |
| 2     | everyone           | R | R | V |
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.engine.decisions import Decision
from cortexdsl.metrics import influence, outcome, replies
from cortexdsl.metrics.registry import MEASURES
from cortexdsl.metrics.view import grade_together, view_debate
from tests.stats.debates import grade, made, record, with_extra

EVERYONE = [(s, l) for s in "abc" for l in "abc" if s != l]  # noqa: E741
DEBATE = made(
    [{"a": "R", "b": "W", "c": "W"}, {"a": "W", "b": "R", "c": "W"}, {"a": "R", "b": "R", "c": "V"}],
    [[("a", "b"), ("b", "a"), ("c", "a")], EVERYONE],
)
VIEW = view_debate(DEBATE, grade)

BY_HAND = {
    "oracle": 1.0,
    "opening_oracle": 1.0,  # a
    "oracle_gap": 0.0,
    "lost_by_vote": 0.0,  # the decision is right
    "lost_in_debate": 0.0,
    "never_found": 0.0,
    "score": 1.0,  # R has two of three votes
    "opening_score": 0.0,  # W has two of three
    "gain": 1.0,
    "agent_score": 2 / 3,
    "rounds": 2.0,
    "consensus": 0.0,
    "co2": 0.0,
    "calls": 9.0,
    "input_tokens": 30.0 + (20 + 15 + 10) + 3 * 20,  # 10 a prompt and 5 a turn heard
    "input_tokens_per_agent": 135 / 3,
    "output_tokens": 27.0,
    "output_tokens_per_agent": 9.0,
    "total_tokens": 162.0,
    "extra_calls": 0.0,
    "extra_input_tokens": 0.0,
    "extra_output_tokens": 0.0,
    "dvc": 3.0 + 4.0,  # round 1: all three edges; round 2: the four between b (R) and a or c (W)
    "cvr": 2.0,  # b in round 1, a in round 2
    "debates": 9 / 3,
    "flips": 4.0,  # a and b in round 1, a and c in round 2
    "wrong_to_right": 2.0,
    "right_to_wrong": 1.0,  # a in round 1
    "wrong_to_wrong": 1.0,  # c in round 2
    "majority_faced": 3.0,  # a (W, W) and b (R) in round 1, b (W, W) in round 2
    "conformed": 2.0,  # both of round 1
    "difference_faced": 5.0,  # a and b in round 1, all in round 2
    "held": 1.0,  # b in round 2
    "adopted": 3.0,  # a and b in round 1, a in round 2; c then says V, which nobody had said
    "right_faced": 3.0,  # b in round 1, a and c in round 2
    "right_adopted": 2.0,  # b, then a
    "wrong_faced": 2.0,  # a in round 1, b in round 2
    "wrong_adopted": 1.0,  # a
    "density": (3 / 6 + 6 / 6) / 2,
    "reciprocity": (2 / 3 + 1) / 2,  # round 1: a->b and b->a of three edges
    "most_heard": 3 / 9,
    "was_tied": 0.0,
    "unparsed": 0.0,
    "unparsed_turns": 0.0,
    "unanswered": 0.0,
    "failures": 0.0,
    "cut": 0.0,
    "repetitive": 0.0,
    "reasoning_tokens": 0.0,
    "brier_stated": None,  # nobody states a confidence
    "brier_recalibrated": None,
    "brier_raw": None,
    "unmeasured": 0.0,
    "refused": 0.0,
    "empty": 0.0,
    "tool_calls": 0.0,
}


@pytest.mark.parametrize("column", list(MEASURES))
def test_the_worked_example(column: str) -> None:
    expected = BY_HAND[column]
    assert MEASURES[column](VIEW) == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_scores_after_each_round_carry_the_final_answer_forward() -> None:
    assert [outcome.score_after(VIEW, r) for r in range(5)] == [0.0, 0.0, 1.0, 1.0, 1.0]
    early = view_debate(made([{"a": "R", "b": "W"}, {"a": "R", "b": "R"}], [[("a", "b")]], stop="consensus"), grade)
    assert [outcome.consensus_after(early, r) for r in range(4)] == [0.0, 1.0, 1.0, 1.0]


def test_a_tie_of_an_earlier_round_goes_to_the_highest_summed_confidence() -> None:
    rounds = [{"a": "R", "b": "W"}, {"a": "R", "b": "R"}]
    for confidence, expected in (({"a": 0.8, "b": 0.6}, 1.0), ({"a": 0.6, "b": 0.8}, 0.0)):
        view = view_debate(made(rounds, [[]], confidence=[confidence]), grade)
        assert outcome.score_after(view, 0) == expected


def test_a_tie_that_only_a_draw_can_settle_is_worth_its_expectation() -> None:
    view = view_debate(made([{"a": "R", "b": "W", "c": "V"}, {"a": "R", "b": "R", "c": "R"}], [[]]), grade)
    assert outcome.score_after(view, 0) == pytest.approx(1 / 3)


def test_an_earlier_round_is_decided_by_the_method_if_it_is_known() -> None:
    """Three of four say W; the rule of the method takes the first answer, R. Without a method, the majority counts."""
    debate = made([{"a": "R", "b": "W", "c": "W", "d": "W"}] * 2, [[]], answer="R")
    known = view_debate(debate, grade, decided=lambda round_: Decision("R"))
    unknown = view_debate(debate, grade)
    never = view_debate(debate, grade, decided=lambda round_: None)
    assert [outcome.score_after(view, 0) for view in (known, unknown, never)] == [1.0, 0.0, None]
    assert [outcome.gain(view) for view in (known, unknown, never)] == [0.0, 1.0, None]


def test_agreement_on_a_wrong_answer_is_consensus_but_not_co2() -> None:
    wrong = view_debate(made([{"a": "W", "b": "W"}]), grade)
    right = view_debate(made([{"a": "R", "b": "R"}]), grade)
    assert (outcome.consensus(wrong), outcome.co2(wrong)) == (1.0, 0.0)
    assert (outcome.consensus(right), outcome.co2(right)) == (1.0, 1.0)


def test_the_opening_is_what_the_first_answers_voted_though_a_judge_said_otherwise() -> None:
    """No round was debated, and somebody spoke after the opening: W has two of three, whatever came of it."""
    debate = with_extra(made([{"a": "R", "b": "W", "c": "W"}], answer="R"))
    view = view_debate(debate, grade)
    assert (outcome.opening_score(view), outcome.score(view), outcome.gain(view)) == (0.0, 1.0, 1.0)


def test_less_than_half_of_what_is_heard_is_no_majority() -> None:
    """Two of five for each of two answers; with one voice more it is three of six, which is half."""
    for others, faced in (("WWVVU", 0.0), ("WWWVVU", 0.0), ("WWWVU", 1.0)):
        names = "bcdefg"[: len(others)]
        opening = {"a": "R", **dict(zip(names, others, strict=True))}
        view = view_debate(made([opening, {"a": "R"}], [[(name, "a") for name in names]]), grade)
        assert influence.majority_faced(view) == faced


def test_one_voice_neither_agrees_nor_disagrees() -> None:
    view = view_debate(made([{"a": "R"}, {"a": "R"}], [[]]), grade)
    assert (outcome.consensus(view), outcome.co2(view), outcome.consensus_after(view, 0)) == (None, None, None)


def test_unreadable_answers_are_no_consensus_no_view_and_no_majority() -> None:
    debate = made([{"a": None, "b": None, "c": "R"}, {"a": None, "b": "R", "c": "R"}], [EVERYONE])
    view = view_debate(debate, grade)
    assert outcome.consensus_after(view, 0) == 0.0
    assert influence.dvc(view) == 0.0  # no pair held two readable views
    assert influence.cvr(view) == 1.0  # b was unreadable, hence wrong, and became right
    assert influence.majority_faced(view) == 0.0  # a and b had no answer to give up; c heard none
    assert (replies.unparsed(view), replies.unparsed_turns(view), replies.failures(view)) == (1.0, 3.0, 0.0)


def test_an_unreadable_debate_scores_nothing_and_is_counted() -> None:
    view = view_debate(made([{"a": None, "b": None}]), grade)
    assert (outcome.score(view), replies.unanswered(view), outcome.score_after(view, 0)) == (0.0, 1.0, 0.0)


def test_a_judge_is_no_debater_and_its_tokens_are_counted_apart() -> None:
    view = view_debate(with_extra(DEBATE), grade)
    assert view.debaters == ("a", "b", "c")
    assert replies.input_tokens(view) == 235.0
    assert replies.input_tokens_per_agent(view) == 45.0
    assert (replies.extra_calls(view), replies.extra_input_tokens(view), replies.extra_output_tokens(view)) == (
        1,
        100,
        1,
    )
    assert outcome.agent_score(view) == pytest.approx(2 / 3)


def test_a_summarizer_that_concludes_after_the_last_round_makes_no_round() -> None:
    view = view_debate(with_extra(DEBATE, reads="answer", answer="W", step="conclude"), grade)
    assert len(view.answers) == 3
    assert outcome.score_after(view, 1) == 0.0


def test_one_unknown_count_makes_a_sum_unknown_rather_than_smaller() -> None:
    view = view_debate(with_extra(DEBATE, prompt_tokens=None), grade)
    assert replies.input_tokens(view) is None
    assert replies.total_tokens(view) is None
    assert replies.extra_input_tokens(view) is None
    assert replies.input_tokens_per_agent(view) == 45.0
    assert replies.output_tokens(view) == 28.0


def test_a_reply_cut_at_its_limit_is_counted() -> None:
    assert replies.cut(view_debate(with_extra(DEBATE, ended="length"), grade)) == 1.0
    assert replies.cut(view_debate(with_extra(DEBATE, ended="other"), grade)) == 0.0


@pytest.mark.parametrize(
    ("text", "is_loop"),
    [
        ("The average age is 51 years. " * 30, True),
        ("8*7*6*4*3*2 = " * 100, True),
        ("The average age is 51 years. " * 3, False),
        ("\ud800" * 400, True),
        (
            "".join(f"Step {k}: {k} + {3 * k} = {4 * k}, so the sum so far is {2 * k * (k + 1)}. " for k in range(30)),
            False,
        ),
        ("", False),
    ],
)
def test_a_reply_that_says_the_same_over_and_over_is_counted(text: str, is_loop: bool) -> None:
    assert replies.repetitive(view_debate(with_extra(DEBATE, text=text), grade)) == float(is_loop)


def test_tokens_of_reasoning_are_those_that_servers_count_and_unknown_where_one_did_not() -> None:
    assert replies.reasoning_tokens(view_debate(DEBATE, grade)) == 0.0
    assert replies.reasoning_tokens(view_debate(with_extra(DEBATE, reasoning="x", reasoning_tokens=7), grade)) == 7.0
    assert replies.reasoning_tokens(view_debate(with_extra(DEBATE, reasoning="x"), grade)) is None


def test_a_refused_call_is_a_failure_and_an_unparsed_turn() -> None:
    view = view_debate(with_extra(DEBATE, text="", answer=None, unparsed="no reply: content filter"), grade)
    assert (replies.failures(view), replies.unparsed_turns(view), replies.unparsed(view)) == (1.0, 1.0, 0.0)


def test_one_voice_heard_by_all_is_most_heard_and_never_answered_back() -> None:
    view = view_debate(made([{"a": "R", "b": "W", "c": "W"}] * 2, [[("a", "b"), ("a", "c")]]), grade)
    assert (influence.most_heard(view), influence.reciprocity(view)) == (1.0, 0.0)
    assert influence.density(view) == pytest.approx(2 / 6)


def test_where_nobody_debates_there_is_no_graph_to_describe() -> None:
    view = view_debate(made([{"a": "R", "b": "W"}]), grade)
    assert (influence.density(view), influence.reciprocity(view), influence.most_heard(view)) == (None, None, None)
    assert (influence.dvc(view), influence.debates(view)) == (0.0, 0.0)


def test_independent_draws_of_one_agent_all_vote_and_are_one_agent() -> None:
    # Self-consistency: one agent, three answers in the opening.
    one = made([{"a": "R"}])
    draws = tuple(replace(one.turns[0], turn=k, answer=said) for k, said in enumerate(["R", "W", "W"]))
    view = view_debate(replace(one, turns=draws, answer="W"), grade)
    assert view.debaters == ("a",)
    assert outcome.agent_score(view) == pytest.approx(1 / 3)
    assert replies.input_tokens_per_agent(view) == 30.0


def test_grading_at_once_asks_for_every_different_answer_once_and_agrees() -> None:
    asked: list[tuple[str, str | None]] = []

    def grade_all(answers: list[tuple[str, str | None]]) -> list[float]:
        asked.extend(answers)
        return [grade(*pair) for pair in answers]

    at_once = grade_together([record(DEBATE), record(DEBATE, "other")], grade_all)  # type: ignore[arg-type]
    assert asked == [("q1", "R"), ("q1", "W"), ("q1", "V")]
    assert [at_once("q1", a) for a in ("R", "W", None)] == [1.0, 0.0, 0.0]


@st.composite
def random_debates(draw: st.DrawFn) -> tuple[list[dict[str, str | None]], list[list[tuple[str, str]]]]:
    """Draw answers and kept edges of two to four agents over up to three rounds."""
    names = "abcd"[: draw(st.integers(2, 4))]
    answers = st.fixed_dictionaries({name: st.sampled_from(["R", "V", "W", None]) for name in names})
    rounds = draw(st.lists(answers, min_size=1, max_size=4))
    pairs = [(s, l) for s in names for l in names if s != l]  # noqa: E741
    heard = [draw(st.lists(st.sampled_from(pairs), unique=True)) for _ in rounds[1:]]
    return rounds, heard


@given(random_debates())
def test_metrics_agree_with_each_other_and_do_not_know_the_order_of_agents(
    drawn: tuple[list[dict[str, str | None]], list[list[tuple[str, str]]]],
) -> None:
    rounds, heard = drawn
    answer = max((a for a in rounds[-1].values() if a), default=None)
    there = view_debate(made(rounds, heard, answer=answer), grade)
    back = view_debate(made([dict(reversed(r.items())) for r in rounds], heard, answer=answer), grade)
    found = {column: measure(there) for column, measure in MEASURES.items()}
    assert found == pytest.approx({column: measure(back) for column, measure in MEASURES.items()})
    assert found["cvr"] == found["wrong_to_right"]  # an answer that became right has changed
    kinds = (found["wrong_to_right"], found["right_to_wrong"], found["wrong_to_wrong"])
    assert found["flips"] == sum(kind or 0.0 for kind in kinds)  # here all right answers are one
    assert (found["conformed"] or 0.0) <= (found["majority_faced"] or 0.0) <= (found["difference_faced"] or 0.0)
    assert found["dvc"] is not None
    assert found["dvc"] <= (found["debates"] or 0.0) * len(there.debaters)
    for share in ("score", "opening_score", "agent_score", "consensus", "co2", "density", "reciprocity", "most_heard"):
        value = found[share]
        assert value is None or 0.0 <= value <= 1.0


def test_a_review_that_was_heard_is_no_answer_that_was_heard() -> None:
    """a hears W of b: an answer faced; the same words read as a review are none."""
    debate = made([{"a": "R", "b": "W"}, {"a": "R", "b": "W"}], [[("b", "a")]])
    review = replace(
        debate, turns=tuple(replace(turn, reads="review") if turn.turn == 1 else turn for turn in debate.turns)
    )
    assert influence.difference_faced(view_debate(debate, grade)) == 1
    assert influence.difference_faced(view_debate(review, grade)) == 0

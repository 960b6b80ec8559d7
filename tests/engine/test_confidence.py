"""Confidence: recalibration bins by hand, and measuring by tokens, further replies and a verifier."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.core import NAMED_BINS, Agent, Bin, Call, Debate, Everyone, Measure, Method, Model, Repeat, Reply, Turn
from cortexdsl.engine.confidence import (
    NO_ANSWER,
    NO_MODEL,
    NO_SAMPLE,
    NO_TOKENS,
    NOT_FOUND,
    recalibrate,
    span_probability,
)
from cortexdsl.engine.methods import match_budget
from cortexdsl.engine.readings import REREAD, reread_debate
from cortexdsl.engine.run import run_debate

from .stage import QUESTION, Stage, StagedReader, agents, method

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


STEPS: dict[str, Any] = {"answer": {}, "revise": {"hears": Everyone()}}


def run(how: Measure, script: dict[str, Any] | None = None, **settings: Any) -> tuple[Debate, Stage]:
    stage = Stage(script or {})
    staged = method(STEPS, ["answer", Repeat(1, ("revise",))], "a b", confidence=how, **settings)
    return asyncio.run(run_debate(staged, QUESTION, stage.ports(), seed=1, replicate=1)), stage


def of(found: Debate, speaker: str, round_: int) -> Turn:
    return next(turn for turn in found.turns if (turn.speaker, turn.round) == (speaker, round_))


def with_tokens(text: str, tokens: tuple[tuple[int, float], ...]) -> Any:
    return lambda call: Reply("key", text, "stop", 5, 5, tokens=tokens)


def saying(*answers: str) -> Any:
    """Say these answers, one a call, in the order of the calls."""
    left = list(answers)

    def say(call: Call) -> Reply:
        return Reply(f"key-{call.seed}", f"answer:a0|{left.pop(0)}|0.9", "stop", 7, 3)

    return say


# ---------------------------------------------------------------- tokens
def test_the_probability_of_a_part_is_the_product_of_the_tokens_that_touch_it() -> None:
    """`Answer: 42`: of ` 4` (0.5) and `2` (0.25); what stands before it does not count. 0.5 * 0.25 = 0.125."""
    tokens = ((7, math.log(0.001)), (2, math.log(0.5)), (1, math.log(0.25)))
    assert span_probability(tokens, 8, 10) == pytest.approx(0.125)
    assert span_probability(tokens, 9, 10) == pytest.approx(0.25)


def test_an_answer_is_as_sure_as_its_tokens() -> None:
    text = "answer:a0|42|0.9"
    found, stage = run(
        Measure("logprob"), {"answer:a0": with_tokens(text, ((10, -5.0), (2, math.log(0.7)), (4, -3.0)))}
    )
    turn = of(found, "a", 0)
    assert turn.measured is not None
    assert (turn.confidence_stated, turn.measured.source) == (0.9, "logprob")
    assert turn.confidence == turn.measured.confidence == pytest.approx(0.7)
    assert len(stage.calls) == 4  # nothing is asked beside the answers


def test_a_reply_without_tokens_leaves_no_confidence_and_says_why() -> None:
    found, _ = run(Measure("logprob"))
    turn = of(found, "a", 0)
    assert turn.measured is not None
    assert (turn.confidence, turn.measured.unmeasured) == (None, NO_TOKENS)


def test_an_answer_that_is_not_found_among_the_tokens_leaves_no_confidence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StagedReader, "place_of", lambda self, answer, text: None)
    found, _ = run(Measure("logprob"), {"answer:a0": with_tokens("answer:a0|42|0.9", ((16, -0.1),))})
    turn = of(found, "a", 0)
    assert turn.measured is not None
    assert (turn.confidence, turn.measured.unmeasured) == (None, NOT_FOUND)


# ---------------------------------------------------------------- samples
def test_consistency_is_the_share_of_further_replies_that_give_the_answer() -> None:
    """It says 42; of four further replies two say 42, one says 41, one cannot be read: 2 / 4."""
    found, stage = run(Measure("consistency", 4), {"answer:a0": saying("42", "42", "41", "42", "-")})
    turn = of(found, "a", 0)
    assert turn.measured is not None
    assert turn.confidence == turn.measured.confidence == 0.5
    assert [aside.said for aside in turn.asides] == ["42", "41", "42", None]
    assert len({call.seed for call in stage.calls if call.messages[0]["content"] == "answer:a0"}) == 5
    assert len(stage.calls) == 4 * (1 + 4)


def test_samples_that_fail_are_none_and_without_any_there_is_no_confidence() -> None:
    def lost(call: Call) -> Reply:
        lost.calls += 1  # type: ignore[attr-defined]
        said = lost.calls == 1  # type: ignore[attr-defined]
        return Reply("key", "answer:a0|42|0.9" if said else "", None, 7, 0, None if said else "content filter: no")

    lost.calls = 0  # type: ignore[attr-defined]
    found, _ = run(Measure("consistency", 2), {"answer:a0": lost})
    turn = of(found, "a", 0)
    assert turn.measured is not None
    assert (turn.confidence, turn.measured.unmeasured) == (None, NO_SAMPLE)
    assert turn.asides
    assert all((aside.unread or "").startswith("no reply: content filter") for aside in turn.asides)


def test_measuring_changes_no_draw_of_the_debate() -> None:
    """The answers of a debate are asked with the same messages and seeds, whatever is measured beside them."""
    _, plain = run(Measure())
    _, measured = run(Measure("consistency", 3))
    asked = {(call.messages[0]["content"], call.seed) for call in plain.calls}
    assert asked <= {(call.messages[0]["content"], call.seed) for call in measured.calls}


# ---------------------------------------------------------------- verifiers
def test_a_verifier_sees_the_solution_without_its_confidence_and_scores_it() -> None:
    judge = Model("judge", "fake/judge")
    views: list[Any] = []

    def verify(call: Call) -> Reply:
        views.append(call)
        return Reply("key-v", "verdict|8|0.8", "stop", 20, 4)

    stage = Stage({"verify:a0": verify, "verify:b0": verify, "verify:a1": verify, "verify:b1": verify})
    staged = method(
        STEPS, ["answer", Repeat(1, ("revise",))], "a b", confidence=Measure("verifier", 0, judge, "verify")
    )
    found = asyncio.run(run_debate(staged, QUESTION, stage.ports(), seed=1, replicate=1))
    turn = of(found, "a", 0)
    assert turn.measured is not None
    assert (turn.measured.source, turn.confidence, turn.confidence_stated) == ("verifier", 0.8, 0.5)
    assert {call.model.name for call in views} == {"judge"}
    assert stage.views["verify:a0"]["text"] == "answer:a0|42"
    assert [aside.call for aside in turn.asides] == ["key-v"]


def test_without_a_name_the_verifier_is_the_agents_own_model() -> None:
    _, stage = run(Measure("verifier", 0, None, "verify"))
    asked = [call.model.name for call in stage.calls if call.messages[0]["content"].startswith("verify:")]
    assert sorted(asked) == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("said", "why"),
    [("v|-|-", "the verifier: nothing to read"), ("v|95|9.5", "the verifier's score is beyond its scale")],
)
def test_a_verifier_that_says_no_score_leaves_no_confidence(said: str, why: str) -> None:
    script = {"verify:a0": lambda call: Reply("key-v", said, "stop", 20, 4)}
    found, _ = run(Measure("verifier", 0, None, "verify"), script)
    turn = of(found, "a", 0)
    assert turn.measured is not None
    assert (turn.confidence, turn.measured.unmeasured) == (None, why)


# ---------------------------------------------------------------- everywhere
@pytest.mark.parametrize("how", [Measure("logprob"), Measure("consistency", 3), Measure("verifier", 0, None, "verify")])
def test_an_unreadable_answer_has_no_confidence_and_costs_nothing_more(how: Measure) -> None:
    found, stage = run(how, {"answer:a0": "-|0.9"})
    turn = of(found, "a", 0)
    assert turn.measured is not None
    assert (turn.confidence, turn.measured.unmeasured, turn.asides) == (None, NO_ANSWER, ())
    assert sum(call.messages[0]["content"].startswith("answer:a0") for call in stage.calls) == 1


def test_a_tool_has_no_confidence() -> None:
    staged = method(STEPS, ["answer"], "a b", confidence=Measure("consistency", 3))
    tool = Agent("a", Model("sums", "tool/calculator"))
    role_agents = {"debater": (tool, agents("b")[0])}
    staged = Method(**{**{f: getattr(staged, f) for f in staged.__dataclass_fields__}, "role_agents": role_agents})
    found = asyncio.run(run_debate(staged, QUESTION, Stage().ports(), seed=1, replicate=1))
    turn = of(found, "a", 0)
    assert turn.measured is not None
    assert turn.measured.unmeasured == NO_MODEL


def test_a_measured_confidence_is_recalibrated_like_a_stated_one() -> None:
    """CortexDebate's steps make 0.7 a 0.6; the stated 0.9 would be 0.8."""
    script = {"answer:a0": with_tokens("answer:a0|42|0.9", ((10, 0.0), (2, math.log(0.7)), (4, 0.0)))}
    found, _ = run(Measure("logprob"), script, recalibration=NAMED_BINS["cortexdebate"])
    assert of(found, "a", 0).confidence == 0.6


def test_what_is_read_anew_as_another_answer_is_not_measured_any_more() -> None:
    class Later(StagedReader):
        def read(self, reads: Any, text: str) -> Any:
            return super().read(reads, text.replace("|42|", "|43|") if text.startswith("answer:a") else text)

    how = Measure("consistency", 2)
    found, _ = run(how)
    staged = method(STEPS, ["answer", Repeat(1, ("revise",))], "a b", confidence=how)
    again = reread_debate(found, staged, Later(), seed=1, replicate=1)
    changed, same = of(again, "a", 0), of(again, "b", 0)
    assert changed.measured is not None
    assert same.measured is not None
    assert (changed.confidence, changed.measured.unmeasured) == (None, REREAD)
    assert same == of(found, "b", 0)


def test_a_matched_budget_holds_the_calls_that_measure() -> None:
    """Four turns with two samples each are twelve calls: twelve draws that state, four that are measured like these."""
    found, _ = run(Measure("consistency", 2))
    vote = method({"answer": {"samples": 5}}, ["answer"], "a")
    assert match_budget(vote, found, "calls").steps["answer"].samples == 12
    measured = method({"answer": {"samples": 5}}, ["answer"], "a", confidence=Measure("consistency", 2))
    assert match_budget(measured, found, "calls").steps["answer"].samples == 4

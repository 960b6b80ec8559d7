"""How sure a debate is: shares by hand, and questions that are handed on."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from cortexdsl.core import Debate, DebateConfidence, DebateSource, Defer, Measured, Method, ProbeCall, Turn
from cortexdsl.engine.debate_confidence import NO_CONFIDENCE
from cortexdsl.engine.debate_confidence import debate_confidence as confidence_of
from cortexdsl.engine.methods import stages_of
from cortexdsl.engine.readings import reread_debate
from cortexdsl.engine.run import run_debate
from cortexdsl.metrics import budgets, replies
from cortexdsl.metrics.calibration import debate_confidence, deferred
from cortexdsl.metrics.view import view_debate
from cortexdsl.records import Header, Record, debate_to_json, record_from_json
from cortexdsl.records.text import transcript_text

from .stage import QUESTION, Stage, StagedReader, method


def last(*given: tuple[str | None, float | None]) -> list[Turn]:
    """The last answers of debaters, with their confidences."""
    return [
        Turn(k, 0, 0, "answer", "answer", f"agent{k}", None, (), (), "", answer, None, confidence, confidence, 1, 1, "")
        for k, (answer, confidence) in enumerate(given)
    ]


def sure(source: DebateSource, answer: str | None, turns: list[Turn]) -> float | None:
    return confidence_of(source, answer, turns).confidence


THREE = last(("A", 0.9), ("A", 0.6), ("B", 0.8))


def test_shares_of_votes_and_of_confidences() -> None:
    """Two of three votes; 1.5 of 2.3. An unreadable answer is a vote for another, and weighs nothing."""
    assert sure("votes", "A", THREE) == pytest.approx(2 / 3)
    assert sure("weighted", "A", THREE) == pytest.approx(1.5 / 2.3)
    unread = [*THREE, *last((None, 0.9))]
    assert sure("votes", "A", unread) == pytest.approx(2 / 4)
    assert sure("weighted", "A", unread) == pytest.approx(1.5 / 2.3)


def test_without_confidences_or_an_answer() -> None:
    """No answer: nothing to be sure of. No confidence: unknown, with the reason. Votes need none."""
    silent = last(("A", None), ("A", None))
    found = confidence_of("weighted", "A", silent)
    assert (found.confidence, found.unmeasured) == (None, NO_CONFIDENCE)
    assert sure("votes", "A", silent) == 1.0
    assert sure("weighted", None, THREE) == 0.0


ANSWER: dict[str, Any] = {"answer": {}}


def run(staged: Method, stage: Stage) -> Debate:
    return asyncio.run(run_debate(staged, QUESTION, stage.ports(), seed=0, replicate=1))


def grade(question: str, answer: str | None) -> float:
    return float(answer == "42")


def handing_on(below: float, **settings: Any) -> Method:
    """Three agents that hand their question on to a fourth."""
    expert = method({"think": {"role": "solver", "prompt": "think"}}, ["think"], {"solver": "dan"})
    return method(ANSWER, ["answer"], defer=Defer(below, "expert", expert), **settings)


UNSURE = {"answer:a0": "7|0.9", "answer:b0": "7|0.5", "answer:c0": "8|0.9", "think:dan0": "42|0.6"}


def test_an_unsure_debate_hands_its_question_on_and_both_are_counted() -> None:
    """Two of three votes are below .8: dan answers. Prompts of 9, 9, 9 and 10 characters, replies of 10 tokens."""
    debate = run(handing_on(0.8), Stage(UNSURE))
    assert debate.answer == "42"
    assert debate.deferred is not None
    assert (debate.deferred.to, debate.deferred.below, debate.deferred.own) == ("expert", 0.8, "7")
    assert debate.votes == {"7": 2.0, "8": 1.0}
    view = view_debate(debate, grade)
    assert (replies.calls(view), replies.input_tokens(view), replies.output_tokens(view)) == (4.0, 37.0, 40.0)
    assert (replies.extra_calls(view), replies.extra_input_tokens(view)) == (1.0, 10.0)
    assert budgets.depth(view) == 2.0  # one debate after the other
    assert deferred(view) == 1.0
    assert debate_confidence(view) == 1.0  # of the one that answered: its only vote
    assert [agent.name for stage in debate.stages for agent in stage.agents] == ["a", "b", "c", "dan"]
    assert reread_debate(debate, handing_on(0.8), StagedReader(), seed=0, replicate=1) == debate


def test_a_sure_debate_answers_itself_and_the_threshold_is_enough() -> None:
    stage = Stage(UNSURE)
    debate = run(handing_on(2 / 3), stage)
    assert (debate.answer, debate.deferred, len(stage.calls)) == ("7", None, 3)
    assert debate.confidence is not None
    assert debate.confidence.confidence == pytest.approx(2 / 3)
    assert deferred(view_debate(debate, grade)) == 0.0


def test_an_unknown_confidence_hands_on() -> None:
    script = {**UNSURE, "answer:a0": "7|-", "answer:b0": "7|-", "answer:c0": "7|-"}
    staged = handing_on(0.1, debate_confidence=DebateConfidence("weighted"))
    assert run(staged, Stage(script)).answer == "42"


def test_the_calls_of_the_stronger_method_are_those_of_its_own_debates() -> None:
    """Seeds do not depend on who handed the question on, so that both cells share their calls."""
    handed, alone = Stage(UNSURE), Stage(UNSURE)
    staged = handing_on(0.8)
    run(staged, handed)
    run(list(stages_of(staged))[1], alone)
    assert alone.calls == handed.calls[3:]


def test_a_chain_of_methods() -> None:
    """a, b and c hand on to dan, who is never sure enough, and he to eve."""
    eve = method({"end": {"role": "judge", "prompt": "end"}}, ["end"], {"judge": "eve"})
    dan = replace(
        method({"think": {"role": "solver", "prompt": "think"}}, ["think"], {"solver": "dan"}),
        debate_confidence=DebateConfidence("weighted"),
        defer=Defer(0.9, "eve", eve),
    )
    staged = method(ANSWER, ["answer"], defer=Defer(1.0, "dan", dan))
    debate = run(staged, Stage({**UNSURE, "think:dan0": "42|-", "end:eve0": "41|0.9"}))
    assert debate.answer == "41"
    assert [stage.own_answer for stage in debate.stages] == ["7", "42", "41"]
    assert [model.name for model in staged.models] == ["a", "b", "c", "dan", "eve"]


def test_records_hold_what_was_handed_on_and_others_stay_as_they_were() -> None:
    header = Header("x", "data", "small", 1)
    debate = run(handing_on(0.8), Stage(UNSURE))
    line = debate_to_json(debate, header)
    assert record_from_json(line) == Record(header, debate)
    written = json.loads(line.rpartition(',"sha')[0] + "}" if ',"sha' in line else line)
    assert written["schema_version"] == 6
    assert written["deferred"]["to"] == "expert"
    assert written["deferred"]["debate"]["answer"] == "42"
    plain = json.loads(debate_to_json(run(method(ANSWER, ["answer"]), Stage(UNSURE)), header))
    assert plain["schema_version"] == 3
    assert not {"confidence", "deferred"} & plain.keys()


def test_a_transcript_shows_both_debates() -> None:
    debate = run(handing_on(0.8), Stage(UNSURE))
    text = transcript_text(Record(Header("x", "data", "small", 1), debate), 80)
    assert "confidence of the debate: 0.67 by votes" in text
    assert "not sure enough (below 0.8): handed on to expert" in text
    assert text.index("answer: 7") < text.index("══ expert") < text.index("answer: 42")
    assert max(map(len, text.splitlines())) <= 80


def test_records_of_0_2_0_with_pooled_and_verified_confidences_are_read() -> None:
    """Debates have no such sources any more, but their records stay readable."""
    header = Header("x", "data", "small", 1)
    debate = run(handing_on(0.8), Stage(UNSURE))
    asides = (ProbeCall("c9", "right", None, 40, 9),)
    for measured in (Measured("log_odds", 0.4), Measured("verifier", 0.3, None, asides)):  # type: ignore[arg-type]
        old = Record(header, replace(debate, confidence=measured))
        assert record_from_json(debate_to_json(old.debate, header)) == old
    assert "confidence of the debate: 0.30 by a verifier" in transcript_text(old, 80)

"""Words of methods that meet in one debate: placebos, models of steps, wordings, beliefs, and questions handed on."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from cortexdsl.core import (
    Agent,
    DebateConfidence,
    DebateCosts,
    Defer,
    Everyone,
    Measure,
    Method,
    Model,
    Ports,
    Reading,
    Reads,
    Repeat,
    in_stage,
    of_step,
)
from cortexdsl.engine.methods import match_budget, with_all_models
from cortexdsl.engine.readings import reread_debate
from cortexdsl.engine.trajectories import trajectory
from cortexdsl.metrics import budgets
from cortexdsl.metrics.replies import debate_calls
from cortexdsl.metrics.view import view_debate
from cortexdsl.records.debates import Header, debate_to_json, record_from_json
from tests.engine.stage import QUESTION, Stage, StagedReader, method, run
from tests.engine.test_trajectories import ACC, GUIDES

LARGE = Model("large", "fake/large", parameters=70e9)
VARIANTS = {"prompt": "one", "variants": ("one", "two")}


def debating(step: dict[str, Any] | None = None, opening: dict[str, Any] | None = None, **words: Any) -> Method:
    """All answer, then all hear each other."""
    steps = {"answer": opening or {}, "revise": {"hears": Everyone(), **(step or {})}}
    return method(steps, ["answer", Repeat(1, ("revise",))], **words)


def handing(first: Method, to: Method) -> Method:
    return replace(first, defer=Defer(1.0, "expert", to))


EXPERT = method({"answer": {}}, ["answer"], "e")
DIFFER = {
    f"{step}:{name}{round_}": f"{number}|0.5"
    for round_, step in enumerate(("answer", "revise"))
    for number, name in enumerate("abc")
}


# ------------------------------------------------------------ placebos
def test_quartiles_are_those_of_the_answers_that_a_placebo_shows() -> None:
    stage = Stage({"answer:a0": "10|0.5", "answer:b0": "20|0.5", "answer:c0": "90|0.5"})
    run(debating({"placebo": "own"}), stage)
    quartiles = stage.views["revise:a1"]["quartiles"]
    assert (quartiles["lower"], quartiles["median"], quartiles["upper"]) == ("10", "10", "10")


class Beliefs(StagedReader):
    """Reads as a belief that the answer has half of the confidence that the reply states."""

    def read(self, reads: Reads, text: str) -> Reading:
        reading = super().read("answer", text)
        if reads != "belief":
            return reading
        return replace(reading, value=json.dumps({str(reading.value): (reading.confidence or 0.0) / 2}))


class Believing(Stage):
    def ports(self) -> Ports:
        return replace(super().ports(), reader=Beliefs())


def test_a_further_reply_states_its_confidence_as_the_opening_does() -> None:
    """The opening is read with probabilities, and so is the sample that stands for the words of another agent."""
    debate = run(debating({"placebo": "same_length"}, {"beside": ("belief",)}), Believing())
    assert debate.turns[0].confidence == 0.25
    assert {placebo.confidence for placebo in debate.turns[3].placebos} == {0.25}


# ------------------------------------------------------------ models of steps
def test_the_model_of_a_step_is_what_its_calls_compute_with() -> None:
    """Three answers of 7e9 parameters and three revisions of 70e9; a call writes 10 tokens."""
    stage = Stage()
    debate = run(debating({"model": LARGE}), stage)
    assert [call.model.name for call in stage.calls] == ["a", "b", "c", *["large"] * 3]
    sizes = DebateCosts(parameters={of_step("revise"): 70e9})
    small, large = list(debate_calls(debate))[:3], list(debate_calls(debate))[3:]
    tokens = [
        sum((each.prompt_tokens or 0) + (each.completion_tokens or 0) for each in part) for part in (small, large)
    ]
    view = view_debate(debate, lambda question, answer: 1.0, sizes)
    assert budgets.compute(view) == 2 * (7e9 * tokens[0] + 70e9 * tokens[1])
    answer = method({"answer": {}}, ["answer"])
    handed = run(handing(answer, debating({"model": LARGE})), Stage(DIFFER))
    later = DebateCosts(parameters={in_stage(1, of_step("revise")): 700e9})
    one, other = (budgets.compute(view_debate(handed, lambda *_: 1.0, costs)) or 0.0 for costs in (sizes, later))
    assert other > 2 * one


def test_a_change_of_models_reaches_agents_steps_verifiers_and_the_method_that_is_handed_questions() -> None:
    verifier = Model("v", "fake/v")
    inner = replace(debating({"model": LARGE}), confidence=Measure("verifier", verifier=verifier, prompt="verify"))
    changed = with_all_models(handing(inner, inner), lambda model: replace(model, model="fake/other"))
    assert {model.model for model in changed.models} == {"fake/other"}


# ------------------------------------------------------------ questions that are handed on
@pytest.mark.parametrize(("unit", "draws"), [("calls", 7), ("tokens", 7)])
def test_a_matched_budget_holds_what_the_handed_on_question_cost(unit: Any, draws: int) -> None:
    """Three answers and three revisions, and then one answer of the other method."""
    debate = run(handing(debating(), EXPERT), Stage(DIFFER))
    same = replace(debate, turns=tuple(replace(turn, prompt_tokens=20) for turn in debate.turns))
    assert debate.deferred is not None
    other = replace(debate.deferred.debate.turns[0], prompt_tokens=20)
    same = replace(same, deferred=replace(debate.deferred, debate=replace(debate.deferred.debate, turns=(other,))))
    sampled = match_budget(method({"answer": {"samples": 5}}, ["answer"]), same, unit)
    assert sampled.steps["answer"].samples == draws


def test_a_method_that_hands_questions_on_has_the_wordings_of_the_other_one() -> None:
    """Every debate of a replicate says its wording, also one whose question is not handed on."""
    worded = method({"answer": VARIANTS}, ["answer"], "e")
    assert handing(debating(), worded).wordings == 2
    sure, unsure = run(handing(debating(), worded)), run(handing(debating(), worded), Stage(DIFFER))
    assert (sure.deferred, unsure.deferred is None) == (None, False)
    assert unsure.deferred is not None
    assert sure.wording == unsure.wording == unsure.deferred.debate.wording != 0


def test_debates_to_learn_from_are_not_handed_on() -> None:
    seen = []
    for each in (ACC, handing(ACC, EXPERT)):
        stage = Stage()
        asyncio.run(trajectory(each, QUESTION, stage.ports(), GUIDES, role="actor", samples=1, seed=1))
        seen.append([call.messages for call in stage.calls])
    assert seen[0] == seen[1]


# ------------------------------------------------------------ all at once
@pytest.mark.parametrize("kind", ["own", "shuffled", "same_length"])
def test_a_record_with_all_of_them_is_read_as_it_was_written(kind: str) -> None:
    """Placebo, model of a step, wordings, belief, and a question handed on to such a method again."""
    inner = debating(
        {"placebo": kind, "model": LARGE, "temperature": 0.5, **VARIANTS},
        {"beside": ("belief",)},
        debate_confidence=DebateConfidence("weighted"),
    )
    given = {
        role: tuple(replace(agent, vars={"trust": 0.5}) for agent in role_agents)
        for role, role_agents in inner.role_agents.items()
    }
    whole = handing(
        replace(inner, role_agents=given),
        replace(inner, role_agents={"debater": (Agent("e", LARGE), *given["debater"])}),
    )
    debate = run(
        whole, Believing({"answer:a0": "one two|0.5", "answer:b0": "2|0.5", "one:b1": "3|0.5", "two:b1": "3|0.5"})
    )
    header = Header("e", "d", "c", 1)
    assert debate.deferred is not None
    assert debate.wording
    assert any(turn.placebos for turn in debate.deferred.debate.turns)
    written = debate_to_json(debate, header)
    assert debate_to_json(record_from_json(written).debate, header) == written
    again = reread_debate(debate, whole, Beliefs(), seed=7, replicate=1)
    assert debate_to_json(again, header) == written

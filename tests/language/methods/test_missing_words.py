"""Models and sampling of steps, numbers of agents, orders, numeric decisions: from the text of a spec to a method."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.core import Decide, Method, Model
from cortexdsl.plan.digests import digest
from tests.language.sheets import load_cells

SPEC = """\
seed: 7
dataset: {{name: arithmetic, size: 3}}
models:
  far: {{model: openai/m, api_base: env:BASE, temperature: 0.5, max_tokens: 200}}
  near: {{model: openai/n, api_base: env:BASE}}
  own: {{model: builtin/solver, skill: 0.5}}
agents: [{{name: ann, model: far, vars: {{trust: 2, luck: 0.5}}}}, {{name: bob, model: own}}]
teams: {{pair: [ann, ann, bob]}}
methods: {{own: {{protocol: own, agents: pair}}}}
{grid}
protocols:
  own:
    settings: {{heat: 0.2}}
    steps:
      answer: {{role: debater, {model} prompt: common/answer.j2}}
      revise: {{role: debater, hears: everyone, prompt: multi-llm/revise.j2}}
    schedule: [answer, {choose} revise]
    decide: {decide}
"""


def method(folder: Path, model: str = "", choose: str = "", decide: str = "majority", grid: str = "") -> Method:
    text = SPEC.format(model=model, choose=choose, decide=decide, grid=grid)
    text = text if "$heat" in text else text.replace("    settings: {heat: 0.2}\n", "")
    return load_cells(folder, text)[0].debate


def models_of(found: Method, step: str) -> list[Model]:
    return [found.steps[step].model_of(agent) for agent in found.role_agents["debater"]]


def test_a_step_samples_otherwise_and_others_as_before(tmp_path: Path) -> None:
    found = method(tmp_path, "temperature: 0,")
    ann, copy, bob = models_of(found, "answer")
    assert (ann.name, dict(ann.options)) == ("far", {"temperature": 0, "max_tokens": 200})
    assert copy == ann
    assert bob.options == {"skill": 0.5}, "the built-in solver does not sample"
    assert [model.options.get("temperature") for model in models_of(found, "revise")] == [0.5, 0.5, None]
    assert {model.options.get("temperature") for model in found.models if model.name == "far"} == {0, 0.5}


def test_a_step_is_asked_of_another_model(tmp_path: Path) -> None:
    found = method(tmp_path, "model: near,")
    assert [model.name for model in models_of(found, "answer")] == ["near"] * 3
    assert [model.name for model in models_of(found, "revise")] == ["far", "far", "own"]
    assert "near" in {model.name for model in found.models}


def test_a_model_of_a_step_and_its_temperature_together(tmp_path: Path) -> None:
    (ann, *_) = models_of(method(tmp_path, "model: near, temperature: 0.9,"), "answer")
    assert (ann.name, dict(ann.options)) == ("near", {"temperature": 0.9})


def test_a_setting_may_be_the_temperature_of_a_step(tmp_path: Path) -> None:
    text = SPEC.format(model="temperature: $heat,", choose="", decide="majority", grid="grid: {own: {heat: [0, 1.5]}}")
    arms = load_cells(tmp_path, text)
    assert [arm.debate.steps["answer"].temperature for arm in arms] == [0.2, 0, 1.5]


def test_agents_and_their_copies_have_numbers(tmp_path: Path) -> None:
    agents = method(tmp_path).role_agents["debater"]
    assert [(agent.name, dict(agent.vars)) for agent in agents] == [
        ("ann", {"trust": 2, "luck": 0.5}), ("ann-2", {"trust": 2, "luck": 0.5}), ("bob", {}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "decide"),
    [
        ("median", Decide("trimmed", share=0.5)),
        ("mean", Decide("trimmed")),
    ],
)
def test_decisions_on_numbers(tmp_path: Path, written: str, decide: Decide) -> None:
    assert method(tmp_path, decide=written).decide == decide


def test_words_that_are_not_written_change_no_digest(tmp_path: Path) -> None:
    """The digest of a step, an agent, a choice and a decision as they were before these words."""
    found = method(tmp_path, choose="{choose: debater, weight: confidence, keep: all},")
    shown = [
        digest(part)
        for part in (found.steps["answer"], found.role_agents["debater"][2], found.schedule[1], found.decide)
    ]
    assert shown == ["ddf1d1364da7009f", "00bbf759452c7d75", "d2d0ce0555cdaf15", "8493b9b1fd0e8343"]

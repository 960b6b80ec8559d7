"""`protocol: debate`: on each graph it is the debate of a protocol that is written for this graph alone."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from typing import Any

import pytest

from cortexdsl.core import Call, Debate, Method, Reply
from cortexdsl.errors import SpecError
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import load_protocol, protocol_of
from cortexdsl.language.reader import parse
from tests.engine.stage import Stage, agents, run

TEAM = agents("a b c d e", parameters=7e9, tokens=2e12)
WEIGHT = "credibility * reliability * intimacy / (self_orientation + 1)"

# topology, what a step of a protocol that is written for it hears, and a shipped protocol on this graph
GRAPHS = {
    "everyone": ("everyone", "everyone", "multi-llm", "{rounds: 3, until: consensus}"),
    "ring": ("{ring: 1}", "{ring: 1}", "neighbor", "{rounds: 3, until: consensus}"),
    "groups": ("{groups: 2}", "{groups: 2}", "sparse-mad", "{topology: {groups: 2}, memory: none, until: consensus}"),
    "random": (
        "{random: 0.4}",
        "{random: 0.4}",
        "sparse-mad",
        "{topology: {random: 0.4}, memory: none, until: consensus}",
    ),
    "trust": (
        "trust",
        f"{{weight: {WEIGHT}, keep: mean}}",
        "cortexdebate",
        "{rounds: 3, recalibration: none}",
    ),
}
WRITTEN = """\
recalibration: {recalibration}
steps:
  answer: {{role: debater, prompt: common/answer.j2}}
  revise: {{role: debater, hears: {hears}, memory: {memory}, prompt: debate/revise.j2}}
schedule: [answer, {{repeat: 3, until: consensus, do: [revise]}}]
decide: majority
"""


def made(protocol: Any, settings: str = "{}") -> Method:
    return resolve(protocol, MethodChoice("methods.tried", parse(settings, "tried.yaml"), TEAM))


def debates(method: Method) -> Iterator[Debate]:
    """Forty debates with random answers; a reply depends on who speaks, when, and what it was shown."""
    steps = {name: dataclasses.replace(step, prompt=name, material={}) for name, step in method.steps.items()}
    for seed in range(40):

        def reply(call: Call, seed: int = seed) -> Reply:
            prompt = call.messages[0]["content"]
            mine = prompt.splitlines()[0]
            draw = random.Random(f"{seed} {prompt}")
            text = f"{mine}|{draw.choice((42, 42, 41))}|{draw.random():.2f}"
            return Reply(f"key-{mine}", text, "stop", len(prompt), 10)

        labels = [f"answer:{agent.name}0" for agent in TEAM]
        labels += [f"revise:{agent.name}{k}" for agent in TEAM for k in (1, 2, 3)]
        stage = Stage(dict.fromkeys(labels, reply), cosine=lambda one, other: len(one) % 7 / 10)
        yield run(dataclasses.replace(method, protocol="any", steps=steps), stage, seed=seed)


@pytest.mark.parametrize("recalibration", ["none", "cortexdebate"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_topology_is_the_protocol_that_is_written_for_it(graph: str, recalibration: str) -> None:
    """The methods are equal: the same steps and prompts, the same schedule and decision."""
    topology, hears, _, _ = GRAPHS[graph]
    chosen = made(load_protocol("debate"), f"{{topology: {topology}, recalibration: {recalibration}}}")
    text = WRITTEN.format(hears=hears, recalibration=recalibration, memory="last")
    written = made(protocol_of("debate", parse(text, "written.yaml")))
    assert chosen == written


@pytest.mark.parametrize("graph", GRAPHS)
def test_it_debates_as_the_shipped_protocol_on_this_graph(graph: str) -> None:
    """Answers, graphs and votes are equal in debates in which agents are shown the same turns."""
    topology, _, shipped, settings = GRAPHS[graph]
    chosen = debates(made(load_protocol("debate"), f"{{topology: {topology}, memory: none}}"))
    other = list(debates(made(load_protocol(shipped), settings)))
    for one, two in zip(chosen, other, strict=True):
        assert (one.answer, one.votes, one.stop) == (two.answer, two.votes, two.stop)
        assert [(turn.speaker, turn.heard, turn.answer) for turn in one.turns] == [
            (turn.speaker, turn.heard, turn.answer) for turn in two.turns
        ]
        assert [graph.heard.tolist() for graph in one.graphs] == [graph.heard.tolist() for graph in two.graphs]
    assert len({debate.answer for debate in other}) > 1
    assert {debate.stop for debate in other} == {"consensus", "rounds"}


def test_weight_and_keep_choose_edges_of_trust_alone() -> None:
    debate = load_protocol("debate")
    assert made(debate, "{topology: {ring: 1}, keep: all, weight: confidence}") == made(debate, "{topology: {ring: 1}}")
    assert made(debate, "{topology: trust, keep: all}") != made(debate, "{topology: trust}")
    assert made(debate, "{topology: trust, weight: confidence}") != made(debate, "{topology: trust}")


def test_a_topology_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(SpecError) as caught:
        made(load_protocol("debate"), "{topology: truts}")
    (problem,) = caught.value.problems
    assert problem.where == "tried.yaml:1:12"
    assert problem.what == "methods.tried.topology is 'truts'"
    assert problem.remedy.startswith("did you mean trust? allowed: nobody, everyone, self, trust, or a mapping")

"""A stage for debates without models: scripted replies, prompts that list what they contain, ports that count.

A prompt of this stage is plain text: its first line says whose turn it is (`revise:b1` is b's turn in round 1 of the
step `revise`, `review:a1>b` what a says about b), then one line for each turn that it contains. A reply is
`label|answer|confidence`, so that a listener's prompt can be read back into the turns that it was made from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cortexdsl.core import (
    NOTHING,
    Ablation,
    Agent,
    Call,
    Debate,
    Decide,
    Everyone,
    Floats,
    Message,
    Method,
    Model,
    OfRole,
    Ports,
    Question,
    Reading,
    Reads,
    Repeat,
    Reply,
    Step,
    Turn,
)
from cortexdsl.engine.run import run_debate

QUESTION = Question("q1", "What is 6 * 7?")


def agents(names: str, **model: Any) -> tuple[Agent, ...]:
    """One agent a word."""
    return tuple(Agent(name, Model(name, "fake/model", **model)) for name in names.split())


def method(
    steps: Mapping[str, Mapping[str, Any]],
    schedule: Sequence[str | Repeat],
    role_agents: Mapping[str, str] | str = "a b c",
    decide: Decide | None = None,
    **settings: Any,
) -> Method:
    """A method from its steps' words; `role_agents` names the agents of each role, or the debaters alone."""
    roles = {"debater": role_agents} if isinstance(role_agents, str) else role_agents
    return Method(
        protocol="staged",
        role_agents={role: agents(names, parameters=7e9, tokens=2e12) for role, names in roles.items()},
        steps={name: Step(name=name, **{"role": "debater", "prompt": name, **words}) for name, words in steps.items()},
        schedule=tuple(schedule),
        decide=decide or Decide("majority"),
        **settings,
    )


def label(step: str, speaker: str, round_: int, about: str | None = None) -> str:
    return f"{step}:{speaker}{round_}" + (f">{about.replace(' ', '')}" if about else "")


def name_of(turn: Turn) -> str:
    return label(turn.step, turn.speaker, turn.round, turn.about)


class StagedReader:
    """Reads `label|answer|confidence`; `-` stands for what cannot be read."""

    def read(self, reads: Reads, text: str) -> Reading:
        _, answer, confidence = text.split("|")
        stated = None if confidence == "-" else float(confidence)
        return Reading(None, "nothing to read", stated) if answer == "-" else Reading(answer, None, stated)

    def without_confidence(self, text: str) -> str:
        return text.rpartition("|")[0]

    def same(self, answer: str, earlier: str) -> bool:
        return answer == earlier

    def place_of(self, answer: str, text: str) -> tuple[int, int] | None:
        start = text.index("|") + 1
        return start, start + len(answer)


@dataclass
class Stage:
    """Scripted ports.

    Attributes
    ----------
    script : mapping of label to `answer|confidence`
        A callable value is given the call and returns the reply; what is not scripted is `42|0.5`.
    cosine : callable of two texts
        Their similarity.
    delay : callable of label
        How many times the event loop goes round before a reply arrives.
    """

    script: Mapping[str, Any] = field(default_factory=dict)
    cosine: Callable[[str, str], float] = lambda one, other: 0.0
    delay: Callable[[str], int] = lambda label: 0
    calls: list[Call] = field(default_factory=list)
    views: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def ports(self) -> Ports:
        return Ports(self.ask, self.render, StagedReader(), self.similarity)

    def render(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        mine = label(prompt, view["agent"]["name"], view["round"], view["about"])
        self.views[mine] = view
        lines = [mine, *(f"heard {t['text']}" for t in view["heard"]), *(f"own {t['text']}" for t in view["own"])]
        return ({"role": "user", "content": "\n".join(lines)},)

    async def ask(self, call: Call) -> Reply:
        self.calls.append(call)
        mine = call.messages[0]["content"].splitlines()[0]
        for _ in range(self.delay(mine)):
            await asyncio.sleep(0)
        said = self.script.get(mine, "42|0.5")
        if callable(said):
            reply: Reply = said(call)
            return reply
        return Reply(f"key-{mine}-{call.seed}", f"{mine}|{said}", "stop", len(call.messages[0]["content"]), 10)

    async def similarity(self, embedding: str, texts: Sequence[str]) -> Floats:
        return np.array([[1.0 if u == v else self.cosine(u, v) for v in texts] for u in texts])

    def prompts(self) -> list[str]:
        return [call.messages[0]["content"] for call in self.calls]

    def trace(self) -> list[str]:
        """For each call `label <- turns heard | own turns`, read back from the prompts that were sent."""
        return [_traced(prompt) for prompt in self.prompts()]


def _traced(prompt: str) -> str:
    mine, *lines = prompt.splitlines()
    said: dict[str, list[str]] = {"heard": [], "own": []}
    for line in lines:
        kind, text = line.split(" ", 1)
        said[kind].append(text.partition("|")[0])
    parts = [mine]
    if said["heard"]:
        parts.append("<- " + " ".join(said["heard"]))
    if said["own"]:
        parts.append("| " + " ".join(said["own"]))
    return " ".join(parts)


def run(
    of: Method,
    stage: Stage | None = None,
    *,
    seed: int = 7,
    replicate: int = 1,
    question: Question = QUESTION,
    given: Sequence[Turn] = (),
    ablation: Ablation = NOTHING,
) -> Debate:
    """One debate on a stage."""
    ports = (stage or Stage()).ports()
    return asyncio.run(run_debate(of, question, ports, seed=seed, replicate=replicate, given=given, ablation=ablation))


TALK: dict[str, dict[str, Any]] = {
    "answer": {},
    "revise": {"hears": Everyone()},
    "judge": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
    "conclude": {"role": "judge", "hears": OfRole(("debater",))},
}


def talk(schedule: Sequence[str | Repeat], decide: Decide | None = None, **settings: Any) -> Method:
    """Return a method of two debaters and a judge with these steps."""
    return method(TALK, schedule, {"debater": "a b", "judge": "j"}, decide, **settings)

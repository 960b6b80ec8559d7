"""Simulated debates with made-up replies of every kind, to see which conditions of a method can change.

A script says what agents answer, how sure they are and what judges decide. One debate is run for each script, with all
conditions and choices as written, until every condition has been both true and false. A condition that is never true in
any script, or always true, decides nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np

from cortexdsl.core import (
    Call,
    Debate,
    Floats,
    Message,
    Method,
    Observe,
    OtherQuestion,
    Ports,
    Question,
    Reading,
    Reads,
    Reply,
)
from cortexdsl.engine.run import run_debate
from cortexdsl.errors import DebateError

QUESTION = Question("example", "What is 1+1?")

Answers: TypeAlias = Literal["same", "camps", "own", "new", "converge"]
_ANSWERS: tuple[Answers, ...] = ("camps", "own", "converge", "same", "new")


@dataclass(frozen=True, slots=True)
class Script:
    """The behaviour of the agents of a simulated debate.

    Attributes
    ----------
    answers : str
        `same`: all give one answer; `camps`: each answer is one of two, at random; `own`: each agent keeps its own
        answer; `new`: every answer differs from all others; `converge`: all differ, and are equal from round 2 on.
    sure : (float, float)
        The range of confidences, scores and similarities.
    agree : float
        The share of verdicts, and of selections, that agree.
    """

    answers: Answers
    sure: tuple[float, float]
    agree: float


SCRIPTS: tuple[Script, ...] = (
    Script("camps", (0.0, 1.0), 0.5),
    Script("same", (0.95, 1.0), 1.0),
    Script("new", (0.0, 0.05), 0.0),
    Script("own", (0.0, 1.0), 0.5),
    Script("converge", (0.0, 1.0), 0.5),
    *(
        Script(answers, sure, agree)
        for answers, sure, agree in product(_ANSWERS, ((0.95, 1.0), (0.0, 0.05), (0.4, 0.9)), (0.0, 1.0))
    ),
    *(Script(answers, (0.0, 1.0), 0.5) for _ in range(3) for answers in _ANSWERS),  # verdicts that differ by step
)
"""Fifty scripts, the most different ones first: often the first few show that every condition can change."""


class ScriptedReplies:
    """Made-up replies that follow a script; a reply is a function of the script and of its call.

    Parameters
    ----------
    script : Script
    number : int
        The place of the script, which seeds its chance.
    observe : callable
        Called with every evaluation.
    """

    def __init__(self, script: Script, number: int, observe: Observe) -> None:
        self._script, self._number, self._observe = script, number, observe
        self._calls = 0

    def render(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        """Return a prompt that holds what a made-up reply depends on."""
        str(view)  # everything that reaches the speaker counts as shown
        content = {"name": view["agent"]["name"], "round": view["round"], "numbers": view["can_choose"]}
        return ({"role": "user", "content": json.dumps(content)},)

    async def ask(self, call: Call) -> Reply:
        """Reply with the content of the prompt, after the number of the call in the debate."""
        self._calls += 1
        content = call.messages[0]["content"]
        return Reply(f"{self._number}-{self._calls}", f"{self._calls} {content}", "stop", 0, 0)

    def read(self, reads: Reads, text: str) -> Reading:
        """Read a reply as the script says."""
        place, _, content = text.partition(" ")
        prompt = json.loads(content)
        chance = _chance(self._number, place, reads)
        sure = self._script.sure[0] + (self._script.sure[1] - self._script.sure[0]) * chance
        match reads:
            case "verdict":
                return Reading("agree" if chance < self._script.agree else "disagree", confidence=sure)
            case "choice":
                numbers = prompt["numbers"]
                if not numbers:
                    return Reading(None, "made up: nobody was shown")
                start = 0 if self._script.agree == 1.0 else int(chance * len(numbers))
                chosen = (numbers * 2)[start : start + (1 if len(numbers) <= 2 else 2)]
                return Reading(", ".join(map(str, chosen)), confidence=sure)
            case "selection":
                return Reading("1,2,3,4,5", confidence=sure)
            case "answer":
                return Reading(self._answer(prompt, place, chance), confidence=sure)
            case "belief":
                chance = _chance(self._number, place, "answer")
                return Reading(json.dumps({self._answer(prompt, place, chance): sure}), confidence=sure)
            case _:
                return Reading(text, confidence=sure)

    def _answer(self, prompt: Mapping[str, Any], place: str, chance: float) -> str:
        match self._script.answers:
            case "same":
                return "A"
            case "camps":
                return "A" if chance < 0.6 else "B"
            case "own":
                return str(prompt["name"])
            case "converge" if prompt["round"] >= 2:
                return "A"
            case _:
                return place

    def without_confidence(self, text: str) -> str:
        """Return the reply."""
        return text

    def same(self, answer: str, earlier: str) -> bool:
        """Return whether two made-up answers are one."""
        return answer == earlier

    def place_of(self, answer: str, text: str) -> tuple[int, int] | None:
        """Return None: the answer has no place in the text."""
        return None

    async def similarity(self, embedding: str, texts: Sequence[str]) -> Floats:
        """Draw the similarity of each two texts."""
        low, high = self._script.sure
        drawn = [[_chance(self._number, *sorted((one, other))) for other in texts] for one in texts]
        similarities = np.array(drawn).reshape(len(texts), len(texts)) * (high - low) + low
        np.fill_diagonal(similarities, 1.0)
        return similarities

    def ports(self) -> Ports:
        """Return the ports of the engine."""
        return Ports(self.ask, self.render, self, self.similarity, self._observe, self._other)

    def _other(self, question: Question, chance: random.Random) -> OtherQuestion:
        return OtherQuestion(question, self.ports())  # made-up replies are about no question


def _chance(*parts: object) -> float:
    drawn = hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(drawn, "big") / 2**64


def scripted_debates(method: Method, observe: Observe, enough: Callable[[Sequence[Debate]], bool]) -> list[Debate]:
    """Run simulated debates, one for each script; debates that fail are left out.

    Parameters
    ----------
    method : Method
        As written.
    observe : callable
        Called with every evaluation of an expression.
    enough : callable
        From the debates so far to whether no more are needed.
    """

    async def run() -> list[Debate]:
        debates: list[Debate] = []
        for number, script in enumerate(SCRIPTS):
            ports = ScriptedReplies(script, number, observe).ports()
            with suppress(DebateError):
                debates.append(await run_debate(method, QUESTION, ports, seed=number, replicate=1))
            if enough(debates):
                break
        return debates

    with ThreadPoolExecutor(1) as thread:  # a plan may be compiled inside a running event loop
        return thread.submit(asyncio.run, run()).result()

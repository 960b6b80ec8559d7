"""Debates with made-up replies of every kind, to see which conditions of a method can change.

A script says what agents answer, how sure they are and what judges find. A debate of each script is run with all
conditions and choices as they are written, until every condition has been both true and false. A condition that was
never true over all scripts, or always, decides nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np

from cortexdsl.debate.engine import debate
from cortexdsl.errors import DebateError
from cortexdsl.terms import (
    Call,
    Debate,
    Floats,
    Hands,
    Message,
    Method,
    Observe,
    Question,
    Reading,
    Reads,
    Reply,
)

QUESTION = Question("example", "What is 1+1?")

Answers: TypeAlias = Literal["same", "camps", "own", "new", "converge"]
_ANSWERS: tuple[Answers, ...] = ("camps", "own", "converge", "same", "new")


@dataclass(frozen=True, slots=True)
class Script:
    """How the agents of a made-up debate behave.

    Attributes
    ----------
    answers : str
        `same`: all give one answer; `camps`: one of two, drawn anew each time; `own`: each keeps an answer of its own;
        `new`: every answer differs from all others; `converge`: all differ, and from round 2 on all are the same.
    sure : (float, float)
        Between which confidences, scores and similarities are drawn.
    agree : float
        The share of judges, and of selections, that are content.
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
)
"""Thirty-five: the most different ones first, so that few are needed where every condition can change."""


class Varied:
    """Made-up hands that follow a script; a reply is a function of the script and of its call.

    Parameters
    ----------
    script : Script
    number : int
        The script's place, from which chance is drawn.
    observe : callable
        Is told of every evaluation.
    """

    def __init__(self, script: Script, number: int, observe: Observe) -> None:
        self._script, self._number, self._observe = script, number, observe
        self._asked = 0

    def render(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        """Write down what a made-up reply depends on."""
        str(view)  # all that reaches the speaker counts as shown
        numbers = [turn["number"] for turn in (*view["heard"], *view["own"]) if turn["number"] is not None]
        said = {"name": view["agent"]["name"], "round": view["round"], "numbers": sorted({*numbers})}
        return ({"role": "user", "content": json.dumps(said)},)

    async def ask(self, call: Call) -> Reply:
        """Reply with what was written down, and with the place of the call in the debate."""
        self._asked += 1
        said = call.messages[0]["content"]
        return Reply(f"{self._number}-{self._asked}", f"{self._asked} {said}", "stop", 0, 0)

    def read(self, reads: Reads, text: str) -> Reading:
        """Read a reply as the script says."""
        place, _, content = text.partition(" ")
        said = json.loads(content)
        chance = _chance(self._number, place, reads)
        sure = self._script.sure[0] + (self._script.sure[1] - self._script.sure[0]) * chance
        match reads:
            case "verdict":
                return Reading("agree" if chance < self._script.agree else "disagree", confidence=sure)
            case "choice":
                numbers = said["numbers"]
                if not numbers:
                    return Reading(None, "made up: nobody was shown")
                start = 0 if self._script.agree == 1.0 else int(chance * len(numbers))
                chosen = (numbers * 2)[start : start + (1 if len(numbers) <= 2 else 2)]
                return Reading(", ".join(map(str, chosen)), confidence=sure)
            case "selection":
                return Reading("1,2,3,4,5", confidence=sure)
            case "answer":
                return Reading(self._answer(said, place, chance), confidence=sure)
            case _:
                return Reading(text, confidence=sure)

    def _answer(self, said: Mapping[str, Any], place: str, chance: float) -> str:
        match self._script.answers:
            case "same":
                return "A"
            case "camps":
                return "A" if chance < 0.6 else "B"
            case "own":
                return str(said["name"])
            case "converge" if said["round"] >= 2:
                return "A"
            case _:
                return place

    def without_confidence(self, text: str) -> str:
        """Return the reply."""
        return text

    def place_of(self, answer: str, text: str) -> tuple[int, int] | None:
        """Say that the answer is not to be found."""
        return None

    async def similarity(self, embedding: str, texts: Sequence[str]) -> Floats:
        """Draw how much alike each two texts are."""
        low, high = self._script.sure
        drawn = [[_chance(self._number, *sorted((one, other))) for other in texts] for one in texts]
        found = np.array(drawn).reshape(len(texts), len(texts)) * (high - low) + low
        np.fill_diagonal(found, 1.0)
        return found

    def hands(self) -> Hands:
        """Return the hands that the engine takes."""
        return Hands(self.ask, self.render, self, self.similarity, self._observe)


def _chance(*parts: object) -> float:
    drawn = hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(drawn, "big") / 2**64


def varied_debates(method: Method, observe: Observe, enough: Callable[[Sequence[Debate]], bool]) -> list[Debate]:
    """Run made-up debates, one a script; those that could not go on are left out.

    Parameters
    ----------
    method : Method
        As it is written.
    observe : callable
        Is told of every evaluation of an expression.
    enough : callable
        Tells of the debates so far whether no more are needed.
    """

    async def run() -> list[Debate]:
        found: list[Debate] = []
        for number, script in enumerate(SCRIPTS):
            hands = Varied(script, number, observe).hands()
            with suppress(DebateError):
                found.append(await debate(method, QUESTION, hands, seed=number, replicate=1))
            if enough(found):
                break
        return found

    with ThreadPoolExecutor(1) as thread:  # a plan may be compiled inside a running event loop
        return thread.submit(asyncio.run, run()).result()

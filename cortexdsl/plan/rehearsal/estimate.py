"""The calls and tokens of a debate, found by rehearsing it: the real engine and prompts, with made-up replies.

A made-up reply is a function of its call alone, so that cells which will share calls share them here. No two agents
agree and no judge is content, so that every debate has its full length: the estimate is the most calls that can happen.

Four characters are one token. A reply is as long as the spec assumes, and no longer than `max_tokens`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, get_args

import numpy as np

from cortexdsl.core import (
    NOTHING,
    Ablation,
    Call,
    CallCost,
    Debate,
    DebateCosts,
    Floats,
    FunctionCall,
    Message,
    Method,
    Model,
    Offer,
    OtherQuestion,
    Ports,
    Question,
    Reading,
    Reads,
    Render,
    Reply,
    Usage,
)
from cortexdsl.engine.placebo import draw_other_question
from cortexdsl.engine.run import run_debate
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.transports.prices import estimated_dollars, has_price
from cortexdsl.models.transports.registry import has_functions
from cortexdsl.plan.rehearsal.full_length import full_length

Result = TypeVar("Result")
CHARACTERS_PER_TOKEN = 4
REPLY_TOKENS = 200

_ANSWER = 16  # characters of a made-up reply that differ from other replies


class CallLengths(NamedTuple):
    """A call with the tokens of its prompt and its reply."""

    call: Call
    input_tokens: int
    output_tokens: int


class Lengths:
    """Lengths of prompts and replies, at four characters a token.

    Parameters
    ----------
    reply_tokens : int
        Assumed length of a reply.
    """

    def __init__(self, reply_tokens: int = REPLY_TOKENS) -> None:
        self._reply_tokens = reply_tokens

    def of_call(self, call: Call) -> CallLengths:
        """Return a call with its lengths."""
        output_tokens = self.reply(call.model) + call.model.reasoning_tokens
        return CallLengths(call, self.prompt(call.model, call.messages), output_tokens)

    def prompt(self, model: Model, messages: Sequence[Message]) -> int:
        """Return the tokens of a prompt."""
        return sum(len(message["content"]) for message in messages) // CHARACTERS_PER_TOKEN

    def reply(self, model: Model) -> int:
        """Return the tokens of a reply, without reasoning."""
        return min(self._reply_tokens, int(model.options.get("max_tokens", self._reply_tokens)))

    def filler_text(self, key: str, model: Model) -> str:
        """Return a reply of this length, a function of the call's key."""
        return filler_text(key, self.reply(model))


def filler_text(key: str, tokens: int) -> str:
    """Return a text of this many tokens, a function of a key; words after its answer let a placebo shuffle it."""
    letters = bytearray(hashlib.sha256(key.encode()).hexdigest(), "ascii")
    letters[_ANSWER + 7 : -8 : 8] = b"     "
    text = letters.decode("ascii")
    return (text * (tokens * CHARACTERS_PER_TOKEN // len(text) + 1))[: tokens * CHARACTERS_PER_TOKEN]


@dataclass(frozen=True)
class CostEstimate(Usage):
    """The usage of calls before they are made. `dollars` takes no token for cached.

    Attributes
    ----------
    shared_calls : int
        Calls that another cell makes, too: they are sent once.
    """

    shared_calls: int = 0

    def record(self) -> dict[str, Any]:
        """Return the estimate as JSON values."""
        return {
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "dollars": self.total_dollars,
            "shared_calls": self.shared_calls,
        }


class RehearsedCalls(NamedTuple):
    """The calls of rehearsed debates, and those of them that nobody has sent before."""

    calls: Sequence[CallLengths]
    new: Sequence[CallLengths]

    @property
    def estimate(self) -> CostEstimate:
        """What they cost; tools use no tokens."""
        by_models = [lengths for lengths in self.calls if not lengths.call.model.is_tool]
        return CostEstimate(
            calls=len(self.calls),
            input_tokens=sum(lengths.input_tokens for lengths in by_models),
            output_tokens=sum(lengths.output_tokens for lengths in by_models),
            dollars=_dollars(by_models),
            unpriced=sum(not has_price(lengths.call.model) for lengths in by_models),
            shared_calls=len(self.calls) - len(self.new),
        )


@dataclass(slots=True)
class Rehearsal:
    """Made-up replies for the engine, which count the calls.

    Attributes
    ----------
    render : Render
        The real one: every template is rendered on real rows.
    lengths : Lengths
    calls : dict
        Every call by its key.
    sent : list of Call
        All calls, equal ones too.
    questions : sequence of Question
        Among which `placebo: other_question` draws; if empty, the question of the debate stands for another one.
    """

    render: Render
    lengths: Lengths = field(default_factory=Lengths)
    calls: dict[str, CallLengths] = field(default_factory=dict)
    sent: list[Call] = field(default_factory=list)
    questions: Sequence[Question] = ()

    async def debate(self, method: Method, question: Question, *, seed: int, without: Ablation = NOTHING) -> Debate:
        """Rehearse a debate at its full length."""
        return await run_debate(full_length(method), question, self.ports(), seed=seed, replicate=1, ablation=without)

    async def ask(self, call: Call) -> Reply:
        """Make up a reply that is a function of the call."""
        key = call_key(call)
        self.sent.append(call)
        lengths = self.calls.get(key) or self.lengths.of_call(call)
        self.calls[key] = lengths
        reasoning_tokens = call.model.reasoning_tokens
        text = self.lengths.filler_text(key, call.model)
        requests: tuple[FunctionCall, ...] = ()
        if call.offer is not None and not call.offer.is_over:  # one use in a reply, so that there are the most calls
            text, requests = _asking(call.offer, text)
        return Reply(
            key,
            text,
            "stop",
            lengths.input_tokens,
            lengths.output_tokens,
            reasoning=filler_text(key, reasoning_tokens),
            reasoning_tokens=reasoning_tokens,
            requests=requests,
        )

    def read(self, reads: str, text: str) -> Reading:
        """Read a made-up reply: all answers differ, every judge disagrees, a selection takes all."""
        if reads in ("choice", "ranking"):
            return Reading(None, "rehearsed: nobody is chosen before another")
        confidence = (int(text[:4], 16) % 101) / 100
        made_up = text[:16] if reads in get_args(Reads) else f"{confidence:g}"
        value = {"verdict": "disagree", "selection": "1,2,3,4,5"}.get(reads, made_up)
        return Reading(
            json.dumps({value: confidence}) if reads in ("belief", "quotes") else value, confidence=confidence
        )

    def without_confidence(self, text: str) -> str:
        """Return the reply."""
        return text

    def same(self, answer: str, earlier: str) -> bool:
        """Return whether two made-up answers are one."""
        return answer == earlier

    def parts(self, text: str, most: int, *, is_list: bool) -> tuple[str, ...]:
        """Return the largest number of parts."""
        return (text.strip() or "a part",) * most

    def place_of(self, answer: str, text: str) -> tuple[int, int] | None:
        """Return None: the answer has no place in the text."""
        return None

    async def similarity(self, embedding: str, texts: Sequence[str]) -> Floats:
        """Return a similarity of 0 for any two texts."""
        return np.eye(len(texts))

    def ports(self) -> Ports:
        """Return the ports of the engine."""
        return Ports(self.ask, self.render, self, self.similarity, self.other, has_functions)

    def other(self, question: Question, chance: random.Random) -> OtherQuestion:
        """Return another question, whose debate is rehearsed as well."""
        other = draw_other_question(self.questions, question, chance) if self.questions else question
        return OtherQuestion(other, self.ports())

    def beyond(self, seen: dict[str, CallLengths]) -> RehearsedCalls:
        """Return the calls, and which of them are not among those that were seen; they are seen from now on."""
        new = tuple(each for key, each in self.calls.items() if key not in seen)
        seen.update(self.calls)
        return RehearsedCalls(tuple(self.calls.values()), new)

    def costs(self, parameters: Mapping[str, float | None]) -> DebateCosts:
        """Return what the calls cost by the prices of their models, with a second for each token of a reply."""
        return DebateCosts(
            {
                key: CallCost(float(output_tokens), estimated_dollars(call.model, input_tokens, output_tokens), 0)
                for key, (call, input_tokens, output_tokens) in self.calls.items()
            },
            parameters,
        )


def _asking(offer: Offer, text: str) -> tuple[str, tuple[FunctionCall, ...]]:
    """Return a made-up reply that asks for a tool: its text, and its function calls."""
    tool = offer.tools[0]
    if offer.form == "text":
        return f"```tool {tool.name}\n{text}\n```", ()
    return "", (FunctionCall("", tool.name, json.dumps({tool.argument: text})),)


def run_apart(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a thread: a plan may be compiled inside a running event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def rehearse(
    method: Method,
    questions: Sequence[Question],
    render: Render,
    *,
    seed: int,
    lengths: Lengths,
    seen: dict[str, CallLengths],
    without: Ablation = NOTHING,
) -> RehearsedCalls:
    """Rehearse a method on some questions, one replicate.

    Parameters
    ----------
    method : Method
    questions : sequence of Question
        A sample of the dataset.
    render : Render
    seed : int
        Of the experiment.
    lengths : Lengths
    seen : dict of key to CallLengths
        The calls of other cells: these calls count as shared. This method's calls are added.
    without : Ablation
        What the debates leave out.
    """
    rehearsal = Rehearsal(render, lengths, questions=questions)
    for question in questions:
        await rehearsal.debate(method, question, seed=seed, without=without)
    return rehearsal.beyond(seen)


def _dollars(calls: Sequence[CallLengths]) -> float:
    return sum((estimated_dollars(call.model, prompt, reply) for call, prompt, reply in calls), 0.0)

"""What an experiment will cost, found by rehearsing it: the real engine and prompts, with made-up replies.

A rehearsed reply is a function of its call alone, so that arms which will share calls share them here. No two agents
agree and no judge is content, so that every debate runs its full length: the estimate is the most that can happen
in calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cortexdsl.debate.engine import debate
from cortexdsl.debate.roles import choices, principal_roles
from cortexdsl.debate.weights.expressions import parse
from cortexdsl.models.keys import call_key
from cortexdsl.models.transports.prices import estimated_dollars, has_price
from cortexdsl.plan.rehearsal.lengths import Asked, Lengths, made_up
from cortexdsl.terms import (
    NEVER,
    NOTHING,
    Call,
    Choose,
    Floats,
    Hands,
    Item,
    Keep,
    Method,
    Own,
    Question,
    Reading,
    Reads,
    Render,
    Repeat,
    Reply,
    Sparse,
    Step,
    Tells,
    Told,
    Topology,
    Without,
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What calls cost; `shared_calls` are those that another cell asks as well, which are asked once.

    `dollars` is None where a model has no known price.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0
    shared_calls: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        dollars = None if self.dollars is None or other.dollars is None else self.dollars + other.dollars
        return Estimate(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            dollars,
            self.shared_calls + other.shared_calls,
        )

    def times(self, factor: float) -> Estimate:
        """Scale a sample's cost to all questions."""
        return Estimate(
            round(self.calls * factor),
            round(self.input_tokens * factor),
            round(self.output_tokens * factor),
            None if self.dollars is None else self.dollars * factor,
            round(self.shared_calls * factor),
        )


@dataclass(slots=True)
class Rehearsal:
    """Made-up hands that count what they are asked.

    Attributes
    ----------
    render : Render
        The real one: every template is rendered on real rows.
    lengths : Lengths
        Of prompts and replies.
    calls : dict
        Every call by its key.
    """

    render: Render
    lengths: Lengths = field(default_factory=Lengths)
    calls: dict[str, Asked] = field(default_factory=dict)

    async def ask(self, call: Call) -> Reply:
        """Make up a reply that is a function of the call."""
        key = call_key(call)
        asked = self.calls.get(key) or self.lengths.asked(call)
        self.calls[key] = asked
        thought = call.model.reasoning_tokens
        return Reply(
            key,
            self.lengths.made_up(key, call.model),
            "stop",
            asked.input_tokens,
            asked.output_tokens,
            reasoning=made_up(key, thought),
            reasoning_tokens=thought,
        )

    def read(self, reads: Reads, text: str) -> Reading:
        """Read a made-up reply: everybody answers differently, every judge says no, a selection takes all."""
        if reads == "choice":
            return Reading(None, "rehearsed: nobody is chosen before another")
        value = {"verdict": "disagree", "selection": "1,2,3,4,5"}.get(reads, text[:16])
        return Reading(value, confidence=(int(text[:4], 16) % 101) / 100)

    def without_confidence(self, text: str) -> str:
        """Return the reply."""
        return text

    def place_of(self, answer: str, text: str) -> tuple[int, int] | None:
        """Say that the answer is not to be found."""
        return None

    async def similarity(self, embedding: str, texts: Sequence[str]) -> Floats:
        """Say that no two texts are alike."""
        return np.eye(len(texts))

    def hands(self) -> Hands:
        """Return the hands that the engine takes."""
        return Hands(self.ask, self.render, self, self.similarity)


async def rehearse(
    method: Method,
    questions: Sequence[Question],
    render: Render,
    *,
    seed: int,
    lengths: Lengths,
    seen: set[str],
    without: Without = NOTHING,
) -> Estimate:
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
    seen : set of str
        Keys of the calls that other cells make; calls among them count as shared. This method's are added.
    without : Without
        What the debates leave out.
    """
    rehearsal = Rehearsal(render, lengths)
    method = longest(method)
    for question in questions:
        await debate(method, question, rehearsal.hands(), seed=seed, replicate=1, without=without)
    calls = rehearsal.calls
    shared = len(seen & calls.keys())
    seen.update(calls)
    return estimate_of(tuple(calls.values()), shared)


_KNOWN = frozenset({"round", "n_agents", "consensus", "agreed"})
"""What a rehearsed debate knows as a real one would, or at its longest: nobody agrees, no judge is content."""
_SEATED = frozenset({"place", "n_agents"})
"""What a rehearsed choice knows as a real one would, as long as nobody may have left."""


class Agreeing(Rehearsal):
    """Made-up hands whose replies agree: one answer that all are sure of, and judges who are content."""

    def read(self, reads: Reads, text: str) -> Reading:
        """Read a made-up reply."""
        value = {"answer": "the same", "verdict": "agree"}.get(reads)
        return Reading(value, confidence=0.99) if value is not None else super().read(reads, text)

    async def similarity(self, embedding: str, texts: Sequence[str]) -> Floats:
        """Say that all texts are alike."""
        return np.ones((len(texts), len(texts)))


def longest(method: Method, *, ends: bool = False) -> Method:
    """Return a method at its longest: what depends on what is said ends nothing, and silences nobody.

    Turns that a condition could leave out are told; where there is a call for each edge, all edges are kept.
    A choice by the agents' places is made, and so is one by chance that keeps a number of them (the highest k, all but
    the lowest k). By what was said any number may be kept: agents who weigh alike stay together. A role that says only
    which template somebody is given goes to the first in line, so that every template is rendered. With `ends` loops
    end as they are written to.
    """
    known, parted = known_choices(method), parting(method)

    def item(part: Item) -> Item:
        if isinstance(part, Choose) and part.role in parted and part not in known:
            return replace(part, weight="-place", keep=Keep("top", 1))
        if isinstance(part, Choose):
            is_known = part in known or keeps_a_number(part)
            return part if is_known else replace(part, weight="1", keep=Keep("all"))
        if isinstance(part, Repeat):
            until, unless = (text if ends or _is_known(text) else NEVER for text in (part.until, part.unless))
            return replace(part, body=tuple(map(item, part.body)), until=until, unless=unless)
        return part

    steps = {name: _fullest(step) for name, step in method.steps.items()}
    return replace(method, steps=steps, schedule=tuple(map(item, method.schedule)))


def _fullest(step: Step) -> Step:
    """Return a step that is told all turns that what was said could leave out, with a call for each edge."""

    def all_of(told: Tells | Own | Told) -> Any:
        return replace(told, where="") if isinstance(told, Told) else told

    hears = _all_of(step.hears) if step.each in _PER_EDGE else step.hears
    return replace(step, hears=hears, tells=tuple(map(all_of, step.tells)), own=all_of(step.own))


def goes_by_replies(method: Method) -> bool:
    """Tell whether who is heard, or who speaks, depends on what is said: a rehearsal's graphs are then examples."""
    weighed = any(_all_of(step.hears) != step.hears for step in method.steps.values())
    return weighed or any(choice not in known_choices(method) for choice in choices(method.schedule))


_PER_EDGE = ("edge", "pair", "match")
"""Values of `each` with as many calls as edges are kept."""


def _all_of(hears: Topology) -> Topology:
    """Return a layout of which what was said leaves no edge out; weights that are known before are weighed."""
    if not isinstance(hears, Sparse) or parse(hears.weight).names <= _SEATED:
        return hears
    return Sparse("1", Keep("all"), _all_of(hears.within))  # type: ignore[arg-type]  # a layout stays one


def known_choices(method: Method) -> frozenset[Choose]:
    """Return the choices that are the same in every debate: by the agents' places, where nobody else may have left."""
    found = frozenset(part for part in choices(method.schedule) if parse(part.weight).names <= _SEATED)
    leaves = {part for part in choices(method.schedule) if part.role in principal_roles(method)}
    return found if leaves <= found else frozenset()


def keeps_a_number(choice: Choose) -> bool:
    """Tell whether a choice keeps as many agents in every debate: no two of them draw the same number."""
    keep = choice.keep
    return keep.rule in ("top", "drop_bottom") and keep.floor is None and "chance" in parse(choice.weight).names


def parting(method: Method) -> frozenset[str]:
    """Return the roles that part those who speak by their templates, and in which nobody speaks or is heard."""
    steps = method.steps.values()
    spoken_or_heard = {role for step in steps for role in (step.role, *getattr(step.hears, "roles", ()))}
    return frozenset({role for step in steps for role in step.by_role} - spoken_or_heard - {*principal_roles(method)})


def _is_known(condition: str) -> bool:
    return condition == NEVER or parse(condition).names <= _KNOWN


def estimate_of(calls: Sequence[Asked], shared: int = 0) -> Estimate:
    """Estimate what calls cost, of which some are shared; no model reads or writes what is a tool's."""
    read = [asked for asked in calls if not asked.call.model.is_tool]
    return Estimate(
        calls=len(calls),
        input_tokens=sum(asked.input_tokens for asked in read),
        output_tokens=sum(asked.output_tokens for asked in read),
        dollars=_dollars(read),
        shared_calls=shared,
    )


def _dollars(calls: Sequence[Asked]) -> float | None:
    total = 0.0
    for call, read, written in calls:
        if not has_price(call.model):
            return None
        total += estimated_dollars(call.model, read, written)
    return total

"""Debates to learn from: alternative replies of a role at each of its turns, and what the debate makes of each of them.

A debate runs once as it is. At each reply of the role that learns it branches: the same prompt is sent again, guided
towards one answer and towards another, and from each of the three replies the debate continues for one more round,
several times. The value of the answers at the ends is computed elsewhere, since the engine has no gold answers. Debates
without guided replies only give prompts and the replies to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from cortexdsl.core import (
    BY_VOTES,
    NEVER,
    Call,
    Choose,
    Message,
    Method,
    Ports,
    Question,
    Repeat,
    Reply,
    SchedulePart,
    Turn,
)
from cortexdsl.engine.concurrency import gather_all
from cortexdsl.engine.methods import opens_round, schedule_parts
from cortexdsl.engine.run import run_debate
from cortexdsl.errors import InputError

BranchKind: TypeAlias = Literal["natural", "right", "wrong"]
BRANCH_KINDS: tuple[BranchKind, ...] = ("natural", "right", "wrong")
"""The origin of a reply: unguided, or guided towards the right answer or towards a wrong one."""
Guide: TypeAlias = Callable[[tuple[Message, ...]], tuple[Message, ...]]
"""Turns the messages of a prompt into messages that guide its reply."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A reply, and the last turns of the roll-outs from it: the next answers, one per sample."""

    turn: Turn
    endings: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """A turn of a debate at which it branches.

    Attributes
    ----------
    turn : int
        Its number, from 0.
    round : int
        The answers of debaters up to it, less one: the opening and the comment on it are round 0, as in the paper.
    prompt : messages
        The unguided prompt.
    responses : mapping of BranchKind to Branch
    """

    turn: int
    round: int
    prompt: tuple[Message, ...]
    responses: Mapping[BranchKind, Branch]


@dataclass(frozen=True, slots=True)
class TurnSequence:
    """The steps of the turns of a method that has one speaker at a time and no conditions.

    Attributes
    ----------
    steps : tuple of str
        Those of the method, then those of one more pass of its last loop, for the last roll-outs.
    length : int
        The number of turns of the method itself.
    """

    steps: tuple[str, ...]
    length: int


def turn_sequence(method: Method) -> TurnSequence:
    """Return the turns of a method.

    Raises
    ------
    InputError
        The turns are not known in advance: several agents speak in a step, a condition ends a loop, a role is chosen.
    """
    for part in schedule_parts(method.schedule):
        if isinstance(part, Choose):
            raise InputError(f"its protocol chooses a {part.role} during the debate")
        if isinstance(part, Repeat) and (part.until, part.unless) != (NEVER, NEVER):
            raise InputError("a condition may end its debates early")
        if isinstance(part, str):
            step = method.steps[part]
            if len(method.role_agents[step.role]) != 1 or step.each != "speaker" or step.samples != 1:
                raise InputError(f"in its step {part} not one agent speaks, once")
    steps = _flattened(method.schedule)
    loops = [part for part in method.schedule if isinstance(part, Repeat)]
    more = _flattened(loops[-1].body) if loops else ()
    if not any(opens_round(method, method.steps[name]) for name in more):
        raise InputError("its schedule has no loop in which somebody answers again, to roll out for one more round")
    return TurnSequence((*steps, *more), len(steps))


def _flattened(schedule: Sequence[SchedulePart]) -> tuple[str, ...]:
    steps: list[str] = []
    for part in schedule:
        if isinstance(part, Repeat):
            steps += _flattened(part.body) * part.times
        elif isinstance(part, str):
            steps.append(part)
    return tuple(steps)


def role_turns(method: Method, role: str) -> tuple[tuple[int, int], ...]:
    """Return the turns of a role, each with its round (see `BranchPoint`)."""
    sequence, round_, turns = turn_sequence(method), -1, []
    for turn, name in enumerate(sequence.steps[: sequence.length]):
        round_ += opens_round(method, method.steps[name])
        if method.steps[name].role == role:
            turns.append((turn, round_))
    return tuple(turns)


async def trajectory(
    method: Method,
    question: Question,
    ports: Ports,
    guides: Mapping[BranchKind, Guide],
    *,
    role: str,
    samples: int,
    seed: int,
) -> tuple[BranchPoint, ...]:
    """Run one debate and its branches (ACC-Debate, arXiv 2411.00053, Algorithm 1, for one of its two agents).

    The critic is guided at its comment on the actor's natural reply, so that both comments answer the same prompt.

    Parameters
    ----------
    method : Method
        One that `turn_sequence` accepts.
    question : Question
    ports : Ports
    guides : mapping of `right` and `wrong` to Guide
    role : str
        The role that learns.
    samples : int
        Roll-outs from each reply: the debate continues to the next answer. The k-th roll-outs of all three replies have
        the seeds of replicate k, so that they are paired; the debate itself has those of the first.
    seed : int

    Returns
    -------
    tuple of BranchPoint
        In order of the turns.
    """
    sequence = turn_sequence(method)
    branches = _Branches(method, question, ports, seed, sequence)
    natural, calls = await branches.natural()

    async def branch(turn: int, kind: BranchKind) -> Branch:
        before = natural[:turn]
        reply = natural[turn] if kind == "natural" else await branches.guided(before, guides[kind])
        return Branch(
            reply, tuple(await gather_all([branches.ending((*before, reply), k) for k in range(1, samples + 1)]))
        )

    async def branch_point(turn: int, round_: int) -> BranchPoint:
        branches_here = await gather_all([branch(turn, kind) for kind in BRANCH_KINDS])
        return BranchPoint(turn, round_, calls[turn].messages, dict(zip(BRANCH_KINDS, branches_here, strict=True)))

    return tuple(await gather_all([branch_point(*place) for place in role_turns(method, role)]))


async def unguided(
    method: Method, question: Question, ports: Ports, *, role: str, samples: int, seed: int
) -> tuple[tuple[BranchPoint, ...], tuple[str | None, ...]]:
    """Run whole debates; return the answers of a role, each with its prompt, and how each debate decided.

    Parameters
    ----------
    method : Method
    question : Question
    ports : Ports
    role : str
        The role that learns.
    samples : int
        The number of debates; the k-th has the seeds of replicate k.
    seed : int

    Returns
    -------
    (tuple of BranchPoint, tuple of str or None)
        Each place has its natural reply, which is its own ending. Their numbers count the answers of all debates.
    """
    prompts: dict[str, tuple[Message, ...]] = {}

    async def ask(call: Call) -> Reply:
        reply = await ports.ask(call)
        prompts[reply.key] = call.messages
        return reply

    plain, through = _plain(method), replace(ports, ask=ask)
    runs = [run_debate(plain, question, through, seed=seed, replicate=k) for k in range(1, samples + 1)]
    debates = await gather_all(runs)
    said = [turn for debate in debates for turn in debate.turns if is_answer_of(role, method, turn.step)]
    points = [
        BranchPoint(number, turn.round, prompts[turn.call], {"natural": Branch(turn, (turn,))})
        for number, turn in enumerate(said)
    ]
    return tuple(points), tuple(debate.answer for debate in debates)


def is_answer_of(role: str, method: Method, step: str) -> bool:
    """Return whether a role answers in a step, with its own model."""
    found = method.steps[step]
    return found.role == role and found.reads == "answer" and found.model is None


def _plain(method: Method) -> Method:
    """Return a method without what comes after the whole debate: how sure it is, and who answers if it is not."""
    return replace(method, debate_confidence=BY_VOTES, defer=None)


@dataclass(frozen=True, slots=True)
class _Branches:
    """The debates of one question: the whole one, and its branches."""

    method: Method
    question: Question
    ports: Ports
    seed: int
    sequence: TurnSequence

    async def natural(self) -> tuple[tuple[Turn, ...], list[Call]]:
        """Return the turns of the unguided debate, and their calls."""
        calls: list[Call] = []

        async def ask(call: Call) -> Reply:
            calls.append(call)
            return await self.ports.ask(call)

        turns = await self._turns(self.sequence.length, replace(self.ports, ask=ask))
        return turns, calls

    async def guided(self, before: Sequence[Turn], guide: Guide) -> Turn:
        """Return the guided reply after some turns."""
        rendered = 0

        def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
            nonlocal rendered  # one speaker at a time: one prompt per turn, also for given turns
            messages, is_guided = self.ports.render(prompt, view), rendered == len(before)
            rendered += 1
            return guide(messages) if is_guided else messages

        return (await self._turns(len(before) + 1, replace(self.ports, render=render), before))[-1]

    async def ending(self, before: Sequence[Turn], replicate: int) -> Turn:
        """Return the next answer after some turns."""
        steps = self.sequence.steps
        end = next(k for k in range(len(before), len(steps)) if opens_round(self.method, self.method.steps[steps[k]]))
        return (await self._turns(end + 1, self.ports, before, replicate))[-1]

    async def _turns(
        self, length: int, ports: Ports, before: Sequence[Turn] = (), replicate: int = 1
    ) -> tuple[Turn, ...]:
        method = replace(_plain(self.method), schedule=self.sequence.steps[:length])
        finished = await run_debate(method, self.question, ports, seed=self.seed, replicate=replicate, given=before)
        return finished.turns

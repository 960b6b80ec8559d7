"""Debates to learn from: at each reply of a role, what else might have been said, and where each of them leads.

Pure, as the engine is. A debate is run once as it is; at a reply of the role that learns it branches: the same reply
is asked for again, guided towards one answer and towards another, and from each of the three the debate goes on for one
more round, several times. What the answers at those ends are worth is for others to say: no gold comes in here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from cortexdsl.debate.engine import debate
from cortexdsl.debate.roles import opens_round, parts
from cortexdsl.debate.together import all_of
from cortexdsl.errors import InputError
from cortexdsl.terms import NEVER, Call, Choose, Hands, Item, Message, Method, Question, Repeat, Reply, Turn

Way: TypeAlias = Literal["natural", "right", "wrong"]
WAYS: tuple[Way, ...] = ("natural", "right", "wrong")
"""How a reply came about: as it comes, or guided towards the right or towards a wrong answer."""
Guide: TypeAlias = Callable[[tuple[Message, ...]], tuple[Message, ...]]
"""Turns the messages of a prompt into those that guide its reply."""


@dataclass(frozen=True, slots=True)
class Response:
    """A reply, and the turns with which the roll-outs from it ended: the next answers, one a sample."""

    turn: Turn
    endings: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """A place of a debate at which a role replied.

    Attributes
    ----------
    turn : int
        Of the debate, from 0.
    round : int
        Answers of debaters before it and with it, less one: the opening and the comment on it are of round 0, as the
        paper counts.
    prompt : messages
        As the speaker was asked, not guided.
    responses : mapping of Way to Response
    """

    turn: int
    round: int
    prompt: tuple[Message, ...]
    responses: Mapping[Way, Response]


@dataclass(frozen=True, slots=True)
class Course:
    """The turns of a method that has one speaker at a time and no condition: which step each is of.

    Attributes
    ----------
    steps : tuple of str
        As the method speaks them, and then one more pass of its last loop, for the last roll-outs.
    length : int
        How many of them the method speaks.
    """

    steps: tuple[str, ...]
    length: int


def course_of(method: Method) -> Course:
    """Lay out the turns of a method.

    Raises
    ------
    InputError
        It is not known beforehand who speaks when: several speak in a step, a condition ends a loop, a role is chosen.
    """
    for part in parts(method.schedule):
        if isinstance(part, Choose):
            raise InputError(f"its protocol chooses a {part.role} during the debate")
        if isinstance(part, Repeat) and (part.until, part.unless) != (NEVER, NEVER):
            raise InputError("a condition may end its debates early")
        if isinstance(part, str):
            step = method.steps[part]
            if len(method.cast[step.role]) != 1 or step.each != "speaker" or step.draws != 1:
                raise InputError(f"in its step {part} not one agent speaks, once")
    if method.rounds_cap is not None:
        raise InputError("its rounds are capped (ends)")
    steps = _laid_out(method.schedule)
    loops = [part for part in method.schedule if isinstance(part, Repeat)]
    more = _laid_out(loops[-1].body) if loops else ()
    if not any(opens_round(method, method.steps[name]) for name in more):
        raise InputError("its schedule has no loop in which somebody answers again, to roll out for one more round")
    return Course((*steps, *more), len(steps))


def _laid_out(schedule: Sequence[Item]) -> tuple[str, ...]:
    found: list[str] = []
    for part in schedule:
        if isinstance(part, Repeat):
            found += _laid_out(part.body) * part.times
        elif isinstance(part, str):
            found.append(part)
    return tuple(found)


def places_of(method: Method, role: str, *, opening: bool) -> tuple[tuple[int, int], ...]:
    """Return the turns in which a role speaks, each with its round (see `Moment`); without round 0 unless `opening`."""
    course, round_, found = course_of(method), -1, []
    for turn, name in enumerate(course.steps[: course.length]):
        round_ += opens_round(method, method.steps[name])
        if method.steps[name].role == role and (opening or round_ > 0):
            found.append((turn, round_))
    return tuple(found)


async def trajectory(
    method: Method,
    question: Question,
    hands: Hands,
    guides: Mapping[Way, Guide],
    *,
    role: str,
    samples: int,
    seed: int,
    opening: bool = True,
) -> tuple[Moment, ...]:
    """Run one debate and what branches from it (ACC-Debate, arXiv 2411.00053, Algorithm 1, for one of its two agents).

    The critic is guided where it comments on the actor's natural reply, so that both comments answer one prompt.

    Parameters
    ----------
    method : Method
        One that `course_of` can lay out.
    question : Question
    hands : Hands
    guides : mapping of `right` and `wrong` to Guide
    role : str
        Who learns.
    samples : int
        Roll-outs from each reply: the debate goes on to the next answer. The k-th of all three replies have the seeds
        of replicate k, so that they share the luck of the draw; the debate itself has those of the first.
    seed : int
    opening : bool
        Also at the replies of round 0.

    Returns
    -------
    tuple of Moment
        In the order of the turns.
    """
    course = course_of(method)
    run = _Runs(method, question, hands, seed, course)
    natural, calls = await run.natural()

    async def response(turn: int, way: Way) -> Response:
        before = natural[:turn]
        said = natural[turn] if way == "natural" else await run.guided(before, guides[way])
        return Response(said, tuple(await all_of([run.ending((*before, said), k) for k in range(1, samples + 1)])))

    async def moment(turn: int, round_: int) -> Moment:
        found = await all_of([response(turn, way) for way in WAYS])
        return Moment(turn, round_, calls[turn].messages, dict(zip(WAYS, found, strict=True)))

    return tuple(await all_of([moment(*place) for place in places_of(method, role, opening=opening)]))


@dataclass(frozen=True, slots=True)
class _Runs:
    """The debates of one question: cut where they branch, gone on with where they were cut."""

    method: Method
    question: Question
    hands: Hands
    seed: int
    course: Course

    async def natural(self) -> tuple[tuple[Turn, ...], list[Call]]:
        """Return the turns of the debate as it is, and their calls."""
        calls: list[Call] = []

        async def ask(call: Call) -> Reply:
            calls.append(call)
            return await self.hands.ask(call)

        turns = await self._turns(self.course.length, replace(self.hands, ask=ask))
        return turns, calls

    async def guided(self, before: Sequence[Turn], guide: Guide) -> Turn:
        """Return the reply that comes after some turns, guided."""
        rendered = 0

        def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
            nonlocal rendered  # one speaker at a time: a prompt a turn, those of given turns among them
            messages, is_guided = self.hands.render(prompt, view), rendered == len(before)
            rendered += 1
            return guide(messages) if is_guided else messages

        return (await self._turns(len(before) + 1, replace(self.hands, render=render), before))[-1]

    async def ending(self, before: Sequence[Turn], replicate: int) -> Turn:
        """Return the next answer after some turns."""
        steps = self.course.steps
        end = next(k for k in range(len(before), len(steps)) if opens_round(self.method, self.method.steps[steps[k]]))
        return (await self._turns(end + 1, self.hands, before, replicate))[-1]

    async def _turns(
        self, length: int, hands: Hands, before: Sequence[Turn] = (), replicate: int = 1
    ) -> tuple[Turn, ...]:
        method = replace(self.method, schedule=self.course.steps[:length])
        done = await debate(method, self.question, hands, seed=self.seed, replicate=replicate, given=before)
        return done.turns

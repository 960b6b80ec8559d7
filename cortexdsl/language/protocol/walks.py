"""Walks through the text of a protocol: its items and expressions with their routes, and roles that surely answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeVar

from cortexdsl.core import KEEP_TRUE, NEVER, Choose, Sparse, TurnFilter
from cortexdsl.language.grammar.protocol import ProtocolText
from cortexdsl.language.grammar.schedule import CaseText, LoopText
from cortexdsl.language.nodes import Route

T = TypeVar("T")


def walk(items: Iterable[object], route: Route = ("schedule",)) -> Iterator[tuple[object, Route]]:
    """Yield every item of a schedule with its route; a loop or case comes before the items in it."""
    for i, item in enumerate(items):
        yield item, (*route, i)
        if isinstance(item, LoopText):
            yield from walk(item.do, (*route, i, "do"))
        elif isinstance(item, CaseText):
            for branch, body in item.do.items():
                yield from walk(body, (*route, i, "do", branch))


def items_of(kind: type[T], text: ProtocolText) -> Iterator[tuple[T, Route]]:
    """Yield the items of a kind with their routes: `str` for steps, `LoopText`, `CaseText`, `Choose`."""
    for item, route in walk(text.schedule):
        if isinstance(item, kind):
            yield item, route


def weights_of(hears: object) -> tuple[str, ...]:
    """Return the weights of a topology, the innermost first; a condition is one, too."""
    return (*weights_of(hears.within), hears.weight) if isinstance(hears, Sparse) else ()


def conditions(text: ProtocolText) -> Iterator[tuple[str, Route]]:
    """Yield the conditions of a schedule with their routes: those that skip items, and those that end loops."""
    for item, route in walk(text.schedule):
        if isinstance(item, LoopText):
            yield from ((item.unless, (*route, "if")), (item.until, (*route, "until")))


def expressions(text: ProtocolText) -> Iterator[tuple[str, Route]]:
    """Yield the expressions of a protocol with their routes."""
    for name, step in text.steps.items():
        yield from ((text, ("steps", name, "hears")) for text in weights_of(step.hears))
        for word, each in (*(("shows", turns) for turns in step.shows), ("memory", step.memory)):
            if isinstance(each, TurnFilter) and each.where:
                yield each.where, ("steps", name, word)
    for choice, route in items_of(Choose, text):
        yield choice.weight, (*route, "where" if choice.keep == KEEP_TRUE else "weight")
    yield from ((condition, route) for condition, route in conditions(text) if condition not in (NEVER, "approved"))
    if text.decide.weight:
        yield text.decide.weight, ("decide", "vote")


@dataclass(frozen=True, slots=True)
class _Course:
    """Facts that hold at one point of a schedule.

    Attributes
    ----------
    answered : set of str
        Roles in which all their players have answered.
    empty : set of str
        Roles that may have no players.
    """

    answered: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()

    def or_else(self, other: _Course) -> _Course:
        """Return what is certain if either of two courses may have happened."""
        return _Course(self.answered & other.answered, self.empty | other.empty)


def roles_with_answer(text: ProtocolText, *, as_cast: bool = False) -> frozenset[str]:
    """Return the roles that have an answer at the end of every debate of a protocol.

    With `as_cast`: if no choice changed who plays a role.
    """
    return _after(text, text.schedule, _Course(), as_cast).answered


def _after(text: ProtocolText, items: Iterable[object], course: _Course, as_cast: bool) -> _Course:
    for item in items:
        if isinstance(item, LoopText):
            once = _after(text, item.do, course, as_cast)
            again = once.or_else(_after(text, item.do, once, as_cast))
            course = again if item.unless == NEVER else course.or_else(again)
        elif isinstance(item, CaseText):
            course = reduce(_Course.or_else, [_after(text, body, course, as_cast) for body in item.do.values()])
        elif isinstance(item, Choose):
            course = course if as_cast else _filled(text, item, course)
        elif item in text.steps and text.steps[str(item)].reads[0] == "answer":
            course = replace(course, answered=course.answered | {text.steps[str(item)].role} - course.empty)
    return course


def _filled(text: ProtocolText, choice: Choose, course: _Course) -> _Course:
    """Return what is certain after a choice: it may leave the role empty, or give it to other agents."""
    role, source = choice.role, choice.source
    is_empty = choice.keep.may_keep_nobody or source in course.empty
    lost = {role} if is_empty or source != role else set()
    empty = course.empty | {role} if is_empty else course.empty - {role}
    # Agents that leave a role also leave the roles that were chosen from it.
    lesser = {other.role for other, _ in items_of(Choose, text) if other.source == role}
    lesser -= {role}
    return _Course(course.answered - lost - lesser, empty | lesser)

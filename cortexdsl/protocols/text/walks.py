"""Walks through a protocol as it is written: its steps, choices, loops and expressions, and where each stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cortexdsl.spec.grammar.protocols.hears import SparseForm, WhereForm
from cortexdsl.spec.grammar.protocols.protocol import BallotForm, ProtocolText
from cortexdsl.spec.grammar.protocols.schedule import CaseText, ChooseText, LoopText
from cortexdsl.spec.grammar.protocols.steps import OwnTold
from cortexdsl.spec.text.nodes import Route
from cortexdsl.terms import NEVER


def passed(items: Iterable[object], route: Route = ("schedule",)) -> Iterator[tuple[str, Route]]:
    """Yield the steps of a schedule, loops and all, with the routes where they stand."""
    for i, item in enumerate(items):
        if isinstance(item, LoopText):
            yield from passed(item.do, (*route, i, "do"))
        elif isinstance(item, CaseText):
            for branch, body in item.do.items():
                yield from passed(body, (*route, i, "do", branch))
        elif not isinstance(item, ChooseText):
            yield str(item), (*route, i)


def choices(items: Iterable[object], route: Route = ("schedule",)) -> Iterator[tuple[ChooseText, Route]]:
    """Yield the choices of a schedule, with the routes where they stand."""
    for i, item in enumerate(items):
        if isinstance(item, ChooseText):
            yield item, (*route, i)
        elif isinstance(item, LoopText):
            yield from choices(item.do, (*route, i, "do"))
        elif isinstance(item, CaseText):
            for branch, body in item.do.items():
                yield from choices(body, (*route, i, "do", branch))


def loops(items: Iterable[object], route: Route = ("schedule",)) -> Iterator[tuple[LoopText, Route]]:
    """Yield the loops of a schedule, inner ones after those that hold them, with the routes where they stand."""
    for i, item in enumerate(items):
        if isinstance(item, LoopText):
            yield item, (*route, i)
            yield from loops(item.do, (*route, i, "do"))
        elif isinstance(item, CaseText):
            for branch, body in item.do.items():
                yield from loops(body, (*route, i, "do", branch))


def expressions(text: ProtocolText) -> Iterator[tuple[str, Route]]:
    """Yield the expressions of a protocol, with the routes where they stand."""
    for name, step in text.steps.items():
        if isinstance(step.hears, SparseForm):
            yield step.hears.sparse.weight, ("steps", name, "hears")
        if isinstance(step.hears, WhereForm):
            yield step.hears.where, ("steps", name, "hears")
        for word, each in (*(("tells", told) for told in step.tells), ("own", step.own)):
            if isinstance(each, OwnTold) and each.where:
                yield each.where, ("steps", name, word)
    for choice, route in choices(text.schedule):
        yield (choice.where or choice.weight or "1"), (*route, "weight" if choice.where is None else "where")
    for loop, route in loops(text.schedule):
        for word in ("unless", "until"):
            if getattr(loop, word) not in (NEVER, "agreed"):
                yield getattr(loop, word), (*route, word)
    if isinstance(text.decide, BallotForm):
        yield text.decide.vote, ("decide", "vote")

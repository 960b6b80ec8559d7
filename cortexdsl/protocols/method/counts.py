"""Counts of agents that a protocol writes: how many are kept, and how far a ring reaches, against who is there.

A count above that changes nothing. One may be meant as an upper bound, for teams of several sizes: so each is judged at
the place where it was written, over all arms that it is put into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from cortexdsl.debate.roles import choices, members
from cortexdsl.errors import Problem
from cortexdsl.protocols.text import walks
from cortexdsl.spec.grammar.protocols.protocol import ProtocolText
from cortexdsl.spec.text.nodes import Mark, Node, Route
from cortexdsl.terms import Keep, Method, Ring, Sparse, Topology


@dataclass(frozen=True, slots=True)
class Count:
    """A count in one arm.

    Attributes
    ----------
    mark : Mark
        Where it was written.
    excess : Problem or None
        What is told where it is larger than who is there.
    """

    mark: Mark
    excess: Problem | None


def counts(method: Method, text: ProtocolText, node: Node, called: Callable[[Route], str]) -> Iterator[Count]:
    """Yield the counts of a method.

    Parameters
    ----------
    method : Method
    text : ProtocolText
        What it was made of.
    node : Node
        The same with positions.
    called : function
        What messages call the value at a route of the protocol.
    """

    def count(route: Route, said: tuple[str, str] | None) -> Count:
        mark = node.where(route)
        return Count(mark, said and Problem(str(mark), f"{called(route)}: {said[0]}", said[1]))

    for name, step in method.steps.items():
        others = max(len({one.name for one in members(method)} - {who.name}) for who in method.cast[step.role])
        for route, said in _heard(step.hears, others, ("steps", name, "hears"), node):
            yield count(route, said)
    for choice, route in walks.choices(text.schedule):
        standing = _most_standing(method, choice.from_ or choice.choose)
        if choice.where is None and standing:
            keep = choice.term().keep
            yield count((*route, "keep", keep.rule), _chosen(keep, standing))


def _heard(hears: Topology, others: int, route: Route, node: Node) -> Iterator[tuple[Route, tuple[str, str] | None]]:
    """Yield the counts of a layout: the route of each, and what is too much of it."""
    match hears:
        case Ring(reach):
            furthest = (others + 1) // 2
            what = f"who is {furthest} away is the furthest of {others + 1} agents"
            yield (*route, "ring"), (what, f"at most {furthest}, or hears: everyone") if reach > furthest else None
        case Sparse(keep=keep, within=within):
            if keep.rule == "top":
                what = f"{keep.number:g} are kept, and {others} others can be heard"
                remedy = f"at most {others} with {others + 1} agents, or keep: all"
                yield (*route, "sparse", "keep", "top"), (what, remedy) if (keep.number or 0) > others else None
            form = (*route, "sparse") if node.find((*route, "sparse")) else route  # else {where: ..., within: ...}
            yield from _heard(within, others, (*form, "within"), node)


def _chosen(keep: Keep, standing: int) -> tuple[str, str] | None:
    """Return what is too much of the count of a choice, and the remedy."""
    number = keep.number or 0
    if keep.rule == "top" and number > standing:
        return f"{number:g} are kept, and {standing} stand", f"at most {standing}, or keep: all"
    if keep.rule == "drop_bottom" and number >= standing:
        return f"{number:g} of the {standing} that stand are dropped", f"at most {standing - 1}"
    return None


def _most_standing(method: Method, role: str) -> int:
    """Return how many may stand for a choice: the players of the role, or those of a role that it is chosen from."""
    found = {role}
    while more := {each.source for each in choices(method.schedule) if each.role in found} - found:
        found |= more
    return max(len(method.cast.get(each, ())) for each in found)


def excessive(found: Iterable[Count]) -> list[Problem]:
    """Return what is told of counts that are too large in every arm."""
    by_mark: dict[Mark, list[Problem | None]] = {}
    for count in found:
        by_mark.setdefault(count.mark, []).append(count.excess)
    return [told[0] for told in by_mark.values() if told[0] is not None and all(told)]

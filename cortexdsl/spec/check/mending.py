"""What of a text can still be judged: a value that is wrong gives way to a stand-in, and what leans on it is doubtful.

So that everything wrong in a spec is told in one go, and nothing that only follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from cortexdsl.spec.check.problems import Wrong, placed
from cortexdsl.spec.text.messages import dotted
from cortexdsl.spec.text.nodes import Found, Mark, Node, Route

E = TypeVar("E", bound=BaseModel)

PASSES = 12
"""A stand-in may itself be out of place (a model's name beside an address), once or twice a level."""

_FOLLOWING = ("missing", "too_short")
"""What taking a value away leaves behind."""

StandIns = Mapping[Route, Any]
"""Where a value may be wrong (`*`: any key) -> what is judged in its place; where there is none it is left out."""


@dataclass(frozen=True, slots=True)
class Doubtful:
    """What was wrong, by route: names that lean on it are not judged.

    Attributes
    ----------
    routes : frozenset of Route
    """

    routes: frozenset[Route] = frozenset()

    def has(self, *route: str | int) -> bool:
        """Tell whether a section or entry, or anything in it, was wrong."""
        return any(wrong[: len(route)] == route or route[: len(wrong)] == wrong for wrong in self.routes)

    @property
    def unnamed(self) -> bool:
        """Whether an agent's name was wrong: any unknown one may be meant."""
        return any(wrong[:1] == ("agents",) and wrong[2:] in ((), ("name",)) for wrong in self.routes)

    def with_(self, *routes: Route) -> Doubtful:
        """Return it with more routes."""
        return Doubtful(self.routes | set(routes))


@dataclass(frozen=True, slots=True)
class Mended(Generic[E]):
    """A checked text, the nodes that it was made of, what was wrong, and where.

    `text` is None where nothing was left to check.
    """

    text: E | None
    node: Node
    problems: tuple[Found, ...]
    doubtful: Doubtful


def mend(
    entry: type[E],
    node: Node,
    stand_ins: StandIns,
    called: Callable[[Route], str] = dotted,
    doubtful: Doubtful = Doubtful(),
) -> Mended[E]:
    """Check a node against a type of the language, and go on beyond what is wrong.

    Parameters
    ----------
    entry : type
        A pydantic model.
    node : Node
    stand_ins : mapping
    called : function
        What a message calls the value at a route below the node.
    doubtful : Doubtful
        What is known to be wrong already: nothing more is told of it.
    """
    told: list[Found] = []
    for attempt in range(PASSES):
        try:
            return Mended(entry.model_validate(node.plain()), node, tuple(told), doubtful)
        except ValidationError as error:
            found = placed(node, called, error)
        for wrong in found:
            above = any(known == wrong.route[: len(known)] for known in doubtful.routes)
            follows = attempt and (wrong.kind in _FOLLOWING or doubtful.has(*wrong.route))
            if not above and not follows:
                told.append(wrong.told)
        if any(wrong.route == () and wrong.kind == "no_mapping" for wrong in found):
            break
        # A word too many says nothing of the others, but in a choice it may be what should have been another.
        worse = [wrong for wrong in found if wrong.kind != "unknown_key" or wrong.route[:1] == ("schedule",)]
        doubtful = doubtful.with_(*(_entry(wrong.route) for wrong in worse if not wrong.meant))
        for wrong in sorted(found, key=_deepest_last_first, reverse=True):
            node = _renamed(node, wrong) if wrong.meant else without(node, wrong.route, stand_ins)
    return Mended(None, node, tuple(told), doubtful)


def _entry(route: Route) -> Route:
    """Keep as much of a route as names an entry and a word of it."""
    return route[:4] if route[:2] == ("analysis", "families") else route[:3]


def _deepest_last_first(wrong: Wrong) -> tuple[int, tuple[tuple[int, str], ...]]:
    return len(wrong.route), tuple((part, "") if isinstance(part, int) else (0, part) for part in wrong.route)


def _renamed(node: Node, wrong: Wrong) -> Node:
    """Return a node in which a misspelled key is the one that was meant."""
    above, key = node.find(wrong.route[:-1]), str(wrong.route[-1])
    value = node.find(wrong.route)
    node = changed(node, wrong.route, _GONE)
    if above is None or value is None or wrong.meant in above.mapping():
        return node
    return changed(node, (*wrong.route[:-1], wrong.meant), value, above.key_mark((key,)))


def without(node: Node, route: Route, stand_ins: StandIns) -> Node:
    """Return a node with the value at a route replaced by its stand-in, or left out where it has none.

    What is missing and has no stand-in takes along what it is missing from.
    """
    while route and not _has(route, stand_ins) and node.find(route) is None:
        route = route[:-1]
    return changed(node, route, _stand_in(route, stand_ins) if _has(route, stand_ins) else _GONE)


_GONE = object()


def changed(node: Node, route: Route, value: Any, at: Mark | None = None) -> Node:
    """Return a node with another value at a route; positions stay."""
    if not route:
        return _node(None if value is _GONE else value, node)
    (key, *rest), below = route, tuple(route[1:])
    if isinstance(node.value, dict):
        entries = dict(node.value)
        if rest and str(key) in entries:
            entries[str(key)] = changed(entries[str(key)], below, value, at)
        elif value is not _GONE:
            entries[str(key)] = _node(value, entries.get(str(key), node))
        else:
            entries.pop(str(key), None)
        keys = node.keys if at is None or rest else {**node.keys, str(key): at}
        return Node(entries, node.mark, keys, node.size)
    if isinstance(node.value, list) and isinstance(key, int) and key < len(node.value):
        items = list(node.value)
        items[key : key + 1] = [] if not rest and value is _GONE else [
            changed(items[key], below, value, at) if rest else _node(value, items[key])
        ]  # fmt: skip
        return Node(items, node.mark, node.keys, node.size)
    return node


def _matching(route: Route, stand_ins: StandIns) -> Route | None:
    for pattern in stand_ins:
        if len(pattern) == len(route) and all(p in ("*", part) for p, part in zip(pattern, route, strict=True)):
            return pattern
    return None


def _has(route: Route, stand_ins: StandIns) -> bool:
    return _matching(route, stand_ins) is not None


def _stand_in(route: Route, stand_ins: StandIns) -> Any:
    found = _matching(route, stand_ins)
    value = None if found is None else stand_ins[found]
    return value(route) if callable(value) else value


def _node(value: Any, there: Node) -> Node:
    """Return plain values as nodes that all stand where another did."""
    if isinstance(value, Node):
        return value
    if isinstance(value, dict):
        entries = {key: _node(item, there) for key, item in value.items()}
        return Node(entries, there.mark, dict.fromkeys(entries, there.mark), 1 + len(entries))
    if isinstance(value, list):
        return Node([_node(item, there) for item in value], there.mark)
    return Node(value, there.mark)

"""Values with their places in a file, and how messages show values and routes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from cortexdsl.core import EMPTY, Scalar
from cortexdsl.errors import Problem, SpecError, nearest

Route: TypeAlias = tuple[str | int, ...]
"""The keys and list positions that lead to a value: `("methods", "sparse", "keep")`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


PlacedProblem: TypeAlias = tuple[Mark, Problem]
"""A problem and its place, by which problems are sorted."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its position.

    Attributes
    ----------
    value : scalar, list of Node, or dict of str to Node
    mark : Mark
    keys : mapping of str to Mark
        Positions of the keys of a mapping.
    size : int
        Number of nodes below and including this one; aliases count at each use.
    """

    value: Scalar | list[Node] | dict[str, Node]
    mark: Mark
    keys: Mapping[str, Mark] = field(default_factory=lambda: EMPTY)
    size: int = 1

    def plain(self) -> Any:
        """Return the value without positions."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def mapping(self) -> dict[str, Node]:
        """Return the entries of a mapping; none if the value is not a mapping."""
        return self.value if isinstance(self.value, dict) else {}

    def with_entry(self, key: str, node: Node) -> Node:
        """Return the mapping with another value of a key."""
        return Node({**self.mapping(), key: node}, self.mark, self.keys, self.size)

    def find(self, route: Route) -> Node | None:
        """Return the node at a route, None if there is none."""
        node: Node | None = self
        for part in route:
            if node is None:
                return None
            if isinstance(node.value, dict):
                node = node.value.get(str(part))
            elif isinstance(node.value, list) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
            else:
                node = None
        return node

    def where(self, route: Route) -> Mark:
        """Return the position of the value at a route, else of the nearest value above it."""
        for end in range(len(route), 0, -1):
            node = self.find(route[:end])
            if node is not None:
                return node.mark
        return self.mark

    def key_mark(self, route: Route) -> Mark:
        """Return the position of the last key of a route; for an item of a list, that of the item."""
        above = self.find(route[:-1]) if route else None
        if above is not None and route[-1] in above.keys:
            return above.keys[str(route[-1])]
        return self.where(route)


@dataclass(frozen=True, slots=True)
class ProblemAt:
    """Returns problems at the values of a text.

    Attributes
    ----------
    node : Node
    called : function
        What messages call the value at a route.
    """

    node: Node
    called: Callable[[Route], str]

    def __call__(self, route: Route, what: str, remedy: str = "", *, key: bool = False) -> PlacedProblem:
        """Return the place and the problem; with `key`, the place of the key."""
        mark = self.node.key_mark(route) if key else self.node.where(route)
        return mark, Problem(str(mark), f"{self.called(route)}: {what}", remedy)

    def unknown(
        self, route: Route, kind: str, name: str, known: Iterable[str], remedy: str = "", *, key: bool = False
    ) -> Iterator[PlacedProblem]:
        """Yield the problem of a name that is not known; the remedy is a similar name unless it is given."""
        if name not in known:
            yield self(route, f"there is no {kind} {name}", remedy or nearest(name, known, say=f"{kind}s"), key=key)


def refuse(mark: Mark | str, what: str, remedy: str = "") -> NoReturn:
    """Raise one problem as a SpecError."""
    raise SpecError([Problem(str(mark), what, remedy)])


def in_order(problems: Iterable[PlacedProblem]) -> Sequence[Problem]:
    """Return problems sorted by file and place, each once."""
    ranked = sorted(problems, key=lambda each: (each[0].file, each[0].line, each[0].column))
    return tuple(dict.fromkeys(problem for _, problem in ranked))


def refuse_all(problems: Iterable[PlacedProblem]) -> None:
    """Raise the problems of one stage together as a SpecError; later stages can rely on what is valid here."""
    if listed := in_order(problems):
        raise SpecError(listed)


def shown(value: Any) -> str:
    """Return a value as a message shows it: short, on one line."""
    if value is None:
        return "empty"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else ("a mapping" if isinstance(value, dict) else "a list")


def dotted(route: Route) -> str:
    """Return a route for messages: `agents[2].model`, items counted from 1."""
    text = ""
    for part in route:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text

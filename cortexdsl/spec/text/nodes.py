"""Values that remember where they were written: what YAML text is read into, before anything is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from cortexdsl.errors import Problem, SpecError
from cortexdsl.terms import EMPTY, Scalar

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


Found: TypeAlias = tuple[Mark, Problem]
"""A problem and its place, to be put in the order of the text."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it was written.

    Attributes
    ----------
    value : scalar, list of Node, or dict of str to Node
    mark : Mark
    keys : mapping of str to Mark
        Where the keys of a mapping were written.
    size : int
        Nodes below and with this one, aliases counted wherever they are used.
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
        """Return the entries of a mapping; nothing where the value is no mapping."""
        return self.value if isinstance(self.value, dict) else {}

    def find(self, route: Route) -> Node | None:
        """Return the node at a route; None where there is none."""
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
        """Return where the value at a route was written, or else the nearest thing above it."""
        for end in range(len(route), 0, -1):
            found = self.find(route[:end])
            if found is not None:
                return found.mark
        return self.mark

    def key_mark(self, route: Route) -> Mark:
        """Return where the key that ends a route was written; for a list item, where the item was."""
        above = self.find(route[:-1]) if route else None
        if above is not None and route[-1] in above.keys:
            return above.keys[str(route[-1])]
        return self.where(route)


def refuse(mark: Mark | str, what: str, remedy: str = "") -> NoReturn:
    """Raise one problem as a SpecError."""
    raise SpecError([Problem(str(mark), what, remedy)])

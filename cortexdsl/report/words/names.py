"""What cells are called where room is short: grouped by method, grid points by the axes that they change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Name:
    """A cell's place in a list.

    Attributes
    ----------
    cell : str
    method : str
        What stands before the bracket of a grid point, else the cell.
    point : str
        The axes and values in the bracket; empty for a base method.
    """

    cell: str
    method: str
    point: str

    @property
    def short(self) -> str:
        """The point where there is one (its method is its neighbour's), else the method."""
        return self.point or self.method

    @classmethod
    def of(cls, cell: str) -> Name:
        """Take a cell's name apart: `sparse[keep=median]` is method sparse at point `keep=median`."""
        method, bracket, rest = cell.partition("[")
        return cls(cell, method, rest.removesuffix("]")) if bracket else cls(cell, cell, "")


def grouped(cells: Iterable[str]) -> list[Name]:
    """Bring the cells of one method together, the base first, methods in order of appearance."""
    groups: dict[str, list[Name]] = {}
    for one in map(Name.of, cells):
        groups.setdefault(one.method, []).append(one)
    return [member for group in groups.values() for member in sorted(group, key=lambda one: bool(one.point))]

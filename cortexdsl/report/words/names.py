"""What cells are called where room is short: grouped by method, grid points by the axes that they change."""

from __future__ import annotations

import re
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


def folded(name: str, letters: int) -> str:
    """Write a long name on several lines, broken after its brackets and commas; what no break can help is cut."""
    lines = [""]
    for part in re.split(r"(?<=[\[,])(?!$)", name):
        if lines[-1] and len(lines[-1]) + len(part) > letters:
            lines.append("")
        lines[-1] += part
    return "\n".join(brief(line.strip(), letters + 6) for line in lines)


def brief(name: str, letters: int) -> str:
    """Cut a name that is too long for a figure."""
    return name if len(name) <= letters else f"{name[: letters - 1]}\u2026"


def slug(text: str) -> str:
    """Return text as a part of a file name."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text).strip("-") or "unnamed"

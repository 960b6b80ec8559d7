"""Display names of metrics, and short names of cells."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cortexdsl.core import by_key
from cortexdsl.core.columns import is_share
from cortexdsl.core.metrics import find_metric
from cortexdsl.numbers import Kind


@dataclass(frozen=True, slots=True)
class Wording:
    """Display names and number format of a metric: `title` heads a column or an axis, `noun` is for sentences.

    `summary` says in one line what it measures; empty for a score that only the table knows.
    """

    title: str
    noun: str
    kind: Kind
    summary: str


def wording(metric: str) -> Wording:
    """Return the display name of a metric; a score column that is not a registered metric keeps its name."""
    known = find_metric(metric)
    noun = (known.noun if known else "") or metric.replace("_", " ")
    kind: Kind = "share" if is_share(metric) else "dollars" if known and known.unit == "dollars" else "number"
    return Wording(noun[:1].upper() + noun[1:], noun, kind, known.summary if known else "")


@dataclass(frozen=True, slots=True)
class CellName:
    """A cell's place in a list: its method, and the axes and values of its grid point (empty for a base method)."""

    cell: str
    method: str
    point: str

    @classmethod
    def of(cls, cell: str) -> CellName:
        """Take a cell's name apart: `sparse[keep=median]` is method sparse at point `keep=median`."""
        method, bracket, rest = cell.partition("[")
        return cls(cell, method, rest.removesuffix("]")) if bracket else cls(cell, cell, "")


def group_by_method(cells: Iterable[str]) -> list[CellName]:
    """Bring the cells of one method together, the base first, methods in order of appearance."""
    groups = by_key((one.method, one) for one in map(CellName.of, cells))
    return [member for group in groups.values() for member in sorted(group, key=lambda one: bool(one.point))]


def shown_cells(cells: Iterable[str], most: int) -> list[CellName]:
    """Return the cells that a figure has room for: if there are more, those of no grid, or else the first ones."""
    names = group_by_method(cells)
    return names if len(names) <= most else [one for one in names if not one.point][:most] or names[:most]


def fold_name(name: str, letters: int) -> str:
    """Write a long name on several lines, broken after its brackets, signs and spaces, or else anywhere."""
    lines = [""]
    for part in re.split(r"(?<=[\[,:=_~ -])(?!$)", name):
        for piece in (part[start : start + letters] for start in range(0, len(part), letters)):
            if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > letters:
                lines.append("")
            lines[-1] += piece
    return "\n".join(line.strip() for line in lines)


def brief(name: str, letters: int) -> str:
    """Cut a name that is too long for a figure."""
    return name if len(name) <= letters else f"{name[: letters - 1]}\u2026"


def slug(text: str) -> str:
    """Return text as a part of a file name."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text).strip("-") or "unnamed"

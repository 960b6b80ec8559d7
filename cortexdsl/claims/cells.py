"""Cells as claims name them: their names, and their places on the axes of a grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from cortexdsl.claims.parser import parse_point
from cortexdsl.claims.values import Slice
from cortexdsl.core import EMPTY
from cortexdsl.errors import InputError

T = TypeVar("T")
TEAM_AXES = ("agents", "team")
"""The axis of a grid over teams; `team` in results of version 0.2."""


def split_team(axes: Mapping[str, T]) -> tuple[T | None, dict[str, T]]:
    """Return the value of the axis over teams, None if there is none, and the other axes."""
    rest = {axis: value for axis, value in axes.items() if axis not in TEAM_AXES}
    return next((axes[axis] for axis in TEAM_AXES if axis in axes), None), rest


@dataclass(frozen=True, slots=True)
class CellNames:
    """A cell of the plan.

    Attributes
    ----------
    cell, method : str
    aliases : tuple of str
        Further names of the cell; each may be another point of the grid.
    axes : mapping
        Grid axes and their values at this cell.
    """

    cell: str
    method: str = ""
    aliases: tuple[str, ...] = ()
    axes: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @property
    def points(self) -> tuple[tuple[str, Mapping[str, str]], ...]:
        """Every grid point of this cell, as method and axes, by all of its names."""
        named = [parse_point(name) for name in (self.cell, *self.aliases)]
        if self.axes:
            named.append((self.method, {axis: value_text(value) for axis, value in self.axes.items()}))
        return tuple((method, {a: value_text(v) for a, v in axes.items()}) for method, axes in named)


def value_text(value: Any) -> str:
    """Return a grid value as one word: `{top: 3}`, `top: 3` and `top-3` are equal, and so are 5 and 5.0."""
    if isinstance(value, Mapping):
        return ",".join(f"{key}-{value_text(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return f"[{','.join(map(value_text, value))}]"
    text = str(value).strip().strip("{}\"' ").replace(": ", "-").replace(":", "-").replace(" ", "")
    number = _number(text)
    return f"{number:g}" if number is not None else text.lower() if text in ("True", "False", "None") else text


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def cells_of(cells: Iterable[str]) -> tuple[CellNames, ...]:
    """Return arms made from the names of cells alone."""
    return tuple(CellNames(cell, parse_point(cell)[0]) for cell in dict.fromkeys(cells))


def find_cell(arms: Sequence[CellNames], name: str) -> CellNames:
    """Return the cell that a name means: a cell, an alias, a grid point, or a method that has one cell.

    Raises
    ------
    InputError
        No cell or several match; names the nearest.
    """
    for arm in arms:
        if name == arm.cell:
            return arm
    for arm in arms:
        if name in arm.aliases:
            return arm
    method, axes = parse_point(name)
    wanted = {axis: value_text(value) for axis, value in axes.items()}
    here = [arm for arm in arms if any(point == (method, wanted) for point in arm.points)]
    here = here or ([arm for arm in arms if arm.method == method] if not wanted else [])
    if len(here) == 1:
        return here[0]
    if here:
        raise InputError(f"{name!r} has {len(here)} cells; name one: {', '.join(arm.cell for arm in here)}")
    known = list(dict.fromkeys(known for arm in arms for known in (arm.cell, *arm.aliases, arm.method) if known))
    near = get_close_matches(name, known, 1)
    raise InputError(f"no cell {name!r}; " + (f"nearest: {near[0]}" if near else f"there are {', '.join(known)}"))


def levels_of(arms: Sequence[CellNames], part: Slice, axis: str) -> tuple[str, ...]:
    """Return the values of a free axis of a slice: as the claim orders them, else as numbers, else as they come."""
    if axis in part.levels:
        return tuple(map(value_text, part.levels[axis]))
    levels = dict.fromkeys(
        axes[axis] for arm in arms for method, axes in arm.points if method == part.method and axis in axes
    )
    if not levels:
        raise InputError(f"the grid of {part.method!r} has no axis {axis!r}{_axes_hint(arms, part.method)}")
    numbers = {value: _number(value) for value in levels}
    if all(number is not None for number in numbers.values()):
        return tuple(sorted(levels, key=float))
    return tuple(levels)


def cells_at(
    arms: Sequence[CellNames], part: Slice, point: Mapping[str, str]
) -> dict[tuple[tuple[str, str], ...], CellNames]:
    """Return the cells of a slice at values of its free axes, by the values of all other axes.

    Raises
    ------
    InputError
        There is none.
    """
    wanted = {axis: value_text(value) for axis, value in {**part.fixed, **point}.items()}
    cells = {}
    for arm in arms:
        for method, axes in arm.points:
            if method == part.method and wanted.items() <= axes.items():
                rest = tuple(sorted((a, v) for a, v in axes.items() if a not in wanted))
                cells[rest] = arm
    if not cells:
        where = ", ".join(f"{axis}={value}" for axis, value in wanted.items())
        raise InputError(f"{part.method!r} has no cell at {where}{_axes_hint(arms, part.method)}")
    return cells


def _axes_hint(arms: Sequence[CellNames], method: str) -> str:
    axes: dict[str, dict[str, None]] = {}
    for arm in arms:
        for name, point in arm.points:
            if name == method:
                for axis, value in point.items():
                    axes.setdefault(axis, {})[value] = None
    if not axes:
        methods = [name for arm in arms for name, _ in arm.points]
        near = get_close_matches(method, methods, 1)
        return f"; nearest method: {near[0]}" if near and near[0] != method else "; it has no grid"
    return "; its axes: " + ", ".join(f"{axis} ({', '.join(values)})" for axis, values in axes.items())

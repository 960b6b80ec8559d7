"""Families of a spec, by the cells that they compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from cortexdsl.errors import Problem, SpecError
from cortexdsl.spec.load import Spec
from cortexdsl.terms import Cell, Family


def resolve_families(spec: Spec, cells: Sequence[Cell]) -> tuple[Family, ...]:
    """Turn the names in `analysis.families` into cells.

    `all` is every cell, `grid` every cell of a grid, `grid.AXIS` those that vary that axis; the reference itself
    is left out. A method's name is its base cell.

    Raises
    ------
    SpecError
        A name that no cell has, or a family that compares nothing.
    """
    named = {name: cell.name for cell in cells for name in (cell.name, *cell.aliases)}
    problems: list[Problem] = []
    families = []
    for name, text in spec.text.analysis.families.items():
        route = ("analysis", "families", name)
        to = _found(spec, (*route, "to"), text.to, named, problems)
        words = (text.compare,) if isinstance(text.compare, str) else text.compare
        compare: list[str] = []
        for word in words:
            several = _several(word, cells)
            compare += several if several is not None else [_found(spec, (*route, "compare"), word, named, problems)]
        compare = [cell for cell in dict.fromkeys(compare) if cell not in (to, "")]
        if not compare and not problems:
            problems.append(spec.problem((*route, "compare"), f"family {name} compares {text.to} with nothing else"))
        families.append(Family(name, tuple(compare), to, text.correction or spec.text.analysis.correction))
    if problems:
        raise SpecError(problems)
    return tuple(families)


def _several(word: str, cells: Sequence[Cell]) -> list[str] | None:
    """Return the cells of `all`, `grid` or `grid.AXIS`; None for a name."""
    if word == "all":
        return [cell.name for cell in cells]
    if word == "grid":
        return [cell.name for cell in cells if cell.axes or cell.aliases]
    if word.startswith("grid."):
        axis = word.removeprefix("grid.")
        return [cell.name for cell in cells if axis in cell.axes or any(f"{axis}=" in alias for alias in cell.aliases)]
    return None


def _found(spec: Spec, route: tuple[str, ...], name: str, named: Mapping[str, str], problems: list[Problem]) -> str:
    if name in named:
        return named[name]
    near = get_close_matches(name, named, n=1)
    remedy = f"did you mean {near[0]}? " if near else ""
    problems.append(spec.problem(route, f"there is no cell {name!r}", f"{remedy}cells: {', '.join(named)}"))
    return ""

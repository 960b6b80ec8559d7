"""Families of a spec, by the cells that they compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cortexdsl.errors import Problem
from cortexdsl.spec.check.mending import Doubtful
from cortexdsl.spec.load import Spec
from cortexdsl.spec.text.messages import nearest
from cortexdsl.spec.text.nodes import Route
from cortexdsl.terms import Cell, Family


def judge_families(
    spec: Spec, cells: Sequence[Cell], doubtful: Doubtful
) -> tuple[tuple[Family, ...], tuple[Problem, ...]]:
    """Turn the names in `analysis.families` into cells.

    `all` is every cell, `grid` every cell of a grid, `grid.AXIS` those that vary that axis; the reference itself
    is left out of these. A method's name is its base cell.

    Parameters
    ----------
    spec : Spec
    cells : sequence of Cell
    doubtful : Doubtful
        Methods that could not be resolved: families that name them are not judged.

    Returns
    -------
    families, problems
        A name that no cell has, a cell that is compared with itself or twice, a family that compares nothing.
    """
    named = {name: cell.name for cell in cells for name in (cell.name, *cell.aliases)}
    problems: list[Problem] = []
    families = []
    for name, text in spec.text.analysis.families.items():
        words = (text.compare,) if isinstance(text.compare, str) else text.compare
        if any(doubtful.has(section, word.partition("[")[0]) for word in (*words, text.to) for section in _SECTIONS):
            continue
        here = _Family(spec, name, named, problems)
        before = len(problems)
        to = here.cell(("to",), text.to)
        compare: list[str] = []
        for i, word in enumerate(words):
            several = _several(word, cells)
            found = here.listed(i, word, to, text.to, compare) if several is None else several
            compare += [cell for cell in found if cell not in (to, *compare)]
        if not compare and len(problems) == before and not doubtful.has("methods"):
            what = f"family {name} compares {text.to} with nothing else"
            problems.append(spec.problem(here.route("compare"), what, "name the cells that it compares"))
        families.append(Family(name, tuple(compare), to, text.correction or spec.text.analysis.correction))
    return tuple(families), tuple(problems)


_SECTIONS = ("methods", "grid")


@dataclass(frozen=True, slots=True)
class _Family:
    spec: Spec
    name: str
    named: Mapping[str, str]
    problems: list[Problem]

    def route(self, *below: str | int) -> Route:
        return ("analysis", "families", self.name, *below)

    def cell(self, below: Route, name: str) -> str:
        """Return the cell of a name; an empty text where there is none."""
        if name not in self.named:
            remedy = nearest(name, self.named, say="cells")
            self.problems.append(self.spec.problem(self.route(*below), f"there is no cell {name!r}", remedy))
        return self.named.get(name, "")

    def listed(self, i: int, word: str, to: str, called: str, met: Sequence[str]) -> list[str]:
        """Return the cell of a name that is listed, which is another one than all before."""
        cell = self.cell(("compare", i), word)
        if cell and cell == to:
            same = "itself" if word == called else f"itself: {word} has the same settings"
            what = f"family {self.name} compares {called} with {same}"
            self.problems.append(self.spec.problem(self.route("compare", i), what, "name another cell"))
        elif cell in met:
            what = f"family {self.name} compares {cell} twice: {word} is the same cell"
            self.problems.append(self.spec.problem(self.route("compare", i), what, "name each cell once"))
        return [cell] if cell and cell != to else []


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

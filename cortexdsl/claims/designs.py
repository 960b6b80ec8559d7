"""Designs: a claim as contrasts of cells, the values that they are compared with, and how they combine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import assert_never

import numpy as np

from cortexdsl.claims.cells import CellNames, cells_at, find_cell, levels_of, split_team, value_text
from cortexdsl.claims.parser import parse_point
from cortexdsl.claims.values import (
    OTHERS,
    All,
    Best,
    Claim,
    Comparison,
    Front,
    Operator,
    Quantity,
    Slice,
    Trend,
    better_of,
)
from cortexdsl.core import Floats
from cortexdsl.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """A claim in terms of named means.

    Attributes
    ----------
    claim : Claim
    quantities : tuple of Quantity
        Means, each of a cell of the table.
    weights : (tests, quantities) array
        Each row is a contrast of means, or one mean; for a ratio, the powers of the means.
    scale : float
        A contrast times this is in the units of reports.
    sign : float
        1 if the claim puts the contrasts above `null`, -1 below.
    null : float
        In units of reports; for a ratio, the ratio.
    margin : float or None
        If given, the claim puts the contrast within `null` +- `margin`.
    ratio : bool
        Means are multiplied and divided rather than added.
    notes : tuple of str
        One per contrast.
    levels : (levels, quantities) array
        For a trend: the mean of each level as weights of cells.
    parts : tuple of Design
        For a conjunction, one design per part; for a claim over teams, the same contrast for each team; for a front,
        one design per other cell, with a part per metric.
    """

    claim: Claim
    quantities: tuple[Quantity, ...] = ()
    weights: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    scale: float = 1.0
    sign: float = 1.0
    null: float = 0.0
    margin: float | None = None
    ratio: bool = False
    notes: tuple[str, ...] = ("",)
    levels: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    parts: tuple[Design, ...] = ()

    @property
    def cells(self) -> tuple[str, ...]:
        """The cell of each quantity."""
        return tuple(quantity.name for quantity in self.quantities)

    @property
    def all_cells(self) -> tuple[str, ...]:
        """Its cells, and those of its parts."""
        return (*self.cells, *(cell for part in self.parts for cell in part.all_cells))

    @property
    def favourable(self) -> Floats:
        """Per quantity, above 0 if a higher mean favours the claim."""
        return np.asarray(self.sign * self.weights.sum(axis=0))


def design_of(claim: Claim, arms: Sequence[CellNames]) -> Design:
    """Return the contrasts of cells that a claim is about.

    Raises
    ------
    InputError
        The claim names a cell, method, axis or value that does not exist.
    """
    match claim:
        case All():
            return Design(claim, parts=tuple(design_of(part, arms) for part in claim.parts))
        case Comparison():
            return _over_teams(claim, arms) if claim.over == "teams" else _comparison(claim, arms)
        case Trend():
            return _trend(claim, arms)
        case Best():
            return _best(claim, arms)
        case Front():
            return _front(claim, arms)
        case _:
            assert_never(claim)


def _comparison(claim: Comparison, arms: Sequence[CellNames]) -> Design:
    sign = -1.0 if claim.operator in ("<", "<=") else 1.0
    if claim.reference == OTHERS:
        return _others(claim, arms, sign)
    terms = [(weight, replace(one, name=find_cell(arms, one.name).cell)) for weight, one in claim.terms]
    if len({one for _, one in terms}) < len(terms):
        twice = next(one for i, (_, one) in enumerate(terms) if one in [other for _, other in terms[:i]])
        raise InputError(f"the claim {claim.text!r} compares {twice.name} with itself under another name")
    if claim.is_ratio:
        parts = [(weight, replace(one, per=None)) for weight, one in terms]
        parts += [(-weight, Quantity(one.per, one.name)) for weight, one in terms if one.per]
        powers = np.array([[weight for weight, _ in parts]])
        return Design(claim, tuple(one for _, one in parts), powers, sign=sign, null=claim.factor, ratio=True)
    weights = np.array([[weight for weight, _ in terms]])
    return Design(claim, tuple(one for _, one in terms), weights, sign=sign, null=claim.offset, margin=claim.margin)


def _others(claim: Comparison, arms: Sequence[CellNames], sign: float) -> Design:
    """Compare one cell with each of the others."""
    (_, own), (_, theirs) = claim.terms
    first = find_cell(arms, own.name).cell
    rivals = tuple(dict.fromkeys(arm.cell for arm in arms if arm.cell != first))
    if not rivals:
        raise InputError(f"the claim {claim.text!r}: there is no other cell than {first}")
    quantities = (replace(own, name=first), *(replace(theirs, name=rival) for rival in rivals))
    weights = np.hstack([np.ones((len(rivals), 1)), -np.eye(len(rivals))])
    notes = tuple(f"the estimate is against {rival}, the rival that decides" for rival in rivals)
    return Design(claim, quantities, weights, sign=sign, null=claim.offset, margin=claim.margin, notes=notes)


def _front(claim: Front, arms: Sequence[CellNames]) -> Design:
    """Compare one cell with each of the others on each metric: it must be better on one of them."""
    cell = find_cell(arms, claim.name).cell
    rivals = tuple(dict.fromkeys(arm.cell for arm in arms if arm.cell != cell))
    if not rivals:
        raise InputError(f"the claim {claim.text!r}: there is no other cell than {cell}")
    return Design(claim, parts=tuple(_better_on_some(claim, cell, rival) for rival in rivals))


def _better_on_some(claim: Front, cell: str, rival: str) -> Design:
    parts = []
    for metric in claim.metrics:
        operator: Operator = ">" if better_of(metric) == "higher" else "<"
        terms = ((1.0, Quantity(metric, cell)), (-1.0, Quantity(metric, rival)))
        text = f"{metric}({cell}) {operator} {metric}({rival})"
        better = Comparison(text, terms, operator, dataset=claim.dataset)
        sign = 1.0 if operator == ">" else -1.0
        parts.append(Design(better, better.quantities, np.array([[1.0, -1.0]]), sign=sign))
    return Design(replace(claim, text=f"{cell} is better than {rival} on one of them"), parts=tuple(parts))


def _over_teams(claim: Comparison, arms: Sequence[CellNames]) -> Design:
    """Make the same comparison in every team that all methods of the claim have."""
    teams: list[dict[str, str]] = []
    for quantity in claim.quantities:
        method, axes = parse_point(quantity.name)
        wanted = {axis: value_text(value) for axis, value in axes.items()}
        points = ((arm.cell, *split_team(point)) for arm in arms for its, point in arm.points if its == method)
        teams.append({team: cell for cell, team, rest in points if team is not None and rest == wanted})
    common = [team for team in teams[0] if all(team in one for one in teams)]
    if not common:
        raise InputError(
            f"the claim {claim.text!r}: no team has all of its methods; make agents an axis of their grids"
        )
    parts = tuple(
        replace(
            _comparison(
                replace(claim, over=None, terms=tuple(
                    (weight, replace(one, name=cells[team]))
                    for (weight, one), cells in zip(claim.terms, teams, strict=True)
                )),
                arms,
            ),
            notes=(team,),
        )
        for team in common
    )  # fmt: skip
    return replace(parts[0], claim=claim, parts=parts, notes=("",))


def _trend(claim: Trend, arms: Sequence[CellNames]) -> Design:
    axis = claim.slice.free[0]
    levels = levels_of(arms, claim.slice, axis)
    if len(levels) < 2:
        raise InputError(f"the claim {claim.text!r}: {axis} has one value; a trend needs two")
    if len(set(levels)) < len(levels):
        raise InputError(f"the claim {claim.text!r} names a value of {axis} twice")
    numbers = all(_is_number(level) for level in levels)
    if axis not in claim.slice.levels and not numbers:
        order = f"{claim.slice.method}[{axis}={'<'.join(levels)}]"
        raise InputError(f"the claim {claim.text!r}: {axis} is not a number; say its order, such as {order}")
    cells, counts, each = _mixture(arms, claim.slice, [{axis: level} for level in levels])
    quantities = tuple(Quantity(claim.metric, cell) for cell in cells)
    sign = 1.0 if claim.direction == "increasing" else -1.0
    if claim.monotone:
        notes = tuple(f"the estimate is from {a} to {b}, the step that decides" for a, b in pairwise(levels))
        return Design(
            claim, quantities, counts[1:] - counts[:-1], 1 / each, sign, notes=notes, levels=counts / each
        )  # fmt: skip
    numbers = numbers and [float(level) for level in levels] == sorted(map(float, levels))
    steps, unit = _spacing(levels if numbers else [str(i) for i in range(len(levels))])
    scale = unit * len(levels) / (float(steps @ steps) * each)
    note = f"change per unit of {axis}" if numbers else f"change per step of {axis}"
    return Design(claim, quantities, (steps @ counts)[None], scale, sign, notes=(note,), levels=counts / each)


def _spacing(levels: Sequence[str]) -> tuple[Floats, float]:
    """Return centred whole numbers proportional to the levels, and their unit; exact, so that sign flips are too."""
    places = [Fraction(level).limit_denominator(10**6) for level in levels]
    unit = lcm(*(place.denominator for place in places))
    whole = [int(place * unit) for place in places]
    return np.array([float(len(whole) * one - sum(whole)) for one in whole]), float(unit)


def _best(claim: Best, arms: Sequence[CellNames]) -> Design:
    axis = claim.slice.free[0]
    (level,) = levels_of(arms, replace(claim.slice, levels={axis: (claim.value,)}), axis)
    if level not in (known := levels_of(arms, claim.slice, axis)):
        raise InputError(f"the claim {claim.text!r}: {axis} has no value {claim.value!r}; it has {', '.join(known)}")
    rivals = [other for other in known if other != level]
    if not rivals:
        raise InputError(f"the claim {claim.text!r}: {axis} has one value")
    cells, counts, each = _mixture(arms, claim.slice, [{axis: value} for value in (level, *rivals)])
    sign = 1.0 if claim.extreme == "highest" else -1.0
    notes = tuple(f"the estimate is against {rival}, the rival that decides" for rival in rivals)
    quantities = tuple(Quantity(claim.metric, cell) for cell in cells)
    return Design(claim, quantities, counts[0] - counts[1:], 1 / each, sign, notes=notes)


def _mixture(
    arms: Sequence[CellNames], part: Slice, points: Sequence[Mapping[str, str]]
) -> tuple[tuple[str, ...], Floats, int]:
    """Return the cells of several grid points, each point averaged over its open axes.

    The result is the cells, a (points, cells) array of counts, and the number of cells of a point.
    """
    here = [cells_at(arms, part, point) for point in points]
    common = set(here[0]).intersection(*here[1:])
    if not common:
        raise InputError(f"no setting of the other axes of {part.method!r} has all points {points}; fix them with =")
    cells = tuple(dict.fromkeys(own[rest].cell for own in here for rest in sorted(common)))
    counts = np.zeros((len(points), len(cells)))
    for row, own in enumerate(here):
        for rest in common:
            counts[row, cells.index(own[rest].cell)] += 1
    return cells, counts, len(common)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

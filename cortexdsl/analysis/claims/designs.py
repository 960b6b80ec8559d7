"""What a claim compares: contrasts of cells, the value that they are held against, and how they combine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np

from cortexdsl.analysis.units.arms import Arm, cells_at, find_arm, levels_of
from cortexdsl.errors import InputError
from cortexdsl.spec.claims import Best, Claim, Comparison, Interaction, Slice, Trend
from cortexdsl.terms import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """A claim in terms of cells.

    Attributes
    ----------
    claim : Claim
    cells : tuple of str
    weights : (tests, cells) array
        Whole numbers; each row is a contrast of means, or one mean.
    scale : float
        A contrast times this is in the units that are shown.
    sign : float
        1 where the claim says that (shown) contrasts lie above `null`, -1 below, 0 where it says neither.
    null : float
        In shown units; for a ratio, the ratio.
    margin : float or None
        With it the claim says that the contrast lies within `null` +- `margin`.
    ratio : bool
        The two cells' means are divided, not subtracted.
    joint : bool
        The claim is that not all contrasts are 0; otherwise that every one is as said.
    notes : tuple of str
        One per contrast.
    levels : (levels, cells) array
        Of a trend: the mean of each level in terms of cells.
    """

    claim: Claim
    cells: tuple[str, ...]
    weights: Floats
    scale: float = 1.0
    sign: float = 1.0
    null: float = 0.0
    margin: float | None = None
    ratio: bool = False
    joint: bool = False
    notes: tuple[str, ...] = ("",)
    levels: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def liked(self) -> Floats:
        """Per cell, above 0 where the claim gains from a higher mean."""
        return np.asarray(self.sign * self.weights.sum(axis=0))


def design_of(claim: Claim, arms: Sequence[Arm]) -> Design:
    """Say which cells a claim is about.

    Raises
    ------
    InputError
        Where it names a cell, method, axis or value that is not there.
    """
    match claim:
        case Comparison():
            return _comparison(claim, arms)
        case Trend():
            return _trend(claim, arms)
        case Best():
            return _best(claim, arms)
        case Interaction():
            return _interaction(claim, arms)
        case _:
            assert_never(claim)


def _comparison(claim: Comparison, arms: Sequence[Arm]) -> Design:
    sign = -1.0 if claim.operator in ("<", "<=") else 1.0
    first = find_arm(arms, claim.name).cell
    if claim.reference is None:
        return Design(claim, (first,), np.ones((1, 1)), sign=sign, null=claim.offset, margin=claim.margin)
    second = find_arm(arms, claim.reference).cell
    if first == second:
        raise InputError(f"the claim {claim.text!r} compares {first} with itself under another name")
    ratio = claim.factor != 1
    null = claim.factor if ratio else claim.offset
    weights = np.array([[1.0, -1.0]])
    return Design(claim, (first, second), weights, sign=sign, null=null, margin=claim.margin, ratio=ratio)


def _trend(claim: Trend, arms: Sequence[Arm]) -> Design:
    axis = claim.slice.free[0]
    levels = levels_of(arms, claim.slice, axis)
    if len(levels) < 2:
        raise InputError(f"the claim {claim.text!r}: {axis} has one value; a trend needs two")
    if axis not in claim.slice.levels and not all(_is_number(level) for level in levels):
        order = f"{claim.slice.method}[{axis}={'<'.join(levels)}]"
        raise InputError(f"the claim {claim.text!r}: {axis} is no number; say its order, such as {order}")
    cells, counts, each = _mixture(arms, claim.slice, [{axis: level} for level in levels])
    steps = 2.0 * np.arange(len(levels)) - (len(levels) - 1)
    sign = 1.0 if claim.direction == "increasing" else -1.0
    scale = 2 / (float(steps @ steps) * each)
    note = f"change per step of {axis}"
    return Design(claim, cells, (steps @ counts)[None], scale, sign, notes=(note,), levels=counts / each)


def _best(claim: Best, arms: Sequence[Arm]) -> Design:
    axis = claim.slice.free[0]
    (level,) = levels_of(arms, replace(claim.slice, levels={axis: (claim.value,)}), axis)
    if level not in (known := levels_of(arms, claim.slice, axis)):
        raise InputError(f"the claim {claim.text!r}: {axis} has no value {claim.value!r}; it has {', '.join(known)}")
    rivals = [other for other in known if other != level]
    if not rivals:
        raise InputError(f"the claim {claim.text!r}: {axis} has one value")
    cells, counts, each = _mixture(arms, claim.slice, [{axis: value} for value in (level, *rivals)])
    sign = 1.0 if claim.extreme == "highest" else -1.0
    notes = tuple(f"against {rival}, the rival that decides" for rival in rivals)
    return Design(claim, cells, counts[0] - counts[1:], 1 / each, sign, notes=notes)


def _interaction(claim: Interaction, arms: Sequence[Arm]) -> Design:
    first, second = claim.slice.free
    rows, columns = (levels_of(arms, claim.slice, axis) for axis in (first, second))
    if min(len(rows), len(columns)) < 2:
        raise InputError(f"the claim {claim.text!r}: both axes need two values")
    cells, counts, each = _mixture(arms, claim.slice, [{first: a, second: b} for a in rows for b in columns])
    grid = counts.reshape(len(rows), len(columns), -1)
    simple = grid[1:] - grid[:1]
    weights = (simple[:, 1:] - simple[:, :1]).reshape(-1, len(cells))
    notes = tuple(
        f"difference of differences: {first} {a} against {rows[0]}, at {second} {b} against {columns[0]}"
        for a in rows[1:]
        for b in columns[1:]
    )
    return Design(claim, cells, weights, 1 / each, 0.0, joint=True, notes=notes)


def _mixture(
    arms: Sequence[Arm], part: Slice, points: Sequence[Mapping[str, str]]
) -> tuple[tuple[str, ...], Floats, int]:
    """Cells of several grid points, each point averaged over the axes that are left open.

    Returns the cells, a (points, cells) array of counts, and how many cells make a point.
    """
    here = [cells_at(arms, part, point) for point in points]
    common = set(here[0]).intersection(*here[1:])
    if not common:
        raise InputError(f"no setting of the other axes of {part.method!r} has all points {points}; fix them with =")
    cells = tuple(dict.fromkeys(found[rest].cell for found in here for rest in sorted(common)))
    counts = np.zeros((len(points), len(cells)))
    for row, found in enumerate(here):
        for rest in common:
            counts[row, cells.index(found[rest].cell)] += 1
    return cells, counts, len(common)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

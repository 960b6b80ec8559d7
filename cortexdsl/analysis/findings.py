"""One claim on one table: what was estimated, which way it leans, and the p-value of that leaning.

A finding leans for its claim or against it, and its p-value is the probability of so strong a leaning were it
wrong. Directions are judged by two-sided p-values; equivalence by the larger of two one-sided ones (TOST);
a claim that says "all of" by the largest p of its parts, and against it by the smallest times their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from cortexdsl.analysis.arms import Arm, cells_at, find_arm, levels_of
from cortexdsl.analysis.contrasts import Outcome, contrast_outcomes, gap_of, mean_outcome, ratio_outcome, untested
from cortexdsl.analysis.signflip import DRAWS, joint_sign_flip
from cortexdsl.analysis.table import ScoreTable
from cortexdsl.analysis.units import Units, bounded, units
from cortexdsl.errors import InputError
from cortexdsl.spec.claims import Best, Claim, Comparison, Interaction, Slice, Trend
from cortexdsl.terms import Floats

LEVEL, LEVEL_EQUIVALENCE = 0.95, 0.90


@dataclass(frozen=True, slots=True)
class Finding:
    """What one claim's test found.

    Attributes
    ----------
    estimate, low, high : float
    test : str
    supports : bool
        Which way the estimate leans.
    p : float
        Of that leaning; NaN where nothing could be tested.
    note : str
    doubtful : (int, int)
        Rows of the claim's cells that are missing, and that could not be read.
    """

    estimate: float
    low: float
    high: float
    test: str
    supports: bool
    p: float
    note: str = ""
    doubtful: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a claim is looked at.

    Attributes
    ----------
    favour : int
        What missing and unreadable rows count as: 0 wrong (the default), 1 as the claim would like it,
        -1 the other way round.
    """

    table: ScoreTable
    arms: tuple[Arm, ...]
    datasets: tuple[str, ...]
    seed: int
    draws: int = DRAWS
    favour: int = 0

    def sample(self, metric: str, cells: Sequence[str], liked: Sequence[float] | Floats) -> Units:
        """The units of some cells; `liked` is above 0 where the claim gains from a higher mean."""
        plain = units(self.table, metric, cells, self.datasets)
        if not self.favour:
            return plain
        return bounded(plain, [float(self.favour * sign > 0) for sign in liked])


def find(claim: Claim, scene: Scene) -> Finding:
    """Test one claim.

    Raises
    ------
    InputError, DataError
        Where the claim names a cell, axis, metric or dataset that is not there.
    """
    match claim:
        case Comparison():
            return _comparison(claim, scene)
        case Trend():
            return _trend(claim, scene)
        case Best():
            return _best(claim, scene)
        case Interaction():
            return _interaction(claim, scene)
        case _:
            assert_never(claim)


def all_of(findings: Sequence[Finding]) -> Finding:
    """The finding that all of several hold (an intersection-union test), or that one does not."""
    if untestable := [found for found in findings if np.isnan(found.p)]:
        return untestable[0]
    if against := [found for found in findings if not found.supports]:
        worst = min(against, key=lambda found: found.p)
        return replace(worst, p=min(1.0, worst.p * len(findings)))
    return max(findings, key=lambda found: found.p)


def _found(outcome: Outcome, supports: bool, sample: Units, note: str = "") -> Finding:
    doubtful = (int(sample.missing.sum()), int(sample.unparsed.sum()))
    return Finding(
        outcome.estimate, outcome.low, outcome.high, outcome.test, supports, outcome.p, note, doubtful
    )  # fmt: skip


def _comparison(claim: Comparison, scene: Scene) -> Finding:
    upward = claim.operator in (">", ">=")
    sign = 1.0 if upward or claim.operator == "==" else -1.0
    cell = find_arm(scene.arms, claim.name).cell
    cells = [cell] if claim.reference is None else [cell, find_arm(scene.arms, claim.reference).cell]
    if len(cells) == 2 and cells[0] == cells[1]:
        raise InputError(f"the claim {claim.text!r} compares {cell} with itself under another name")
    sample = scene.sample(claim.metric, cells, [sign, -sign])
    level = LEVEL if claim.margin is None else LEVEL_EQUIVALENCE

    def outcome(null: float) -> Outcome:
        if claim.reference is None:
            return mean_outcome(sample, 0, null, scene.seed, scene.draws, level)
        if claim.factor != 1:
            return ratio_outcome(sample, 0, 1, null, scene.seed, scene.draws, level)
        return contrast_outcomes(sample, np.array([[1.0, -1.0]]), [null], scene.seed, scene.draws, level)[0]

    if claim.margin is not None:
        lower, upper = outcome(claim.offset - claim.margin), outcome(claim.offset + claim.margin)
        if np.isnan(lower.above) or np.isnan(upper.above):
            return _found(lower, False, sample)
        inside = abs(lower.estimate - claim.offset) < claim.margin
        p = max(lower.above, upper.below) if inside else min(1.0, 2 * min(upper.above, lower.below))
        test = f"two one-sided tests, {lower.test}"
        return replace(_found(lower, inside, sample, "90 % interval"), p=p, test=test)
    null = claim.factor if claim.factor != 1 else claim.offset
    result = outcome(null)
    return _found(result, bool(sign * (result.estimate - null) > 0), sample)


def _mixture(scene: Scene, part: Slice, points: Sequence[dict[str, str]]) -> tuple[tuple[str, ...], Floats, int]:
    """Cells of several grid points, each point averaged over the axes that are left open.

    Returns the cells, a (points, cells) array of counts, and how many cells make a point.
    """
    here = [cells_at(scene.arms, part, point) for point in points]
    common = set(here[0]).intersection(*here[1:])
    if not common:
        raise InputError(f"no setting of the other axes of {part.method!r} has all points {points}; fix them with =")
    cells = tuple(dict.fromkeys(found[rest].cell for found in here for rest in sorted(common)))
    counts = np.zeros((len(points), len(cells)))
    for row, found in enumerate(here):
        for rest in common:
            counts[row, cells.index(found[rest].cell)] += 1
    return cells, counts, len(common)


def _trend(claim: Trend, scene: Scene) -> Finding:
    axis = claim.slice.free[0]
    levels = levels_of(scene.arms, claim.slice, axis)
    if len(levels) < 2:
        raise InputError(f"the claim {claim.text!r}: {axis} has one value; a trend needs two")
    if axis not in claim.slice.levels and not all(_is_number(level) for level in levels):
        order = f"{claim.slice.method}[{axis}={'<'.join(levels)}]"
        raise InputError(f"the claim {claim.text!r}: {axis} is no number; say its order, such as {order}")
    cells, counts, each = _mixture(scene, claim.slice, [{axis: level} for level in levels])
    steps = 2.0 * np.arange(len(levels)) - (len(levels) - 1)
    weights = steps @ counts
    sign = 1.0 if claim.direction == "increasing" else -1.0
    sample = scene.sample(claim.metric, cells, sign * weights)
    found = contrast_outcomes(sample, weights[None], [0.0], scene.seed, scene.draws)[0]
    slope = found.scaled(2 / (float(steps @ steps) * each))
    means = ", ".join(f"{m:.4g}" for m in counts @ np.nan_to_num(sample.means) / each)
    return _found(slope, sign * slope.estimate > 0, sample, f"change per step of {axis}; means {means}")


def _best(claim: Best, scene: Scene) -> Finding:
    from_text = find_level(claim, scene.arms)
    axis = claim.slice.free[0]
    rivals = [level for level in levels_of(scene.arms, claim.slice, axis) if level != from_text]
    if not rivals:
        raise InputError(f"the claim {claim.text!r}: {axis} has one value")
    cells, counts, each = _mixture(scene, claim.slice, [{axis: level} for level in (from_text, *rivals)])
    sign = 1.0 if claim.extreme == "highest" else -1.0
    weights = sign * (counts[0] - counts[1:])
    sample = scene.sample(claim.metric, cells, sign * (2 * (counts[0] > 0) - 1.0))
    outcomes = contrast_outcomes(sample, weights, [0.0] * len(rivals), scene.seed, scene.draws)
    parts = [
        _found(found.scaled(1 / each), found.estimate > 0, sample, f"against {rival}, the rival that decides")
        for rival, found in zip(rivals, outcomes, strict=True)
    ]
    return all_of(parts)


def find_level(claim: Best, arms: Sequence[Arm]) -> str:
    """The axis value that a claim calls the best, as the cells spell it."""
    axis = claim.slice.free[0]
    (level,) = levels_of(arms, replace(claim.slice, levels={axis: (claim.value,)}), axis)
    if level not in (known := levels_of(arms, replace(claim.slice, levels={}), axis)):
        raise InputError(f"the claim {claim.text!r}: {axis} has no value {claim.value!r}; it has {', '.join(known)}")
    return level


def _interaction(claim: Interaction, scene: Scene) -> Finding:
    first, second = claim.slice.free
    rows, columns = (levels_of(scene.arms, claim.slice, axis) for axis in (first, second))
    if min(len(rows), len(columns)) < 2:
        raise InputError(f"the claim {claim.text!r}: both axes need two values")
    points = [{first: a, second: b} for a in rows for b in columns]
    cells, counts, each = _mixture(scene, claim.slice, points)
    grid = counts.reshape(len(rows), len(columns), -1)
    simple = grid[1:] - grid[:1]
    weights = (simple[:, 1:] - simple[:, :1]).reshape(-1, len(cells))
    sample = scene.sample(claim.metric, cells, np.zeros(len(cells)))
    if gap := gap_of(sample, range(len(cells))):
        return _found(untested(gap), False, sample)
    outcomes = contrast_outcomes(sample, weights, [0.0] * len(weights), scene.seed, scene.draws)
    largest = int(np.argmax([abs(found.estimate) for found in outcomes]))
    a, b = divmod(largest, len(columns) - 1)
    shown = outcomes[largest].scaled(1 / each)
    note = f"difference of differences: {first} {rows[a + 1]} against {rows[0]}, "
    note += f"at {second} {columns[b + 1]} against {columns[0]}"
    if len(weights) > 1:
        statistic, flip = joint_sign_flip(sample.parts.T @ weights.T, scene.seed, scene.draws)
        error = "exact" if flip.error is None else f"({scene.draws} draws, se {flip.error:.2g})"
        shown = replace(shown, p=flip.p, statistic=statistic, test=f"joint sign-flip {error}")
        note = f"largest {note}"
    return _found(shown, True, sample, note)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

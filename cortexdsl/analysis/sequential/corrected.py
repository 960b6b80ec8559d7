"""The estimate of an experiment that may stop early, corrected for its looks.

An experiment stops sooner if its estimate is too large by chance, so that the estimates of stopped experiments are too
large on average. The corrected estimate is the truth at which what was found is as probably exceeded as not: median
unbiased, in the stage-wise order, in which an experiment that stops earlier has found more.

The course of the mean is taken as normal, with the spread that was seen. The bounds of each look are those at which its
own evidence decides.

References
----------
Tsiatis, Rosner and Mehta 1984, Biometrics 40:797 (the order); Emerson and Fleming 1990, Biometrika 77:875 (the median).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from cortexdsl.analysis.sequential.evidence import Mean
from cortexdsl.analysis.sequential.streams import whole_blocks
from cortexdsl.terms import Floats, in_step


@dataclass(frozen=True, slots=True)
class Course:
    """When an experiment was looked at.

    Attributes
    ----------
    looks : tuple of int
        After how many questions of the largest dataset; after `of`, how many values of a contrast there were.
    planned : mapping of dataset to int
        How many questions each has in the end.
    level : float
        The share of alpha at which one claim is decided.
    """

    looks: tuple[int, ...]
    planned: Mapping[str, int]
    level: float

    def of(self, datasets: Sequence[str], evidence: Mean) -> Course:
        """Return the looks at one contrast in numbers of its values, the last of which are all that it has."""
        largest, smallest = max(self.planned.values()), min(self.planned[name] for name in datasets)
        ends = {min(whole_blocks(in_step(end, self.planned[name], largest), self.planned[name], smallest)
                    for name in datasets) for end in self.looks}  # fmt: skip
        last = len(evidence.values)
        return replace(self, looks=(*sorted(end for end in ends if 0 < end < last), last))

    def estimate(self, evidence: Mean, null: float) -> float:
        """Return the corrected estimate of a contrast whose looks these are."""
        return median_unbiased(evidence, null, self.looks, float(np.log(2 / self.level)))


COURSES = 4000
_FAR = 60.0  # standard errors of the last look
_STEPS = 40


def median_unbiased(evidence: Mean, null: float, looks: Sequence[int], bound: float) -> float:
    """Return the estimate of a mean, corrected for the looks that could have stopped the experiment before.

    Parameters
    ----------
    evidence : Mean
        All values until the last look.
    null : float
        What the mean is held against.
    looks : sequence of int
        After how many values one looked; the last is their number.
    bound : float
        The log evidence, of either side, that decides.

    Returns
    -------
    float
        The mean itself if there was one look, or if the claim was decided at the look before: then something else made
        the experiment go on.
    """
    values, estimate = evidence.values, float(evidence.values.mean())
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if len(looks) < 2 or spread == 0:
        return estimate
    if _decides(Mean(values[: looks[-2]], evidence.bounds), null, bound):
        return estimate
    ends = np.array(looks, dtype=np.float64)
    reach = _FAR * spread / np.sqrt(ends[0])
    centred = values - estimate
    limits = [_limit(centred[:n], evidence.bounds, null, reach, bound) for n in looks[:-1]]
    lower, upper = (null + np.array(side) for side in zip(*limits, strict=True))
    steps = np.sqrt(np.diff(ends, prepend=0.0)) * spread
    noise = np.cumsum(_normals(len(looks)) * steps, axis=1) / ends

    def exceeded(truth: float) -> float:
        course = truth + noise
        above, below = course[:, :-1] >= upper, course[:, :-1] <= lower
        crossed = above | below
        first = above[np.arange(len(course)), crossed.argmax(axis=1)]
        return float(np.where(crossed.any(axis=1), first, course[:, -1] >= estimate).mean())

    low, high = estimate - reach, estimate + reach
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeded(middle) < 0.5 else (low, middle)
    return float((low + high) / 2)


def _decides(evidence: Mean, null: float, bound: float) -> bool:
    return max(evidence.above(null), evidence.below(null)) >= bound


def _limit(
    values: Floats, bounds: tuple[float, float] | None, null: float, reach: float, bound: float
) -> tuple[float, float]:
    """Return how far below and above the null value an estimate of such values decides; infinite if none does."""
    plain, (low, high) = values - values.mean() + null, bounds or (-np.inf, np.inf)

    def moved(distance: float, side: float) -> Mean:
        return Mean(np.clip(plain + side * distance, low, high), bounds)

    def lacking(distance: float, side: float) -> float:
        there = moved(distance, side)
        return (there.above(null) if side > 0 else there.below(null)) - bound

    def end(side: float) -> float:
        if lacking(reach, side) < 0:
            return side * np.inf
        distance = float(brentq(lacking, 0.0, reach, args=(side,), xtol=1e-6 * reach))
        return float(moved(distance, side).values.mean()) - null

    return end(-1.0), end(1.0)


@lru_cache(maxsize=8)
def _normals(looks: int) -> Floats:
    return np.random.default_rng(looks).standard_normal((COURSES, looks))

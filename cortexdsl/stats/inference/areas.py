"""Contrasts of areas under the ROC curve (AUROC), on the scale of log odds.

The variance of an area depends on its rarer kind of answers: with forty right and three wrong ones, on the three. On
the plain scale the test of one area then errs in 10 to 25 % of experiments. So each area is shrunk by a quarter of a
question of that kind, and its log odds get an interval by Student's t with one degree of freedom less than there are
such questions; contrasts combine those intervals. Below `FEWEST` such questions nothing is tested.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special, stats

from cortexdsl.core import Floats
from cortexdsl.stats.inference.bootstrap import stratum_means
from cortexdsl.stats.inference.outcomes import LEVEL, Outcome, standard_error, two_sided
from cortexdsl.stats.tables.units import Units

FEWEST = 15
"""The fewest questions of the rarer kind for a test: with 10, tests of areas of .9 err in up to 6 %, with 8 in 7 %."""
MISRANKED = 2.5
"""A result gets a note if fewer questions of the rarer kind are misranked (their number times 1 - area)."""
NAME = "AUROC by log odds, Student's t"
_SHRINK, _LEAST = 0.25, 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """Weighted areas; all arrays are (cells,), `correlation` is (cells, cells).

    Attributes
    ----------
    weights, area, error, freedom : arrays
        Shrunk areas, standard errors of their log odds, and degrees of freedom.
    correlation : array
    """

    weights: Floats
    area: Floats
    error: Floats
    freedom: Floats
    correlation: Floats

    @property
    def centre(self) -> float:
        """The contrast of the shrunk areas."""
        return float(self.weights @ self.area)

    def end(self, alpha: float, side: float) -> float:
        """Return the lower (side -1) or upper (1) confidence limit of the contrast, with an error of alpha."""
        reach = side * np.sign(self.weights) * stats.t.isf(alpha, self.freedom) * self.error
        moved = self.weights * np.abs(special.expit(special.logit(self.area) + reach) - self.area)
        return self.centre + side * float(np.sqrt(max(moved @ self.correlation @ moved, 0.0)))

    def sides(self, null: float) -> tuple[float, float]:
        """Return one-sided p-values against "at most" and "at least" the null value, by inverting the limits."""
        side = -1.0 if null < self.centre else 1.0

        def gap(log: float) -> float:
            return side * (self.end(float(np.exp(log)), side) - null)

        top, bottom = float(np.log(0.5)), float(np.log(_LEAST))
        near = 0.5 if gap(top) >= 0 else _LEAST if gap(bottom) <= 0 else np.exp(optimize.brentq(gap, bottom, top))
        return (float(near), 1 - float(near)) if side < 0 else (1 - float(near), float(near))


def areas_of(sample: Units, weights: Floats) -> Areas | None:
    """Return the areas that a contrast weighs, or None if one of them does not vary.

    Parameters
    ----------
    sample : Units
        Linearised areas: the sum of a cell's parts is its area, their spread that of the area.
    weights : (cells,) array

    References
    ----------
    DeLong, DeLong and Clarke-Pearson 1988, Biometrics 44:837; Obuchowski 1997, Biometrics 53:567 (clusters);
    Pepe 2003, The Statistical Evaluation of Medical Tests, section 5.2.5 (log odds); Zou and Donner 2008,
    Stat Med 27:1693, and Newcombe 2016, Biostatistics 17:70 (limits of a difference from those of its parts).
    """
    cells = np.flatnonzero(weights)
    parts, rarer = sample.parts[cells].T, sample.rarer[cells].astype(np.float64)
    error = standard_error(sample, parts)
    pull = parts - stratum_means(sample, parts) * sample.share[:, None]
    size = np.sqrt((pull**2).sum(axis=0))
    if not (size > 1e-12).all():
        return None
    area = (sample.means[cells] * rarer + _SHRINK) / (rarer + 2 * _SHRINK)
    correlation = (pull.T @ pull) / np.outer(size, size)
    return Areas(weights[cells], area, error / (area * (1 - area)), rarer - 1, correlation)


def area_outcome(sample: Units, weights: Floats, null: float, level: float = LEVEL) -> Outcome | None:
    """Test a contrast of areas; None if one of them does not vary."""
    areas = areas_of(sample, weights)
    if areas is None:
        return None
    above, below = areas.sides(null)
    alpha = (1 - level) / 2
    estimate = float(weights[weights != 0] @ sample.means[weights != 0])
    low, high = areas.end(alpha, -1.0), areas.end(alpha, 1.0)
    return Outcome(estimate, low, high, NAME, np.nan, above, below, two_sided(above, below))


def is_area(sample: Units, weights: Floats) -> bool:
    """Return whether a contrast has weights on areas alone."""
    return bool((sample.rarer[weights != 0] >= 0).all())


def too_few(sample: Units, cell: int) -> str:
    """Return why the area of a cell cannot be tested, or nothing."""
    if not 0 <= sample.rarer[cell] < FEWEST:
        return ""
    return (
        f"{sample.cells[cell]} has {sample.rarer[cell]} questions with answers of the rarer kind (right or wrong); "
        f"an AUROC needs {FEWEST}"
    )


def near_one(sample: Units) -> str:
    """Return a warning if areas are so near 1 that few misranked answers decide them, or nothing."""
    misranked = np.where(sample.rarer >= 0, sample.rarer * (1 - sample.means), np.inf)
    if not (misranked < MISRANKED).any():
        return ""
    return "an AUROC this near 1 rests on very few misranked answers: its test may err in up to 10 %, not 5 %"

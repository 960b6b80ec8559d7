"""Accuracies compared: differences and other contrasts, ratios, McNemar's test, effect sizes.

Contrasts have one statistic for every null value, so p-values and intervals always agree. Each dataset is joined by
one pseudo-question in favour of each side; for two methods and one replicate that is the interval of Bonett and Price.
Means over replicates differ by less than whole questions do, and so do their pseudo-questions: they count as much as a
typical question that differs.

A ratio is tested as a difference, the first mean less r times the second, against 0. Without a logarithm it has the
same pseudo-questions as the difference, so twenty questions that are all alike prove nothing. Its interval holds the
ratios that the test does not reject (Fieller).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from cortexdsl.core import Floats
from cortexdsl.stats.inference.outcomes import LEVEL, Outcome, bias_reduction, freedom_of, quantile, tail, two_sided
from cortexdsl.stats.tables.units import Units

_NOTHING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Adjusted:
    """Contrasts with pseudo-questions, and their tests.

    Attributes
    ----------
    centre, error : (tests,) arrays
        Adjusted contrasts and their standard errors.
    freedom : float
        Of Student's t.
    """

    centre: Floats
    error: Floats
    freedom: float

    def sides(self, null: Floats) -> tuple[Floats, Floats]:
        """Return one-sided p-values against "at most" and "at least" the null values, (tests,)."""
        statistic = (self.centre - null) / self.error
        return tail(statistic, self.freedom), tail(-statistic, self.freedom)

    def interval(self, level: float = LEVEL) -> tuple[Floats, Floats]:
        """Return the null values that a two-sided test at 1 - level does not reject, (tests,) each."""
        ends = quantile(self.freedom, level) * self.error
        return self.centre - ends, self.centre + ends


def adjusted_contrasts(sample: Units, weights: Floats, reach: Floats) -> Adjusted:
    """Add pseudo-questions to contrasts of accuracies.

    In each dataset of n questions, k questions are added at `+reach` and k at `-reach`, where k is the mean of
    (contrast / reach)^2 over the questions on which the contrast differs from 0, and one more question at `reach`.
    With one replicate and two methods k is 1, as in the interval of Bonett and Price. With averaged replicates k
    shrinks as the contrasts do, so that the added spread is always that of about two questions that differ.

    Quantiles are those of Student's t with n + 1 degrees of freedom, one less than the questions and two
    pseudo-questions. Normal quantiles are right at 5 %, but at the small levels of a correction the test then errs up
    to five times as often as stated. With clusters the standard error is CR2, with Satterthwaite's degrees of freedom.

    Parameters
    ----------
    sample : Units
        All rows are 0 or 1.
    weights : (tests, cells) array
        One contrast a row.
    reach : (tests,) array
        The largest contrast that one question can show: 1 for two methods.

    References
    ----------
    Bonett and Price 2012, J Educ Behav Stat 37:479; Fagerland, Lydersen and Laake 2014, Stat Med 33:2850.
    """
    values = np.stack([row[row != 0] @ sample.values[row != 0] for row in weights])
    differ = np.stack([np.ptp(sample.values[row != 0], axis=0) > _NOTHING for row in weights])
    parts = contributions_of(sample, weights)
    centre, variance, share = np.zeros(len(weights)), np.zeros(len(weights)), 1 / len(sample.sizes)
    ends = np.cumsum([0, *sample.sizes])
    for stratum, size in enumerate(sample.sizes):
        units, here = sample.stratum == stratum, slice(ends[stratum], ends[stratum + 1])
        square = np.where(differ[:, here], (values[:, here] / reach[:, None]) ** 2, 0.0)
        added = (square.sum(axis=1) + 1) / ((square > _NOTHING).sum(axis=1) + 1)
        scale = size / (size + 2 * added)
        mean = parts[units].sum(axis=0) * scale
        own = sample.share[units] / sample.share[units].sum()
        residual = parts[units] * scale - mean * own[:, None] * scale
        pseudo = 2 * added * ((reach * share) ** 2 + mean**2) / (size + 2 * added) ** 2
        factor = bias_reduction(own) if sample.clustered else np.ones(len(own))
        centre += mean
        variance += factor @ residual**2 + pseudo
    return Adjusted(centre, np.sqrt(variance), freedom_of(sample, added=0 if sample.clustered else 2))


def contributions_of(sample: Units, weights: Floats) -> Floats:
    """Return the contributions of units to contrasts, (units, tests); cells of weight 0 may hold NaN."""
    return np.stack([sample.parts[row != 0].T @ row[row != 0] for row in weights], axis=1)


def mcnemar_p(first_only: int, second_only: int) -> float:
    """Return McNemar's exact two-sided p.

    Parameters
    ----------
    first_only, second_only : int
        Questions that only the first or only the second method has right.

    References
    ----------
    McNemar 1947, Psychometrika 12:153.
    """
    pairs = first_only + second_only
    return float(min(1.0, 2 * stats.binom.cdf(min(first_only, second_only), pairs, 0.5)))


Sides = Callable[[float], tuple[float, float]]
"""Compute for a ratio r the one-sided p-values against "first - r second is at most 0" and "at least 0"."""

_FAR = 1e9


def ratio_by_difference(estimate: float, sides: Sides, null: float, name: str, level: float) -> Outcome:
    """Test a ratio against `null`, and invert the test for its interval.

    The one-sided p of "the ratio is at least r" is the largest over all such ratios, so that it falls as r moves away
    from the estimate, and the interval has no hole. It has an end at infinity if the second mean might be 0.

    Parameters
    ----------
    estimate : float
        The ratio of the means, at least 0.
    sides : callable
    null : float
        At least 0.
    name : str
        The name of the test.
    level : float
        The level of the interval.

    References
    ----------
    Fieller 1954, J R Stat Soc B 16:175.
    """
    above, below = _envelope(estimate, sides, null)
    alpha = (1 - level) / 2
    low = 0.0 if sides(0.0)[0] > alpha else _root(lambda r: sides(r)[0] - alpha, 0.0, estimate)
    high = np.inf if sides(_FAR)[1] > alpha else _upper(lambda r: sides(r)[1] - alpha, estimate)
    return Outcome(estimate, low, high, name, np.nan, above, below, two_sided(above, below))


def _envelope(estimate: float, sides: Sides, null: float) -> tuple[float, float]:
    above, below = sides(null)
    if null < estimate:
        return max(above, sides(0.0)[0]), below
    return above, max(below, sides(_FAR)[1])


def _upper(distance: Callable[[float], float], estimate: float) -> float:
    """Return where p falls below its level above the estimate."""
    top = max(2 * estimate, 1.0)
    while distance(top) > 0:
        top *= 2
    return _root(distance, estimate, top)


def _root(distance: Callable[[float], float], low: float, high: float) -> float:
    return float(optimize.brentq(distance, low, high, xtol=1e-12)) if low < high else low


def discordant_odds_ratio(difference: Floats) -> float:
    """Return questions won over questions lost, with half a question added to both if one is 0.

    Parameters
    ----------
    difference : (questions,) array
    """
    wins, losses = float((difference > 1e-12).sum()), float((difference < -1e-12).sum())
    if not wins + losses:
        return 1.0
    return wins / losses if wins and losses else (wins + 0.5) / (losses + 0.5)


def d_z(difference: Floats) -> float:
    """Return mean over standard deviation of paired differences (Cohen's d_z); 0 if all are 0, NaN if all are equal."""
    mean = float(difference.mean())
    if len(difference) < 2 or np.ptp(difference) <= 1e-12 * max(1.0, abs(mean)):
        return 0.0 if abs(mean) < 1e-12 else np.nan
    return mean / float(difference.std(ddof=1))

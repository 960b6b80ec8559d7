"""Accuracies compared: differences and other contrasts, ratios, effect sizes.

A contrast is tested twice, and both tests must reject: by Student's t with the variance of the sample, and by Tango's
score with the variance that the null value implies. The first errs if few questions differ (a sample in which no
question speaks for one side says little of its spread), the second if datasets or clusters differ much. Both count half
a pseudo-question, so that twenty questions that are all alike prove nothing. One statistic tests every null value, so
p-values and intervals always agree. Two cells with one replicate get an exact test (`paired`).

A ratio is tested as a difference, the first mean less r times the second, against 0. Without a logarithm it has the
same pseudo-questions as the difference. Its score is that of the plain difference against (r - 1) times the second
mean. Its interval holds the ratios that the test does not reject (Fieller).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from cortexdsl.core import Floats
from cortexdsl.stats.inference.outcomes import LEVEL, Outcome, freedom_of, quantile, standard_error, tail, two_sided
from cortexdsl.stats.tables.units import Units

ADDED = 0.25
"""Pseudo-questions on either side: with 1 (Bonett and Price) the test loses up to 10 points of power."""
_HALVINGS = 60


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTests:
    """Contrasts of accuracies and their tests; (tests,) arrays unless said otherwise.

    Attributes
    ----------
    estimate, error : array
        Contrasts and their standard errors from the sample.
    freedom : float
        Of Student's t.
    step : array
        The typical size of a contrast on a question that differs: 1 for two methods with one replicate.
    count : float
        The number of equal units that would count as much, and the pseudo-questions.
    mean, square : array
        Mean and mean square of contrasts over units and pseudo-questions, in steps.
    """

    estimate: Floats
    error: Floats
    freedom: float
    step: Floats
    count: float
    mean: Floats
    square: Floats

    def sides(self, null: Floats) -> tuple[Floats, Floats]:
        """Return one-sided p-values against "at most" and "at least" the null values, (tests,)."""
        t, z = (self.estimate - null) / self.error, self.score(null)
        above, below = (np.maximum(tail(side * t, self.freedom), tail(side * z, np.inf)) for side in (1, -1))
        return above, below

    def interval(self, level: float = LEVEL) -> tuple[Floats, Floats]:
        """Return the null values that a two-sided test at 1 - level does not reject, (tests,) each."""
        reach = quantile(self.freedom, level) * self.error
        low, high = (self._score_end(side, quantile(np.inf, level)) for side in (-1, 1))
        return np.minimum(self.estimate - reach, low), np.maximum(self.estimate + reach, high)

    def score(self, null: Floats) -> Floats:
        """Return the deviations from null values by the standard error under each; infinite beyond a step."""
        variance = null_variance(self.mean, self.square, null / self.step) * self.step**2 / self.count
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num((self.estimate - null) / np.sqrt(variance), nan=0.0, posinf=np.inf, neginf=-np.inf)

    def _score_end(self, side: int, bound: float) -> Floats:
        """Return the last null value on a side that the score does not reject, by halving."""
        near, far = self.estimate, side * np.maximum(self.step, np.abs(self.estimate))
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            holds = np.abs(self.score(middle)) < bound
            near, far = np.where(holds, middle, near), np.where(holds, far, middle)
        return near


def null_variance(mean: Floats, square: Floats, null: Floats) -> Floats:
    """Return the variance of contrasts of -1, 0 and 1 under null values: of the likeliest shares with this mean.

    Parameters
    ----------
    mean, square : array
        Observed mean, and share of contrasts that are not 0.
    null : array
        Beyond -1 and 1 no shares have that mean, and the variance is 0.

    References
    ----------
    Tango 1998, Stat Med 17:891.
    """
    lost = np.maximum((square - mean) / 2, 0)
    slope = (2 - mean) * null - square
    rest = lost * null * (1 - null)
    lost_under_null = (np.sqrt(np.maximum(slope**2 + 8 * rest, 0)) - slope) / 4
    variance = 2 * lost_under_null + null * (1 - null)
    return np.where(np.abs(null) < 1, np.maximum(variance, 0), 0.0)


def score_tests(sample: Units, weights: Floats, reach: Floats) -> ScoreTests:
    """Return the tests of contrasts of accuracies.

    The typical size of a contrast is the mean over units of its size, weighted by size: rare large contrasts count more
    than frequent small ones of averaged replicates, because they make the estimate skewed.

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
    Tango 1998, Stat Med 17:891; Bonett and Price 2012, J Educ Behav Stat 37:479 (pseudo-questions).
    """
    parts = contributions_of(sample, weights)
    freedom = freedom_of(sample, added=0 if sample.clustered else 2 * ADDED)
    return score_tests_of_parts(parts, sample.share, standard_error(sample, parts), freedom, reach)


def score_tests_of_parts(parts: Floats, share: Floats, error: Floats, freedom: float, reach: Floats) -> ScoreTests:
    """Return the tests of contrasts with known contributions of units, (units, tests), and standard errors."""
    moved = parts / share[:, None]
    step = ((moved**2).sum(axis=0) + reach**2) / (np.abs(moved).sum(axis=0) + reach)
    units = 1 / float((share**2).sum())
    count = units + 2 * ADDED
    estimate = parts.sum(axis=0)
    square = ((units / step) ** 2 * (parts**2).sum(axis=0) + 2 * ADDED) / count
    widened = np.sqrt(error**2 + 2 * ADDED * (step / units) ** 2)
    mean = units * estimate / step / count
    # Steps of -1, 0 and 1 have a mean square of at least their mean. Many small contrasts in one direction have less;
    # the score would then rise where the null value comes nearer, and disagree with its interval.
    return ScoreTests(estimate, widened, freedom, step, count, mean, np.maximum(square, np.abs(mean)))


def contributions_of(sample: Units, weights: Floats) -> Floats:
    """Return the contributions of units to contrasts, (units, tests); cells of weight 0 may hold NaN."""
    return np.stack([sample.parts[row != 0].T @ row[row != 0] for row in weights], axis=1)


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

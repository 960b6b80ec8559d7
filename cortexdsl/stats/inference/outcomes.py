"""The result of a test; standard errors, degrees of freedom and intervals that hold in small samples.

No interval is estimate +- 1.96 standard errors. One proportion gets Wilson's interval, at the effective sample size if
replicates or clusters change what a question is worth. Clusters of different sizes get standard errors and degrees of
freedom that allow for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from cortexdsl.core import Bools, Floats
from cortexdsl.stats.tables.units import Units

UNTESTED = "none: "
"""The start of the name of a test if nothing was tested; the reason follows."""
CERTAIN = "certain by the plan: every debate has the same number"
"""The name of the test of a metric that the plan fixes."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a test.

    Attributes
    ----------
    estimate, low, high : float
        The contrast (or ratio, or mean) and its interval, the null values that the same test does not reject.
    test : str
        The test's name.
    statistic : float
    above, below : float
        One-sided p-values against "at most the null value" and "at least the null value"; NaN if nothing could be
        tested.
    p : float
        Two-sided.
    discordant : int
        Questions whose contrast is not 0.
    """

    estimate: float
    low: float
    high: float
    test: str
    statistic: float
    above: float
    below: float
    p: float
    discordant: int = 0

    def scaled(self, factor: float) -> Outcome:
        """Return the outcome of the contrast times a factor above 0."""
        return replace(self, estimate=self.estimate * factor, low=self.low * factor, high=self.high * factor)


@dataclass(frozen=True, slots=True)
class StudentEstimate:
    """An estimate that is tested by Student's t, with its standard error and degrees of freedom."""

    estimate: float
    error: float
    freedom: float

    def sides(self, null: float) -> tuple[float, float]:
        """Return one-sided p-values against "at most" and "at least" a value."""
        statistic = np.asarray((self.estimate - null) / self.error)
        return float(tail(statistic, self.freedom)), float(tail(-statistic, self.freedom))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the values that a two-sided test at 1 - level does not reject."""
        reach = quantile(self.freedom, level) * self.error
        return self.estimate - reach, self.estimate + reach

    def outcome(self, test: str, null: float, level: float) -> Outcome:
        """Return the outcome of a test against a value."""
        above, below = self.sides(null)
        statistic, p = (self.estimate - null) / self.error, two_sided(above, below)
        return Outcome(self.estimate, *self.interval(level), test, statistic, above, below, p)


def untested_outcome(why: str, estimate: float = np.nan) -> Outcome:
    """Return the outcome of a test that was not possible, with the reason."""
    return Outcome(estimate, np.nan, np.nan, f"{UNTESTED}{why}", np.nan, np.nan, np.nan, np.nan)


def outcome_without_spread(fixed: Bools, estimate: float, null: float, why: str) -> Outcome:
    """Return the outcome for values without any spread.

    If the plan fixes them all, p is 0 or 1, and the interval has no width. Otherwise nothing was tested, with the
    reason.
    """
    if not fixed.all():
        return untested_outcome(why, estimate)
    if abs(estimate - null) <= _ROUNDING * max(1.0, abs(null)):
        return Outcome(estimate, estimate, estimate, CERTAIN, np.nan, 1.0, 1.0, 1.0)
    above = float(estimate < null)
    return Outcome(estimate, estimate, estimate, CERTAIN, np.nan, above, 1 - above, 0.0)


def two_sided(above: float, below: float) -> float:
    """Return the two-sided p-value of two one-sided ones."""
    return min(1.0, 2 * min(above, below))


LEVEL = 0.95


def wilson(successes: float, trials: float, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion; both counts may be fractional."""
    low, high = proportion_confint(successes, trials, alpha=1 - level, method="wilson")
    # Rounding would make the lower end 1e-17 at an estimate of 0.
    return (0.0 if successes <= 0 else float(low)), (1.0 if successes >= trials else float(high))


def clopper_pearson(successes: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the shares that the exact binomial test does not reject (Clopper and Pearson 1934, Biometrika 26:404)."""
    low, high = proportion_confint(successes, trials, alpha=1 - level, method="beta")
    return float(low), float(high)


def effective_trials(sample: Units, cell: int) -> float:
    """Return the number of independent yes-or-no questions that estimate a mean as well as a cell's units do.

    This is p (1 - p) / variance of the mean, at most the number of rows: replicates add information only if they
    disagree within a question, and clusters take it away. It is the number of units if all of them agree.

    References
    ----------
    Korn and Graubard 1998, Survey Methodology 24:193.
    """
    mean = float(sample.means[cell])
    rows = float(sample.sizes.sum() * sample.replicates[cell])
    error = float(standard_error(sample, sample.parts[cell][:, None])[0])
    return min(mean * (1 - mean) / error**2 if error > 0 else float(len(sample.share)), rows)


def few_units(trials: float, freedom: float, level: float = LEVEL) -> float:
    """Return effective trials, reduced because the variance comes from few units: times (z / t)^2.

    Wilson's interval takes the variance as known once the mean is; with eight clusters it is estimated. With the
    factor the interval is that of a score test against Student's t.

    References
    ----------
    Korn and Graubard 1998, Survey Methodology 24:193, section 2.
    """
    return trials * (quantile(np.inf, level) / quantile(freedom, level)) ** 2


def standard_error(sample: Units, contributions: Floats) -> Floats:
    """Return standard errors of the sums of contributions, units independent within their datasets.

    The variance is that of the jackknife: how much the mean of each dataset moves when one unit is left out. Without
    clusters that is the usual variance, with the factor n / (n - 1). With clusters of unequal size it is larger than
    the estimator CR2, which is too small if questions of a cluster are alike (`benchmarks/statistics/thin.py`).

    Parameters
    ----------
    contributions : (units, tests) array

    Returns
    -------
    (tests,) array

    References
    ----------
    Bell and McCaffrey 2002, Survey Methodology 28:169 (where it is called CR3).
    """
    variance = np.zeros(contributions.shape[1])
    for stratum in range(len(sample.sizes)):
        rows = sample.stratum == stratum
        weights = sample.share[rows] / sample.share[rows].sum()
        residual = contributions[rows] - contributions[rows].sum(axis=0) * weights[:, None]
        variance += jackknife_factors(weights) @ residual**2
    return np.asarray(np.sqrt(variance))


def jackknife_factors(weights: Floats) -> Floats:
    """Return the factors (1 - 1 / n) / (1 - w)^2 of squared residuals; 1 for a unit that is alone.

    Parameters
    ----------
    weights : (units,) array
        Shares of the questions of one dataset; they sum to 1.
    """
    if len(weights) < 2:
        return np.ones(len(weights))
    return np.asarray((1 - 1 / len(weights)) / (1 - weights) ** 2)


def satterthwaite(weights: Floats) -> float:
    """Return the degrees of freedom of the jackknife variance of a mean: one less than the number of equal clusters.

    For independent questions of equal variance, the variance estimate is a quadratic form with the matrix
    B[i, j] = (g[i] g[j])^(1/2) (w[i] [i = j] - w[i] w[j]), with g the factors, and the degrees of freedom are
    tr(B)^2 / tr(B^2).

    Parameters
    ----------
    weights : (units,) array
        Shares of the questions of one dataset; they sum to 1.

    References
    ----------
    Bell and McCaffrey 2002, Survey Methodology 28:169, section 4; Satterthwaite 1946, Biometrics 2:110.
    """
    if len(weights) < 2:
        return 0.0
    factors = jackknife_factors(weights)
    own, pull = factors * weights * (1 - weights), factors * weights**2
    return float(own.sum() ** 2 / ((own**2).sum() + pull.sum() ** 2 - (pull**2).sum()))


def freedom_of(sample: Units, added: float = 0) -> float:
    """Return the degrees of freedom of the variance of a mean over the units of one or several datasets.

    Several datasets are combined by Satterthwaite's formula, each with a variance of 1 over its questions.

    Parameters
    ----------
    sample : Units
    added : float
        Further units of each dataset (pseudo-questions).
    """
    parts = [sample.share[sample.stratum == stratum] for stratum in range(len(sample.sizes))]
    each = [satterthwaite(part / part.sum()) + added for part in parts]
    if not all(each):
        return 0.0
    return float((1 / sample.sizes).sum() ** 2 / (1 / (sample.sizes**2 * np.array(each))).sum())


def quantile(freedom: float, level: float = LEVEL) -> float:
    """Return how many standard errors a two-sided interval reaches: Student's t, or normal at infinite freedom."""
    return float(stats.norm.isf((1 - level) / 2) if np.isinf(freedom) else stats.t.isf((1 - level) / 2, freedom))


def tail(deviation: Floats, freedom: float) -> Floats:
    """Return P(T >= deviation), the one-sided p of a deviation in standard errors."""
    return np.asarray(stats.norm.sf(deviation) if np.isinf(freedom) else stats.t.sf(deviation, freedom))

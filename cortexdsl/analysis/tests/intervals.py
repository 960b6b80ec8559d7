"""Standard errors, degrees of freedom and intervals that hold at small samples.

No interval here is estimate +- 1.96 standard errors. One proportion gets Wilson's interval, at the effective
sample size if replicates or clusters change what a question is worth. Clusters of different sizes get
standard errors and degrees of freedom that allow for it.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from cortexdsl.analysis.units.units import Units
from cortexdsl.terms import Floats

LEVEL = 0.95


def wilson(successes: float, trials: float, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's score interval of a proportion; both counts may be fractional."""
    low, high = proportion_confint(successes, trials, alpha=1 - level, method="wilson")
    # Rounding leaves 1e-17 where the end is 0, above an estimate of 0.
    return (0.0 if successes <= 0 else float(low)), (1.0 if successes >= trials else float(high))


def clopper_pearson(successes: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the shares that the exact binomial test does not reject (Clopper and Pearson 1934, Biometrika 26:404)."""
    low, high = proportion_confint(successes, trials, alpha=1 - level, method="beta")
    return float(low), float(high)


def effective_trials(sample: Units, cell: int) -> float:
    """Independent yes-or-no questions that would estimate a cell's mean as well as its units do.

    p (1 - p) / variance of the mean, at most the number of rows: replicates add information only as far as
    they disagree within a question, clusters take it away. The number of units where all of them agree.

    References
    ----------
    Korn and Graubard 1998, Survey Methodology 24:193.
    """
    mean = float(sample.means[cell])
    rows = float(sample.sizes.sum() * sample.replicates[cell])
    error = float(standard_error(sample, sample.parts[cell][:, None])[0])
    return min(mean * (1 - mean) / error**2 if error > 0 else float(len(sample.share)), rows)


def few_units(trials: float, freedom: float, level: float = LEVEL) -> float:
    """Effective trials, made fewer by what a variance from few units leaves unknown: times (z / t)^2.

    Wilson's interval takes the variance as known where the mean is; of eight clusters it is estimated. With the
    factor the interval is that of a score test against Student's t.

    References
    ----------
    Korn and Graubard 1998, Survey Methodology 24:193, section 2.
    """
    return trials * (quantile(np.inf, level) / quantile(freedom, level)) ** 2


def standard_error(sample: Units, contributions: Floats) -> Floats:
    """Return standard errors of the sums of contributions, units independent within their datasets.

    The squared residual of a unit is divided by 1 - w, where w is its share of its dataset's questions: without
    clusters that is the factor n / (n - 1), with clusters the estimator CR2 for a mean.

    Parameters
    ----------
    contributions : (units, tests) array

    Returns
    -------
    (tests,) array

    References
    ----------
    Bell and McCaffrey 2002, Survey Methodology 28:169; Pustejovsky and Tipton 2018, J Bus Econ Stat 36:672.
    """
    variance = np.zeros(contributions.shape[1])
    for stratum in range(len(sample.sizes)):
        rows = sample.stratum == stratum
        weights = sample.share[rows] / sample.share[rows].sum()
        residual = contributions[rows] - contributions[rows].sum(axis=0) * weights[:, None]
        variance += bias_reduction(weights) @ residual**2
    return np.asarray(np.sqrt(variance))


def bias_reduction(weights: Floats) -> Floats:
    """Return the factors 1 / (1 - w) of squared residuals (CR2); 1 for a unit that is alone.

    Parameters
    ----------
    weights : (units,) array
        Shares of the questions of one dataset; they sum to 1.
    """
    return np.asarray(1 / np.where(weights < 1, 1 - weights, 1.0))


def satterthwaite(weights: Floats) -> float:
    """Return the degrees of freedom of the CR2 variance of a mean: one less than the number of equal clusters.

    For independent questions of equal variance, the variance estimate is a quadratic form with the matrix
    B[i, j] = (g[i] g[j])^(1/2) (w[i] [i = j] - w[i] w[j]), g = 1 / (1 - w), and the degrees of freedom are
    tr(B)^2 / tr(B^2) = 1 / (sum w^2 + (sum g w^2)^2 - sum g^2 w^4).

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
    pull = bias_reduction(weights) * weights**2
    return float(1 / ((weights**2).sum() + pull.sum() ** 2 - (pull**2).sum()))


def freedom_of(sample: Units, added: int = 0) -> float:
    """Return the degrees of freedom of the variance of a mean over the units of one or several datasets.

    Several datasets are combined by Satterthwaite's formula, each with a variance of 1 over its questions.

    Parameters
    ----------
    sample : Units
    added : int
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
    """P(T >= deviation), the one-sided p of a deviation in standard errors."""
    return np.asarray(stats.norm.sf(deviation) if np.isinf(freedom) else stats.t.sf(deviation, freedom))

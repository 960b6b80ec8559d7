"""Intervals of one proportion and of a paired difference that hold at small samples.

No interval here is estimate +- 1.96 standard errors. A proportion gets Wilson's interval, at the effective
sample size where several replicates or clusters change what a question is worth. A paired difference of
proportions gets the interval of Bonett and Price, which adds one question in favour of each side.
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
    """Standard errors of the sums of contributions, units independent within their datasets.

    Parameters
    ----------
    contributions : (units, tests) array

    Returns
    -------
    (tests,) array
        With clusters the cluster-robust one with the factor C / (C - 1), as statsmodels' OLS gives it.

    References
    ----------
    Miller 2024, arXiv 2411.00640, Eq. 4 (without the factor).
    """
    variance = np.zeros(contributions.shape[1])
    for stratum in range(len(sample.sizes)):
        rows = sample.stratum == stratum
        share = sample.share[rows][:, None]
        mean = contributions[rows].sum(axis=0) / share.sum()
        count = int(rows.sum())
        variance += count / max(count - 1, 1) * ((contributions[rows] - mean * share) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(variance))


def adjusted_difference(sample: Units, contributions: Floats, reach: Floats) -> tuple[Floats, Floats, float]:
    """Centre, standard error and degrees of freedom of the Bonett-Price interval, generalised.

    One pseudo-question at `+reach` and one at `-reach` join each dataset. For two methods with one replicate
    that is Bonett and Price's interval; for means over replicates the same shrinkage, a little conservative.

    Parameters
    ----------
    contributions : (units, tests) array
    reach : (tests,) array
        The largest difference that one question can show: 1 for two methods.

    Returns
    -------
    centre, error : (tests,) arrays
    freedom : float
        Infinite (the normal distribution) without clusters; clusters less datasets with them.

    References
    ----------
    Bonett and Price 2012, J Educ Behav Stat 37:479; Fagerland, Lydersen and Laake 2014, Stat Med 33:2850.
    """
    centre, variance = np.zeros(contributions.shape[1]), np.zeros(contributions.shape[1])
    for stratum, size in enumerate(sample.sizes):
        rows = sample.stratum == stratum
        scale = size / (size + 2)
        weight = 1 / len(sample.sizes)
        mean = contributions[rows].sum(axis=0) * scale
        residual = contributions[rows] * scale - mean * sample.share[rows][:, None] / weight * scale
        pseudo = ((reach * weight / (size + 2) - mean / (size + 2)) ** 2) + (
            (-reach * weight / (size + 2) - mean / (size + 2)) ** 2
        )
        count = int(rows.sum())
        factor = count / max(count - 1, 1) if sample.clustered else 1.0
        centre += mean
        variance += factor * (residual**2).sum(axis=0) + pseudo
    freedom = float(len(sample.share) - len(sample.sizes)) if sample.clustered else np.inf
    return centre, np.sqrt(variance), freedom


def quantile(freedom: float, level: float = LEVEL) -> float:
    """How many standard errors a two-sided interval reaches: Student's t, or the normal at infinite freedom."""
    return float(stats.norm.isf((1 - level) / 2) if np.isinf(freedom) else stats.t.isf((1 - level) / 2, freedom))


def tail(deviation: Floats, freedom: float) -> Floats:
    """P(T >= deviation), the one-sided p of a deviation in standard errors."""
    return np.asarray(stats.norm.sf(deviation) if np.isinf(freedom) else stats.t.sf(deviation, freedom))

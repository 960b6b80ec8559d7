"""The paired bootstrap: units are drawn with replacement within their dataset, all methods at once.

One set of resampling counts serves every test (a matrix product over units), so that comparisons share the
luck of the draw and forty of them cost little more than one. Differences and ratios get the studentised
bootstrap, whose p-value and interval agree with each other; of skewed counts of tokens it covers better than
BCa, which is here for single means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from cortexdsl.analysis.tests.intervals import LEVEL, standard_error
from cortexdsl.analysis.tests.signflip import DRAWS
from cortexdsl.analysis.units.units import Units
from cortexdsl.terms import Floats

_BLOCK = 500


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Bootstrap estimates of sums of contributions.

    Attributes
    ----------
    estimate, error : (tests,) arrays
    draws : (draws, tests) array
        Bootstrap estimates.
    errors : (draws, tests) array
        Their standard errors, each from its own resample.
    skew : (tests,) array
        The acceleration of BCa.
    """

    estimate: Floats
    error: Floats
    draws: Floats
    errors: Floats
    skew: Floats


def resample_counts(sample: Units, draws: int, seed: int) -> Iterator[Floats]:
    """How often each unit is drawn, in blocks of (up to 500, units); the same for the same arguments."""
    random = np.random.default_rng([seed, len(sample.share), len(sample.sizes)])
    strata = [np.flatnonzero(sample.stratum == k) for k in range(len(sample.sizes))]
    for start in range(0, draws, _BLOCK):
        size = min(_BLOCK, draws - start)
        counts = np.zeros((size, len(sample.share)))
        for rows in strata:
            drawn = random.integers(0, len(rows), (size, len(rows)))
            drawn += np.arange(size)[:, None] * len(rows)
            counts[:, rows] = np.bincount(drawn.ravel(), minlength=size * len(rows)).reshape(size, len(rows))
        yield counts


def resample(sample: Units, contributions: Floats, seed: int, draws: int = DRAWS) -> Resampled:
    """Bootstrap the sums of contributions, (units, tests)."""
    centred = contributions - _stratum_means(sample, contributions) * sample.share[:, None]
    rounding = np.abs(centred).max(axis=0) <= 1e-12 * np.abs(contributions).max(axis=0, initial=0)
    centred[:, rounding] = 0
    estimate = contributions.sum(axis=0)
    error = np.where(rounding, 0.0, standard_error(sample, contributions))
    first, second = [], []
    for counts in resample_counts(sample, draws, seed):
        moved = counts @ centred
        spread = counts @ centred**2
        for rows in _strata(sample):
            count = len(rows)
            spread -= (counts[:, rows] @ centred[rows]) ** 2 / count
        first.append(moved)
        second.append(spread)
    size = float(np.mean(np.bincount(sample.stratum)))
    spread = np.maximum(np.concatenate(second), 0) * size / max(size - 1, 1)
    cube = (centred**3).sum(axis=0)
    square = (centred**2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        skew = np.nan_to_num(cube / (6 * square**1.5))
    return Resampled(estimate, error, estimate + np.concatenate(first), np.sqrt(spread), skew)


def bca(found: Resampled, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Bias-corrected and accelerated intervals.

    References
    ----------
    Efron 1987, JASA 82:171.
    """
    low, high, draws = found.estimate.copy(), found.estimate.copy(), len(found.draws)
    below = (found.draws < found.estimate).mean(axis=0) + 0.5 * (found.draws == found.estimate).mean(axis=0)
    for test in np.flatnonzero(found.error > 0):
        bias, skew = stats.norm.ppf(np.clip(below[test], 0.5 / draws, 1 - 0.5 / draws)), found.skew[test]
        z = bias + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
        at = stats.norm.cdf(bias + z / (1 - skew * z))
        low[test], high[test] = np.quantile(found.draws[:, test], at)
    return low, high


@dataclass(frozen=True, slots=True, eq=False)
class Studentised:
    """Tests and intervals from bootstrap deviations in standard errors; (tests,) arrays.

    Attributes
    ----------
    above, below : array
        One-sided p of the hypothesis that the truth is at most, at least the null value. NaN where the units do
        not differ at all.
    p : array
        Two-sided, by the size of the deviation.
    low, high : array
        The symmetric interval that agrees with `p`.
    """

    above: Floats
    below: Floats
    p: Floats
    low: Floats
    high: Floats


def studentised(found: Resampled, null: Floats, level: float = LEVEL) -> Studentised:
    """Hold estimates against null values by the studentised bootstrap.

    References
    ----------
    Davison and Hinkley 1997, Bootstrap Methods, section 5.2; Hall 1988, Ann Stat 16:927 (symmetric intervals).
    """
    draws = len(found.draws)
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = (found.draws - found.estimate) / found.errors  # infinite where a resample has one value
        observed = (found.estimate - null) / found.error
    deviation[np.isnan(deviation)] = 0
    size = np.abs(deviation)
    counts = ((deviation >= observed), (deviation <= observed), (size >= np.abs(observed)))
    fixed = np.where(found.error > 0, 1.0, np.nan)
    above, below, p = ((count.sum(axis=0) + 1) / (draws + 1) * fixed for count in counts)
    with np.errstate(invalid="ignore"):
        reach = np.where(found.error > 0, np.quantile(size, level, axis=0, method="higher") * found.error, 0.0)
    return Studentised(above, below, p, found.estimate - reach, found.estimate + reach)


def log_ratio(sample: Units, top: Floats, bottom: Floats, seed: int, draws: int = DRAWS) -> Resampled:
    """Bootstrap the log of the ratio of two means, one test.

    Parameters
    ----------
    top, bottom : (units,) arrays
        Contributions of the two methods; both sums are above 0.
    """
    parts = np.stack([top, bottom], axis=1)
    means = parts.sum(axis=0)
    products = np.stack([top**2, top * bottom, bottom**2], axis=1)
    logs, errors = [], []
    for counts in resample_counts(sample, draws, seed):
        drawn = counts @ parts
        a, b, square = drawn[:, 0], drawn[:, 1], counts @ products
        with np.errstate(invalid="ignore", divide="ignore"):
            logs.append(np.log(a / b))
            errors.append(square[:, 0] / a**2 - 2 * square[:, 1] / (a * b) + square[:, 2] / b**2)
    influence = top / means[0] - bottom / means[1]
    influence[np.abs(influence) <= 1e-12 * top / means[0]] = 0
    whole = np.concatenate(logs)
    keep = np.isfinite(whole)
    return Resampled(
        np.array([np.log(means[0] / means[1])]),
        np.array([np.sqrt((influence**2).sum())]),
        whole[keep, None],
        np.sqrt(np.maximum(np.concatenate(errors)[keep, None], 0)),
        np.zeros(1),
    )


def _strata(sample: Units) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return [np.flatnonzero(sample.stratum == k) for k in range(len(sample.sizes))]


def _stratum_means(sample: Units, contributions: Floats) -> Floats:
    """Each unit's stratum mean per unit of share, (units, tests)."""
    means = np.empty_like(contributions)
    for rows in _strata(sample):
        means[rows] = contributions[rows].sum(axis=0) / sample.share[rows].sum()
    return means

"""The paired bootstrap: units are drawn with replacement within their dataset, for all methods at once.

One set of resampling counts serves every test (a matrix product over units), so all comparisons share their draws, and
forty of them cost little more than one. Differences and ratios get the studentised bootstrap, whose p-value and
interval are one procedure; for skewed counts of tokens it errs less than sign flips and Student's t.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cortexdsl.core import Floats
from cortexdsl.stats.inference.outcomes import LEVEL, Outcome, jackknife_factors, standard_error
from cortexdsl.stats.tables.units import Units

DRAWS = 10_000
_BLOCK = 500


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Bootstrap draws of sums of contributions.

    Attributes
    ----------
    estimate, error : (tests,) arrays
    draws : (draws, tests) array
        Bootstrap estimates.
    errors : (draws, tests) array
        Their standard errors, each from its resample.
    """

    estimate: Floats
    error: Floats
    draws: Floats
    errors: Floats


def resample_counts(sample: Units, draws: int, seed: int) -> Iterator[Floats]:
    """Yield how often each unit is drawn, in blocks of (up to 500, units); deterministic in the arguments."""
    random = np.random.default_rng([seed, len(sample.share), len(sample.sizes)])
    strata = strata_of(sample)
    for start in range(0, draws, _BLOCK):
        size = min(_BLOCK, draws - start)
        counts = np.zeros((size, len(sample.share)))
        for rows in strata:
            drawn = random.integers(0, len(rows), (size, len(rows)))
            drawn += np.arange(size)[:, None] * len(rows)
            counts[:, rows] = np.bincount(drawn.ravel(), minlength=size * len(rows)).reshape(size, len(rows))
        yield counts


def resample(sample: Units, contributions: Floats, seed: int, draws: int = DRAWS) -> Resampled:
    """Draw bootstrap estimates of the sums of contributions, a (units, tests) array."""
    centred = contributions - stratum_means(sample, contributions) * sample.share[:, None]
    rounding = np.abs(centred).max(axis=0) <= 1e-12 * np.abs(contributions).max(axis=0, initial=0)
    centred[:, rounding] = 0
    estimate = contributions.sum(axis=0)
    error = np.where(rounding, 0.0, standard_error(sample, contributions))
    first, second = [], []
    strata = strata_of(sample)
    factor = np.empty(len(sample.share))
    for rows in strata:
        factor[rows] = jackknife_factors(sample.share[rows] / sample.share[rows].sum())
    square = factor[:, None] * centred**2
    for counts in resample_counts(sample, draws, seed):
        moved = counts @ centred
        spread = counts @ square
        for rows in strata:
            spread -= (counts[:, rows] @ centred[rows]) ** 2 * (factor[rows].mean() / len(rows))
        first.append(moved)
        second.append(spread)
    spread = np.maximum(np.concatenate(second), 0)
    return Resampled(estimate, error, estimate + np.concatenate(first), np.sqrt(spread))


def studentised(drawn: Resampled, null: Floats, level: float = LEVEL, test: str = "") -> list[Outcome]:
    """Test estimates against null values by the studentised bootstrap, symmetric and equal-tailed at once.

    The symmetric test (by the size of a deviation) errs too often if differences are skewed, the equal-tailed one (by
    its sides) if they have heavy tails; each is right if the other is wrong. So both have to be significant: p is the
    larger of the two, and the interval is the hull of both: it excludes exactly the null values for which p is at most
    1 - level. One-sided p-values are NaN if all units are alike.

    References
    ----------
    Davison and Hinkley 1997, Bootstrap Methods, section 5.2 (equal-tailed); Hall 1988, Ann Stat 16:927 (symmetric).
    """
    draws = len(drawn.draws)
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = (drawn.draws - drawn.estimate) / drawn.errors  # infinite if a resample has one value
        observed = (drawn.estimate - null) / drawn.error
    deviation[np.isnan(deviation)] = 0
    size = np.abs(deviation)
    spread = drawn.error > 0
    fixed = np.where(spread, 1.0, np.nan)
    over, under, beyond = (
        (count.sum(axis=0) + 1) / (draws + 1)
        for count in (deviation >= observed, deviation <= observed, size >= np.abs(observed))
    )
    upward = observed > 0
    above = np.maximum(over, np.where(upward, beyond / 2, 1 - beyond / 2)) * fixed
    below = np.maximum(under, np.where(upward, 1 - beyond / 2, beyond / 2)) * fixed
    reach = _largest(size, 1 - level)
    up, down = (np.maximum(reach, _largest(way, (1 - level) / 2)) for way in (deviation, -deviation))
    with np.errstate(invalid="ignore"):
        low = drawn.estimate - np.where(spread, up * drawn.error, 0.0)
        high = drawn.estimate + np.where(spread, down * drawn.error, 0.0)
    p = np.minimum(1.0, 2 * np.minimum(above, below))
    columns = (drawn.estimate, low, high, observed, above, below, p)
    return [
        Outcome(estimate, lower, upper, test, statistic, *sides)
        for estimate, lower, upper, statistic, *sides in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _largest(deviations: Floats, share: float) -> Floats:
    """Return the drawn deviation that an observed one must exceed for a p of at most `share`, (tests,).

    Infinite if the draws are too few for so small a p.
    """
    rank = int(np.floor(share * (len(deviations) + 1) + 1e-9))
    if rank < 1:
        return np.full(deviations.shape[1], np.inf)
    return np.asarray(np.partition(deviations, -rank, axis=0)[-rank])


def log_ratio(sample: Units, powers: Floats, seed: int, draws: int = DRAWS) -> Resampled:
    """Draw bootstrap estimates of the log of a product of powers of means: of `a / b`, or of `(a / b) / (c / d)`.

    Parameters
    ----------
    sample : Units
        With all means above 0.
    powers : (cells,) array
        1 or -1 each; they sum to 0.
    """
    parts, means = sample.parts.T, sample.means
    first, second = np.triu_indices(len(powers))
    products = parts[:, first] * parts[:, second]
    doubled = np.where(first == second, 1.0, 2.0) * powers[first] * powers[second]
    logs, errors = [], []
    for counts in resample_counts(sample, draws, seed):
        drawn, square = counts @ parts, counts @ products
        with np.errstate(invalid="ignore", divide="ignore"):
            logs.append(np.log(drawn) @ powers)
            errors.append((square / (drawn[:, first] * drawn[:, second])) @ doubled)
    influence = parts @ (powers / means)
    influence[np.abs(influence) <= 1e-12 * (parts / means).max(axis=1)] = 0
    whole = np.concatenate(logs)
    keep = np.isfinite(whole)
    return Resampled(
        np.array([powers @ np.log(means)]),
        np.array([np.sqrt((influence**2).sum())]),
        whole[keep, None],
        np.sqrt(np.maximum(np.concatenate(errors)[keep, None], 0)),
    )


def strata_of(sample: Units) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return the units of each dataset."""
    return [np.flatnonzero(sample.stratum == k) for k in range(len(sample.sizes))]


def stratum_means(sample: Units, contributions: Floats) -> Floats:
    """Return the mean of the stratum of each unit, per unit of share, (units, tests)."""
    means = np.empty_like(contributions)
    for rows in strata_of(sample):
        means[rows] = contributions[rows].sum(axis=0) / sample.share[rows].sum()
    return means

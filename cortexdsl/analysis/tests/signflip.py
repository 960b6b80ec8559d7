"""The paired sign-flip permutation test, exact wherever it can be.

If two methods are exchangeable within a question, the sign of each question's difference is a fair coin.
The p-value is the share of all 2^n sign patterns whose sum lies as far from zero as the observed one.
Accuracies averaged over a few replicates live on a lattice of whole multiples of one step, and then the
distribution of the sum is a convolution of stretched binomials: exact for any number of questions. With one
replicate that is McNemar's exact test. Elsewhere all patterns are enumerated when they are few, else drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from cortexdsl.terms import Floats

DRAWS = 10_000
_LATTICE = 20_000  # the most steps of the convolved distribution
ENUMERATED = 13  # 2^13 patterns are fewer than the draws
TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Flip:
    """A two-sided sign-flip p-value.

    Attributes
    ----------
    p : float
    error : float or None
        The Monte Carlo standard error of `p`; None where it is exact.
    """

    p: float
    error: float | None = None


def sign_flip(contributions: Floats, step: float | None, seed: int, draws: int = DRAWS) -> list[Flip]:
    """Test that each column's sum is 0.

    Parameters
    ----------
    contributions : (units, tests) array
        What each unit contributes to each estimate.
    step : float or None
        Contributions may be whole multiples of it; tried first.
    seed : int
        Of the drawn signs. All tests share them, so that a test does not depend on what else is tested.
    draws : int
        Sign patterns to draw where neither exact way is open; the smallest p is 1 / (draws + 1).

    Returns
    -------
    list of Flip
        One a column.

    References
    ----------
    Pagano and Tritchler 1983, JASA 78:435 (the exact distribution by convolution);
    Phipson and Smyth 2010, SAGMB 9:39 (the +1 of drawn p-values).
    """
    found = {i: exact for i in range(contributions.shape[1]) if (exact := _exact(contributions[:, i], step))}
    rest = [i for i in range(contributions.shape[1]) if i not in found]
    if rest:
        found |= dict(zip(rest, _drawn(contributions[:, rest], seed, draws), strict=True))
    return [found[i] for i in range(contributions.shape[1])]


def _exact(values: Floats, step: float | None) -> Flip | None:
    moved = values[values != 0]
    if step and (whole := _lattice(moved, step)) is not None:
        return Flip(_convolved(whole))
    moved = moved[np.abs(moved) > TIE * np.abs(values).max(initial=0)]
    if len(moved) > ENUMERATED:
        return None
    sums = patterns(len(moved)) @ moved
    return Flip(float(np.mean(np.abs(sums) >= abs(moved.sum()) - TIE * np.abs(moved).sum())))


def _lattice(values: Floats, step: float) -> Floats | None:
    """The values in whole steps, or None where they are off the lattice or it is too fine."""
    whole = np.rint(values / step)
    if np.abs(values / step - whole).max(initial=0) > 1e-6:
        return None
    divisor = np.gcd.reduce(whole.astype(np.int64)) if len(whole) else 1
    whole = whole / max(divisor, 1)
    return whole if np.abs(whole).sum() <= _LATTICE else None


def _convolved(whole: Floats) -> float:
    """P(|sum of s_i w_i| >= |sum of w_i|) over independent fair signs s."""
    distribution = np.ones(1)
    for magnitude, count in zip(*np.unique(np.abs(whole).astype(np.int64), return_counts=True), strict=True):
        if magnitude:
            stretched = np.zeros(magnitude * count + 1)
            stretched[::magnitude] = stats.binom.pmf(np.arange(count + 1), count, 0.5)
            distribution = np.convolve(distribution, stretched)
    sums = 2 * np.arange(len(distribution)) - (len(distribution) - 1)
    return min(1.0, float(distribution[np.abs(sums) >= abs(whole.sum()) - 0.5].sum()))


@lru_cache(maxsize=ENUMERATED + 1)
def patterns(count: int) -> Floats:
    """All patterns of signs, (2^count, count)."""
    bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    return np.asarray(2.0 * bits - 1)


def random_signs(units: int, draws: int, seed: int) -> list[Floats]:
    """Fair signs in blocks of (up to 1,000, units), the same for the same arguments."""
    random = np.random.default_rng([seed, units])
    sizes = [min(1000, draws - start) for start in range(0, draws, 1000)]
    return [np.where(random.random((size, units), dtype=np.float32) < 0.5, -1.0, 1.0) for size in sizes]


def _drawn(contributions: Floats, seed: int, draws: int) -> list[Flip]:
    observed = np.abs(contributions.sum(axis=0)) - TIE * np.abs(contributions).sum(axis=0)
    beyond = np.zeros(contributions.shape[1])
    for signs in random_signs(len(contributions), draws, seed):
        beyond += (np.abs(signs @ contributions) >= observed).sum(axis=0)
    p = (beyond + 1) / (draws + 1)
    return [Flip(float(value), float(np.sqrt(value * (1 - value) / draws))) for value in p]


def mcnemar_mid_p(first_only: int, second_only: int) -> float:
    """McNemar's mid-p: the exact two-sided p less the probability of the observed split.

    Parameters
    ----------
    first_only, second_only : int
        Questions that only the first, only the second method has right.

    References
    ----------
    Fagerland, Lydersen and Laake 2013, BMC Med Res Methodol 13:91.
    """
    pairs = first_only + second_only
    if first_only == second_only:
        return 1.0 - (float(stats.binom.pmf(first_only, pairs, 0.5)) if pairs else 0.0)
    smaller = min(first_only, second_only)
    tail = stats.binom.cdf(smaller, pairs, 0.5) - 0.5 * stats.binom.pmf(smaller, pairs, 0.5)
    return float(2 * tail)

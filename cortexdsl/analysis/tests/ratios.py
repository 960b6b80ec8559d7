"""Ratios of two means, tested as differences: the first less r times the second, against 0.

No logarithm is taken, so that a ratio of accuracies rests on the same pseudo-questions as their difference, and twenty
questions that are all alike prove nothing. The interval holds the ratios that the test does not reject (Fieller).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize

from cortexdsl.analysis.tests.outcome import Outcome, two_sided

Sides = Callable[[float], tuple[float, float]]
"""From a ratio r to one-sided p-values against "first - r second is at most 0" and "at least 0"."""

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
        Of the test.
    level : float
        Of the interval.

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

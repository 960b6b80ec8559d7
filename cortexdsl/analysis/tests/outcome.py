"""The result of a test: an estimate, its interval, and p-values in both directions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

UNTESTED = "none: "
"""How the name of a test begins if nothing was tested; the reason follows."""
CERTAIN = "certain by the plan: every debate has the same number"
"""The name of the test of a metric that the plan leaves no choice."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a test.

    Attributes
    ----------
    estimate, low, high : float
        The contrast (or ratio, or mean) and its interval: the null values that the same test does not reject.
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


def untested(why: str, estimate: float = np.nan) -> Outcome:
    """Return an outcome that says why there is no test."""
    return Outcome(estimate, np.nan, np.nan, f"{UNTESTED}{why}", np.nan, np.nan, np.nan, np.nan)


def certain(estimate: float, null: float) -> Outcome:
    """Return the outcome for a number that the plan fixes: p is 0 or 1, and the interval has no width."""
    if abs(estimate - null) <= _ROUNDING * max(1.0, abs(null)):
        return Outcome(estimate, estimate, estimate, CERTAIN, np.nan, 1.0, 1.0, 1.0)
    above = float(estimate < null)
    return Outcome(estimate, estimate, estimate, CERTAIN, np.nan, above, 1 - above, 0.0)


def two_sided(above: float, below: float) -> float:
    """Return the two-sided p-value of two one-sided ones."""
    return min(1.0, 2 * min(above, below))

"""Evidence on one mean, as of now: exact where its values have bounds, asymptotic where they have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from cortexdsl.analysis.sequential import asymptotic, betting
from cortexdsl.terms import Floats

_FAR = 1e6  # so many standard deviations away, what is not refuted never will be
_NEAR = 1e-9

Evidence = Callable[[float], float]
"""From a null value to a log e-value."""


@dataclass(frozen=True, slots=True, eq=False)
class Mean:
    """The mean of values that came one after the other.

    Evidence is that of the last observation, not the largest so far: so it agrees with the estimate that stands beside
    it, and never contradicts what a test of the same data with a fixed number of questions finds.

    Attributes
    ----------
    values : (observations,) array
    bounds : (float, float) or None
        Between which every value must lie.
    """

    values: Floats
    bounds: tuple[float, float] | None

    @property
    def name(self) -> str:
        """What the evidence is called."""
        return "e-process of the mean" if self.bounds else "e-process of the mean, asymptotic"

    def above(self, null: float) -> float:
        """The log e-value against "the mean is at most null"."""
        if not len(self.values):
            return 0.0
        if self.bounds is None:
            return float(asymptotic.evidence_above(self.values, null)[-1])
        low = self.bounds[0]
        return float(betting.evidence_above(self.values, null, low)[-1]) if null > low else 0.0

    def below(self, null: float) -> float:
        """The log e-value against "the mean is at least null"."""
        turned = Mean(-self.values, (-self.bounds[1], -self.bounds[0]) if self.bounds else None)
        return turned.above(-null)

    def interval(self, level: float) -> tuple[float, float]:
        """The means that are not refuted, valid however often one looks; NaN while either side has no end."""
        if not len(self.values):
            return np.nan, np.nan
        centre, reach = float(self.values.mean()), _FAR * (float(self.values.std()) or 1.0)
        low, high = self.bounds or (centre - reach, centre + reach)
        inside = _NEAR * (high - low) if self.bounds else 0.0
        bound = np.log(2 / (1 - level))
        ends = (_end(self.above, centre, low + inside, bound), _end(self.below, centre, high - inside, bound))
        if self.bounds:
            return (low if np.isnan(ends[0]) else ends[0], high if np.isnan(ends[1]) else ends[1])
        return (np.nan, np.nan) if np.isnan(ends).any() else ends


def ratio_interval(
    top: Floats, bottom: Floats, level: float, bounds: tuple[float, float] | None = None
) -> tuple[float, float]:
    """The ratios r of two means for which mean(top - r * bottom) = 0 is not refuted; NaN while there is no end.

    Fieller's way, with evidence that holds however often one looks.

    Parameters
    ----------
    top, bottom : (observations,) arrays
        With means above 0.
    bounds : (float, float) or None
        Between which all values of both must lie; the lower is 0.
    """
    ratio, bound = float(top.mean() / bottom.mean()), np.log(2 / (1 - level))

    def left(r: float) -> Mean:
        return Mean(top - r * bottom, (-r * bounds[1], bounds[1]) if bounds else None)

    low = _end(lambda r: left(r).above(0.0), ratio, _NEAR * ratio, bound)
    high = _end(lambda r: left(r).below(0.0), ratio, _FAR * ratio, bound)
    return (np.nan, np.nan) if np.isnan([low, high]).any() else (low, high)


def anytime_p(log_evidence: float, sides: int = 2) -> float:
    """The p-value that holds whenever one stops: sides / the e-value, at most 1 (Ville's inequality)."""
    return float(min(1.0, sides * np.exp(-log_evidence)))


def _end(evidence: Evidence, inside: float, outside: float, bound: float) -> float:
    """Where evidence, which grows from `inside` to `outside`, reaches a bound; NaN where it never does."""
    if inside == outside or evidence(outside) < bound:
        return np.nan
    return float(brentq(lambda null: evidence(null) - bound, inside, outside, xtol=1e-12, rtol=1e-9))

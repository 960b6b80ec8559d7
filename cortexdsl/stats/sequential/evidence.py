"""Evidence on one mean that stays valid however often one looks: e-values, p-values and confidence sequences.

Values with known bounds are tested by betting, exactly. A gambler who bets on the next value, at fair odds under the
null hypothesis, multiplies their stake by 20 with probability at most 1/20 at whatever moment they stop (Ville's
inequality); the stake is the e-value. It is spread evenly over a grid of bet sizes, so it needs no tuning. Since
log(1 + u) <= u, a stake grows only if the sample mean is on the side of the bet.

For values without known bounds (tokens, seconds, dollars) no exact test exists: one value too large to be seen so far
could be the whole mean. But a central limit theorem holds at all times at once: sums of many values, divided by their
observed spread, move like a Brownian motion, and Robbins' mixture is a fair game on that motion. This guarantee is
asymptotic, and the names of these tests say so. Two precautions make it hold for skewed values from some twenty
observations on (docs/benchmarks/stopping.md): the spread is taken about the null value, so that a few values alone
prove nothing; and each side is compared with two further observations as extreme as the most extreme one against it,
because a skewed sample lacks its tail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from cortexdsl.core import Floats
from cortexdsl.stats.inference.roots import crossing

BETS = np.geomspace(0.01, 0.9, 20)


def betting_above(values: Floats, null: float, low: float) -> Floats:
    """Return log e-values, after each observation, against "the mean is at most null", by betting.

    Parameters
    ----------
    values : (observations,) array
        Independent, with one mean, at least `low`; in order.
    null : float
        Above `low`.

    Returns
    -------
    (observations,) array
        log of the mean, over bets b in (0, 1), of prod_t (1 + b (x_t - null) / (null - low)).

    References
    ----------
    Waudby-Smith and Ramdas 2024, JRSS B 86:1, section 4 (capital processes of bounded means).
    """
    odds = (values - null) / (null - low)
    stakes = np.cumsum(np.log1p(BETS[:, None] * odds), axis=1)
    return np.asarray(np.logaddexp.reduce(stakes, axis=0) - np.log(len(BETS)))


MIXTURE = 0.04  # variance of the mixture, in squared standard deviations: tightest at about 200 observations
AGAINST = 2  # further observations against the tested side


def mixture_above(values: Floats, null: float) -> Floats:
    """Return asymptotic log e-values, after each observation, against "the mean is at most null".

    Parameters
    ----------
    values : (observations,) array
        Independent, with one mean and a finite variance; in order.
    null : float

    Returns
    -------
    (observations,) array
        With S and V the sums of x - null and of its square, n their number (the further observations included), and
        m the variance of the mixture: log of 2 Phi(u) exp(u^2 / 2) / sqrt(1 + n m), u = S sqrt(m n / (V (1 + n m))).
        At most 0 if S is.

    References
    ----------
    Robbins 1970, Annals of Mathematical Statistics 41:1397 (the mixture, here its upper half); Waudby-Smith, Arbour,
    Sinha, Kennedy and Ramdas 2024, Annals of Statistics 52:2613 (asymptotic confidence sequences, Theorem 2.2).
    """
    moved = values - null
    worst = np.maximum.accumulate(np.maximum(-moved, 0.0))
    total = np.cumsum(moved) - AGAINST * worst
    squares = np.cumsum(moved**2) + AGAINST * worst**2
    count = np.arange(1, len(values) + 1) + AGAINST
    room = 1 + count * MIXTURE
    with np.errstate(invalid="ignore", divide="ignore"):
        lean = np.where(squares > 0, total * np.sqrt(MIXTURE * count / (squares * room)), 0.0)
    log_evidence = np.log(2) + log_ndtr(lean) + lean**2 / 2 - np.log(room) / 2
    return np.asarray(np.where(squares > 0, log_evidence, 0.0))


_FAR = 1e6  # standard deviations; a limit beyond this counts as none
_NEAR = 1e-9

Evidence = Callable[[float], float]
"""A function from a null value to a log e-value."""


@dataclass(frozen=True, slots=True, eq=False)
class Mean:
    """The mean of values in order of observation.

    The evidence is that after the last observation, not the largest so far. So it agrees with the estimate, and never
    contradicts a test of the same data with a fixed number of questions.

    Attributes
    ----------
    values : (observations,) array
    bounds : (float, float) or None
        The range of every value; None if it has no bounds.
    """

    values: Floats
    bounds: tuple[float, float] | None

    @property
    def name(self) -> str:
        """The name of the test."""
        return "e-process of the mean" if self.bounds else "e-process of the mean, asymptotic"

    def above(self, null: float) -> float:
        """Return the log e-value against "the mean is at most null"."""
        if not len(self.values):
            return 0.0
        if self.bounds is None:
            return float(mixture_above(self.values, null)[-1])
        low = self.bounds[0]
        return float(betting_above(self.values, null, low)[-1]) if null > low else 0.0

    def below(self, null: float) -> float:
        """Return the log e-value against "the mean is at least null"."""
        turned = Mean(-self.values, (-self.bounds[1], -self.bounds[0]) if self.bounds else None)
        return turned.above(-null)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the confidence sequence of the mean, valid however often one looks; NaN while a side has no end."""
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
    """Return the ratios r of two means for which mean(top - r * bottom) = 0 is not rejected; NaN while a side is open.

    This is Fieller's interval with evidence that stays valid however often one looks.

    Parameters
    ----------
    top, bottom : (observations,) arrays
        Their means are above 0.
    bounds : (float, float) or None
        The range of all values of both; the lower end is 0.
    """
    ratio, bound = float(top.mean() / bottom.mean()), np.log(2 / (1 - level))

    def left(r: float) -> Mean:
        return Mean(top - r * bottom, (-r * bounds[1], bounds[1]) if bounds else None)

    low = _end(lambda r: left(r).above(0.0), ratio, _NEAR * ratio, bound)
    high = _end(lambda r: left(r).below(0.0), ratio, _FAR * ratio, bound)
    return (np.nan, np.nan) if np.isnan([low, high]).any() else (low, high)


def anytime_p(log_evidence: float, sides: int = 2) -> float:
    """Return the p-value that stays valid whenever one stops: sides / e-value, at most 1 (Ville's inequality)."""
    return float(min(1.0, sides * np.exp(-log_evidence)))


def _end(evidence: Evidence, inside: float, outside: float, bound: float) -> float:
    """Return where evidence, which grows from `inside` to `outside`, reaches a bound; NaN if it does not."""
    return np.nan if inside == outside else crossing(lambda null: evidence(null) - bound, inside, outside)

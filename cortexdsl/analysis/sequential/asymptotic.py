"""Evidence on a mean whose values have no known bounds (tokens, seconds, dollars), however often one looks.

Without bounds nothing exact exists: one value too large to be seen so far could be the whole mean. What exists is a
central limit theorem that holds at all times at once: sums of many values, divided by the spread that was seen, move
like a Brownian motion, and Robbins' mixture is a fair game on that motion. So the guarantee is asymptotic, and its
verdicts say so by name.

Two things make it hold for skewed values from some twenty observations on (docs/benchmarks/statistics.md): the spread
is taken about the null value, so that a few values alone prove nothing; and each side is held against two more
observations as extreme as the most extreme one that speaks against it, since what a skewed sample lacks is its tail.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from cortexdsl.terms import Floats

MIXTURE = 0.04  # variance of the mixture, in squared standard deviations: tightest at about 200 observations
AGAINST = 2  # further observations on the other side


def evidence_above(values: Floats, null: float) -> Floats:
    """Log e-values (asymptotic), after each observation, against "the mean is at most null".

    Parameters
    ----------
    values : (observations,) array
        Independent, with one mean and a finite variance; in the order in which they were made.
    null : float

    Returns
    -------
    (observations,) array
        With S and V the sums of x - null and of its square, n their number (the further observations included), and
        m the variance of the mixture: log of 2 Phi(u) exp(u^2 / 2) / sqrt(1 + n m), u = S sqrt(m n / (V (1 + n m))).
        At most 0 wherever S is.

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
    found = np.log(2) + log_ndtr(lean) + lean**2 / 2 - np.log(room) / 2
    return np.asarray(np.where(squares > 0, found, 0.0))


def evidence_below(values: Floats, null: float) -> Floats:
    """Log e-values (asymptotic) against "the mean is at least null"."""
    return evidence_above(-values, -null)

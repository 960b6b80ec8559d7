"""Evidence on a mean whose values have known bounds, exact however often one looks: betting.

A gambler who bets on the next value, at fair odds under the null hypothesis, multiplies their stake by 20 with
probability at most 1/20 at whatever moment they stop (Ville's inequality). The stake is the e-value. Here it is spread
evenly over a grid of bet sizes, so that it depends on what was seen and on no tuning.

Since log(1 + u) <= u, a stake grows only where the mean lies on the side that was bet on: evidence for a mean above a
value never comes without a sample mean above it.
"""

from __future__ import annotations

import numpy as np

from cortexdsl.terms import Floats

BETS = np.geomspace(0.01, 0.9, 20)


def evidence_above(values: Floats, null: float, low: float) -> Floats:
    """Log e-values, after each observation, against "the mean is at most null".

    Parameters
    ----------
    values : (observations,) array
        Independent, with one mean, at least `low`; in the order in which they were made.
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


def evidence_below(values: Floats, null: float, high: float) -> Floats:
    """Log e-values against "the mean is at least null"; values are at most `high`, null below it."""
    return evidence_above(-values, -null, -high)

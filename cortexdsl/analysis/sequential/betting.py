"""Evidence that may be looked at after every question: e-processes and confidence sequences.

A gambler who bets on the sign of the next difference, at fair odds under the null hypothesis, multiplies their
stake by 20 with probability at most 1/20, however often they look (Ville's inequality). The stake is the e-value.
Here the stake is spread evenly over a grid of bet sizes, so that it depends on what was seen and on no tuning.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from cortexdsl.terms import Floats

BETS = np.geomspace(0.01, 0.9, 20)
_GRID = 201


def evidence_above(values: Floats, null: Floats | float, low: float) -> Floats:
    """Log e-values, after each observation, against "the mean is at most null".

    Parameters
    ----------
    values : (observations,) array
        Independent, with one mean, at least `low`; in the order in which they were made.
    null : float or (nulls,) array
        Above `low`.

    Returns
    -------
    (observations,) or (nulls, observations) array
        log of the mean, over bets b in (0, 1), of prod_t (1 + b (x_t - null) / (null - low)).

    References
    ----------
    Waudby-Smith and Ramdas 2024, JRSS B 86:1, section 4 (capital processes of bounded means).
    """
    nulls = np.atleast_1d(np.asarray(null, dtype=np.float64))
    total = np.full((len(nulls), len(values)), -np.inf)
    odds = (values[None, :] - nulls[:, None]) / (nulls[:, None] - low)
    for bet in BETS:
        total = np.logaddexp(total, np.cumsum(np.log1p(bet * odds), axis=1))
    total -= np.log(len(BETS))
    return total if np.ndim(null) else np.asarray(total[0])


def evidence_below(values: Floats, null: Floats | float, high: float) -> Floats:
    """Log e-values against "the mean is at least null"; values are at most `high`, null below it."""
    return evidence_above(-values, -np.asarray(null) if np.ndim(null) else -float(null), -high)


def sign_evidence(values: Floats) -> Floats:
    """Log e-values, after each observation, against "a value above 0 is at most as probable as one below".

    The chance that a value that is not 0 lies above 0 has a uniform prior on (1/2, 1]:
    2^(n+1) * integral from 1/2 to 1 of p^w (1 - p)^(n - w) dp, with w of n values above 0.
    """
    wins, losses = np.cumsum(values > 0), np.cumsum(values < 0)
    whole = special.betaln(wins + 1, losses + 1)
    upper = special.betainc(losses + 1, wins + 1, 0.5)
    with np.errstate(divide="ignore"):
        return np.asarray((wins + losses + 1) * np.log(2) + whole + np.log(upper))


def anytime_p(log_evidence: Floats, sides: int = 2) -> float:
    """The p-value that holds however often one looked: sides / the largest e-value so far, at most 1."""
    return float(min(1.0, sides * np.exp(-log_evidence.max(initial=0.0))))


def confidence_sequence(values: Floats, low: float, high: float, level: float = 0.95) -> tuple[float, float]:
    """An interval of the mean that covers it at all times at once, as of the last observation.

    Values in [low, high]; the interval is read off a grid of 201 means.
    """
    grid = np.linspace(low, high, _GRID + 2)[1:-1]
    bound = np.log(2 / (1 - level))
    above = evidence_above(values, grid, low).max(axis=1, initial=0.0)
    below = evidence_below(values, grid, high).max(axis=1, initial=0.0)
    step = grid[1] - grid[0]
    kept = grid[(above < bound) & (below < bound)]
    if not len(kept):
        return float(values.mean()), float(values.mean())
    return float(max(low, kept[0] - step)), float(min(high, kept[-1] + step))

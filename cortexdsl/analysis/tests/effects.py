"""Effect sizes beside the difference itself, which always comes first."""

from __future__ import annotations

import numpy as np

from cortexdsl.terms import Floats


def discordant_odds_ratio(difference: Floats) -> float:
    """Questions won over questions lost, with half a question added to each where one is 0.

    Parameters
    ----------
    difference : (questions,) array
    """
    wins, losses = float((difference > 1e-12).sum()), float((difference < -1e-12).sum())
    if not wins + losses:
        return 1.0
    return wins / losses if wins and losses else (wins + 0.5) / (losses + 0.5)


def d_z(difference: Floats) -> float:
    """Mean over standard deviation of paired differences (Cohen's d_z); 0 where all are 0, NaN where all are equal."""
    mean = float(difference.mean())
    if len(difference) < 2 or np.ptp(difference) <= 1e-12 * max(1.0, abs(mean)):
        return 0.0 if abs(mean) < 1e-12 else np.nan
    return mean / float(difference.std(ddof=1))


def cliffs_delta(first: Floats, second: Floats) -> float:
    """P(a value of the first is larger than one of the second) minus the reverse, in [-1, 1].

    Unpaired: it describes how far the two distributions lie apart.

    References
    ----------
    Cliff 1993, Psychol Bull 114:494.
    """
    ordered = np.sort(second)
    smaller = np.searchsorted(ordered, first, side="left").sum()
    larger = (len(second) - np.searchsorted(ordered, first, side="right")).sum()
    return float((int(smaller) - int(larger)) / (len(first) * len(second)))

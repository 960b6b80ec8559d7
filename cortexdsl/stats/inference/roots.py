"""Where a function that rises reaches 0: ends of intervals, and the smallest effect that has enough power."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq


def crossing(rising: Callable[[float], float], start: float, end: float, precision: float = 1e-12) -> float:
    """Return where a function reaches 0 on the way from `start` to `end`, which may be below it.

    Parameters
    ----------
    rising : callable
        From a number to a number; rises from `start` to `end`.
    precision : float
        Of the place.

    Returns
    -------
    float
        `start` if the function is at least 0 there, as with data that decide at once; NaN if it stays below 0.
    """
    if rising(start) >= 0:
        return start
    if not rising(end) >= 0:
        return float("nan")
    return float(brentq(rising, start, end, xtol=precision, rtol=max(4 * np.finfo(float).eps, min(precision, 1e-9))))

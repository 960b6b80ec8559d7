"""Recalibration: a stated confidence becomes the one that the debate uses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cortexdsl.terms import Bin

_KEEP = Bin(0.0, 1.0, None)


def recalibrate(stated: float | None, bins: Sequence[Bin]) -> float | None:
    """Map a stated confidence through recalibration bins (CortexDebate, Eq. 2 and Algorithm 1).

    Parameters
    ----------
    stated : float or None
        As the agent said it; values outside [0, 1] are clipped for use (the record keeps them as stated).
    bins : sequence of Bin
        Cover [0, 1] without overlap; empty for none.

    Returns
    -------
    float or None
        In [0, 1]; None where none was stated.
    """
    if stated is None or math.isnan(stated):
        return None
    clipped = min(1.0, max(0.0, stated))
    # The topmost bin holds 1 itself, unless a bin for 1 alone stands above it, as ReConcile has.
    value = max((bin_ for bin_ in bins if _holds(bin_, clipped)), key=lambda bin_: bin_.low, default=_KEEP).value
    return clipped if value is None else value


def _holds(bin_: Bin, value: float) -> bool:
    above = value > bin_.low or (value == bin_.low and not bin_.low_open)
    # [0.8, 1] is what papers mean by ">= 0.8".
    below = value < bin_.high or (value == bin_.high and (bin_.high_closed or bin_.high == 1.0))
    return above and below

"""Recalibration: a stated confidence becomes the one that the debate uses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cortexdsl.terms import Bin


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
    # Bins leave no hole, so that the one that begins last before the value holds it: the topmost holds 1 itself, unless
    # a bin for 1 alone stands above it, as ReConcile has.
    begun = [bin_ for bin_ in bins if (bin_.low < clipped if bin_.low_open else bin_.low <= clipped)]
    value = max(begun, key=lambda bin_: (bin_.low, bin_.low_open)).value if begun else None
    return clipped if value is None else value

"""Which incoming edges a listener keeps (CortexDebate, Eq. 10-12 and Table 9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cortexdsl.terms import Bools, Floats, Keep

TOLERANCE = 1e-9
"""Relative: equal weights are all kept, and no order of agents shows, whatever the rounding of their mean."""


def kept(weight: Floats, rule: Keep) -> Bools:
    """Keep edges by weight.

    Parameters
    ----------
    weight : (S, L) array
        `weight[speaker, listener]`; NaN where no edge can be.
    rule : Keep
        `mean`, `median`: at least the mean (median) of the listener's own incoming weights. `mean_of_all`:
        at least the mean of all weights; a listener whom that leaves nobody keeps its highest. `top`, `drop_bottom`:
        the k highest, all but the k lowest, ties at the boundary kept, and among those more than `floor` if there is
        one. `above`: more than a threshold. `all`.

    Returns
    -------
    (S, L) bool array
        Every listener keeps somebody, except under `above` and with a floor.
    """
    possible = ~np.isnan(weight)
    if rule.floor is not None:
        possible &= np.where(possible, weight, -np.inf) > rule.floor
        weight = np.where(possible, weight, np.nan)
    if rule.rule == "all" or not possible.any():
        return possible
    if rule.rule == "above":
        return possible & (np.where(possible, weight, -np.inf) > (rule.number or 0.0))
    known = np.where(possible, weight, -np.inf)
    if rule.rule == "mean_of_all":
        overall = _mean(weight[possible].reshape(-1, 1), np.array([possible.sum()]))
        least = np.minimum(overall, known.max(axis=0))
    else:
        least = _least(weight, possible, rule)
    return np.asarray(possible & (known >= least))


def _least(weight: Floats, possible: Bools, rule: Keep) -> Floats:
    """Return the least weight that each listener keeps, the tolerance allowed for; of one who can hear nobody any."""
    count = possible.sum(axis=0)
    if rule.rule == "mean":
        return _mean(np.where(possible, weight, 0.0), count)
    ordered = np.sort(weight, axis=0)  # what is not possible comes last
    match rule.rule:
        case "median":
            boundary = (_at(ordered, (count - 1) // 2) + _at(ordered, count // 2)) / 2
        case "top":
            boundary = _at(ordered, count - np.minimum(int(rule.number or 1), count))
        case _:  # drop_bottom
            boundary = _at(ordered, np.minimum(int(rule.number or 0), count - 1))
    return np.asarray(boundary - TOLERANCE * np.abs(boundary))


def _at(ordered: Floats, place: NDArray[np.int_]) -> Floats:
    return np.asarray(ordered[place, np.arange(ordered.shape[1])])


def _mean(values: Floats, count: NDArray[np.int_]) -> Floats:
    """Return the mean of each column's `count` values, the others of which are 0, less what its rounding may be."""
    # The mean of the sizes is the scale of its rounding: weights of both signs may have a mean of almost 0.
    total, size = values.sum(axis=0), np.abs(values).sum(axis=0)
    return np.asarray((total - TOLERANCE * size) / np.maximum(count, 1))

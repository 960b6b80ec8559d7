"""Which incoming edges a listener keeps (CortexDebate, Eq. 10-12 and Table 9)."""

from __future__ import annotations

import numpy as np

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
        the k highest, all but the k lowest, ties at the boundary kept. `above`: more than a threshold. `all`.

    Returns
    -------
    (S, L) bool array
        Every listener keeps somebody, except under `above`.
    """
    possible = ~np.isnan(weight)
    if rule.rule == "all" or not possible.any():
        return possible
    if rule.rule == "above":
        return possible & (np.where(possible, weight, -np.inf) > (rule.number or 0.0))
    incoming = [weight[possible[:, v], v] for v in range(weight.shape[1])]
    if rule.rule == "mean_of_all":
        overall = _mean(weight[possible])
        least = [min(overall, values.max(initial=-np.inf)) for values in incoming]
    else:
        least = [_least(values, rule) if len(values) else np.inf for values in incoming]
    return possible & (np.where(possible, weight, -np.inf) >= np.array(least))


def _least(values: Floats, rule: Keep) -> float:
    """Return the least weight that one listener keeps, the tolerance allowed for."""
    match rule.rule:
        case "mean":
            return _mean(values)
        case "median":
            boundary = float(np.median(values))
        case "top":
            boundary = float(np.sort(values)[-min(int(rule.number or 1), len(values))])
        case _:  # drop_bottom
            boundary = float(np.sort(values)[min(int(rule.number or 0), len(values) - 1)])
    return boundary - TOLERANCE * abs(boundary)


def _mean(values: Floats) -> float:
    # The mean of the sizes is the scale of its rounding: weights of both signs may have a mean of almost 0.
    return float(np.mean(values) - TOLERANCE * np.mean(np.abs(values)))

"""Which incoming edges a listener keeps (CortexDebate, Eq. 10-12 and Table 9)."""

from __future__ import annotations

import numpy as np

from cortexdsl.terms import Bools, Floats, Keep

TOLERANCE = 1e-9  # relative: equal weights are all kept, whatever the rounding of their mean


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
    if not possible.any():
        return possible
    if rule.rule == "all":
        return possible
    if rule.rule == "above":
        return possible & (np.where(possible, weight, -np.inf) > (rule.number or 0.0))
    incoming = [weight[possible[:, v], v] for v in range(weight.shape[1])]
    if rule.rule == "mean_of_all":
        overall = float(np.mean(weight[possible]))
        threshold = np.array([min(overall, values.max(initial=-np.inf)) for values in incoming])
    else:
        threshold = np.array([_threshold(values, rule) if len(values) else np.inf for values in incoming])
    slack = TOLERANCE * np.abs(np.where(np.isfinite(threshold), threshold, 0.0))
    return possible & (np.where(possible, weight, -np.inf) >= threshold - slack)


def _threshold(values: Floats, rule: Keep) -> float:
    """Return the least weight that one listener keeps."""
    match rule.rule:
        case "mean":
            return float(np.mean(values))
        case "median":
            return float(np.median(values))
        case "top":
            place = len(values) - min(int(rule.number or 1), len(values))
        case _:  # drop_bottom
            place = min(int(rule.number or 0), len(values) - 1)
    return float(np.sort(values)[place])

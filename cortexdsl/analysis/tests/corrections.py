"""Adjusted p-values of comparisons that belong together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from statsmodels.stats.multitest import multipletests

from cortexdsl.errors import InputError
from cortexdsl.terms import Floats

CORRECTIONS = {"holm": "holm", "hommel": "hommel", "bh": "fdr_bh", "by": "fdr_by"}


def adjust(p: Sequence[float] | Floats, correction: str = "holm", absent: int = 0) -> Floats:
    """Adjust p-values at once.

    Parameters
    ----------
    p : sequence of float
        NaN (nothing could be tested) stays NaN and does not count.
    correction : str
        `holm` or `hommel` (family-wise error), `bh` or `by` (false discovery rate), `none`.

    absent : int
        Tests that belong to the family and are not here (claims declared before the run and withdrawn since): each
        counts as p = 1, so that leaving one out makes no other more significant.

    Returns
    -------
    (tests,) array

    References
    ----------
    Holm 1979; Hommel 1988; Benjamini and Hochberg 1995; Benjamini and Yekutieli 2001.
    """
    raw = np.asarray(p, dtype=np.float64)
    if correction == "none":
        return raw.copy()
    if correction not in CORRECTIONS:
        raise InputError(f"no correction {correction!r}; there are {', '.join([*CORRECTIONS, 'none'])}")
    adjusted, tested = raw.copy(), ~np.isnan(raw)
    if tested.any() and tested.sum() + absent > 1:
        whole = np.concatenate([raw[tested], np.ones(absent)])
        adjusted[tested] = multipletests(whole, method=CORRECTIONS[correction])[1][: tested.sum()]
    return adjusted

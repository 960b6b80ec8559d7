"""Adjusted p-values of comparisons that belong together, and the intervals that go with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from statsmodels.stats.multitest import multipletests

from cortexdsl.analysis.tests.intervals import LEVEL
from cortexdsl.errors import InputError
from cortexdsl.terms import Floats

CORRECTIONS = {"holm": "holm", "hommel": "hommel", "bh": "fdr_bh", "by": "fdr_by"}


def adjust(p: Sequence[float] | Floats, correction: str = "holm", absent: int = 0) -> Floats:
    """Adjust p-values at once.

    Parameters
    ----------
    p : sequence of float
        NaN (nothing could be tested) stays NaN, and counts as p = 1: what could not be tested was still asked.
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
    if tested.any() and len(raw) + absent > 1:
        whole = np.concatenate([np.where(tested, raw, 1.0), np.ones(absent)])
        adjusted[tested] = multipletests(whole, method=CORRECTIONS[correction])[1][: len(raw)][tested]
    return adjusted


def simultaneous_level(
    p: Sequence[float] | Floats, correction: str = "holm", level: float = LEVEL, absent: int = 0
) -> float:
    """Return the level of each interval with which all of a family hold together.

    Under `holm` and `hommel` that is Bonferroni's 1 - alpha / m: all intervals cover at once in at least `level` of
    experiments. Holm's own regions (Guilbaud 2008) say of a rejected difference its sign alone as long as one other
    is not rejected; the reader wants its size. Under `bh` and `by` it is 1 - r alpha / m with r significant ones: the
    expected share of significant differences whose interval misses is at most alpha. With `none` it is `level`.
    `absent` tests belong to the family and are not among `p`, as in `adjust`.

    References
    ----------
    Dunn 1961, JASA 56:52; Guilbaud 2008, Biometrical J 50:678; Benjamini and Yekutieli 2005, JASA 100:71.
    """
    tests, alpha = len(p) + absent, 1 - level
    if correction == "none" or tests < 2:
        return level
    if correction in ("holm", "hommel"):
        return 1 - alpha / tests
    found = max(int((adjust(p, correction, absent) <= alpha).sum()), 1)
    weaker = float((1 / np.arange(1, tests + 1)).sum()) if correction == "by" else 1.0
    return 1 - alpha * found / (tests * weaker)

"""Do several methods differ at all? Cochran's Q on the same questions, before any pair is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.contingency_tables import cochrans_q as _cochrans_q

from cortexdsl.analysis.tests.contrasts import gap_of
from cortexdsl.analysis.units.table import ScoreTable, score_table
from cortexdsl.analysis.units.units import Units, units
from cortexdsl.spec.claims.arms import Arm, arms_of, find_arm
from cortexdsl.terms import Family, Floats

COLUMNS = ("family", "dataset", "metric", "cells", "test", "statistic", "freedom", "p", "n_questions")


@dataclass(frozen=True, slots=True)
class Omnibus:
    """A test that several cells have one mean."""

    test: str
    statistic: float
    freedom: int
    p: float


def cochrans_q(values: Floats) -> Omnibus:
    """Cochran's Q of (questions, methods) values.

    With 0/1 values this is Cochran's test. With means over replicates it is the same permutation statistic,
    (k - 1) sum_j (T_j - mean T)^2 / sum_ij (y_ij - mean_i y)^2, against the same chi-squared distribution.

    References
    ----------
    Cochran 1950, Biometrika 37:256; Berry, Johnston and Mielke 2014, chapter 8.
    """
    methods = values.shape[1]
    if np.isin(values, (0.0, 1.0)).all() and (np.ptp(values, axis=1) > 0).any():
        found = _cochrans_q(values)
        return Omnibus("Cochran's Q", float(found.statistic), methods - 1, float(found.pvalue))
    within = ((values - values.mean(axis=1, keepdims=True)) ** 2).sum()
    if within <= 0:
        return Omnibus("Cochran's Q", 0.0, methods - 1, 1.0)
    totals = values.sum(axis=0)
    statistic = float((methods - 1) * ((totals - totals.mean()) ** 2).sum() / within)
    return Omnibus("Cochran's Q of means", statistic, methods - 1, float(stats.chi2.sf(statistic, methods - 1)))


def wald(sample: Units) -> Omnibus:
    """That all cells have one mean, by cluster-robust Wald test: F with clusters - 1 degrees of freedom."""
    contrasts = (sample.parts[1:] - sample.parts[:1]).T
    mean = contrasts.sum(axis=0)
    residual = contrasts - sample.share[:, None] * mean
    count, tests = contrasts.shape
    covariance = residual.T @ residual * count / (count - 1)
    statistic = float(mean @ np.linalg.pinv(covariance) @ mean) * (count - tests) / ((count - 1) * tests)
    return Omnibus("Wald over clusters", statistic, tests, float(stats.f.sf(statistic, tests, max(count - tests, 1))))


def omnibus_families(
    scores: pd.DataFrame | ScoreTable, families: Sequence[Family], metrics: Sequence[str], arms: Sequence[Arm] = ()
) -> pd.DataFrame:
    """Test, for every family, dataset and metric of 0/1 rows, that all its cells (the reference too) are equal.

    Returns
    -------
    DataFrame
        `COLUMNS`; families of two cells, other metrics and cells with gaps have no row. With clusters the
        cluster-robust Wald test stands in for Q, where there are more clusters than cells.
    """
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    known = tuple(arms) or arms_of(table.cells)
    rows = []
    for family in families:
        cells = tuple(dict.fromkeys(find_arm(known, name).cell for name in (*family.compare, family.to)))
        for metric in metrics if len(cells) > 2 else ():
            for dataset in table.datasets:
                sample = units(table, metric, cells, (dataset,))
                if not sample.binary or gap_of(sample, range(len(cells))):
                    continue
                if sample.clustered and len(sample.share) <= len(cells):
                    continue
                found = wald(sample) if sample.clustered else cochrans_q(sample.values.T)
                numbers = (found.test, found.statistic, found.freedom, found.p, int(sample.sizes.sum()))
                rows.append((family.name, dataset, metric, len(cells), *numbers))
    return pd.DataFrame(rows, columns=list(COLUMNS))

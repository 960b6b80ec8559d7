"""Methods over several datasets: mean ranks, Friedman's test, post-hoc comparisons.

The unit is the dataset: these tests ask whether methods differ on datasets like these, not whether they differ on the
questions of one. With few datasets only large and regular differences are significant.

References
----------
Demsar 2006, JMLR 7:1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from cortexdsl.errors import DataError
from cortexdsl.stats.inference.families import adjust
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.tables.units import units

RANK_COLUMNS = ("metric", "cell", "rank", "datasets", "iman_davenport", "p", "critical_difference")


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Methods ranked over datasets.

    Attributes
    ----------
    ranks : Series
        Mean rank of each method; 1 is best.
    datasets : int
    friedman : float
        Friedman's chi-squared, corrected for ties.
    iman_davenport : float
        F of Iman and Davenport, with k - 1 and (k - 1)(N - 1) degrees of freedom; infinite if all datasets rank alike.
    p : float
        Of that F; exact if it is infinite.
    nemenyi : DataFrame
        p of every pair, adjusted for all pairs.
    holm : Series
        p of every pair (`a - b`) by the normal distribution, adjusted by Holm.
    """

    ranks: pd.Series[float]
    datasets: int
    friedman: float
    iman_davenport: float
    p: float
    nemenyi: pd.DataFrame
    holm: pd.Series[float]


def iman_davenport(friedman: float, datasets: int, methods: int) -> tuple[float, float]:
    """Return F = (N - 1) chi2 / (N (k - 1) - chi2) and its p; if all datasets rank alike, p is exactly k! to the 1 - N.

    References
    ----------
    Iman and Davenport 1980; Demsar 2006, JMLR 7:1, section 3.2.2.
    """
    left = datasets * (methods - 1) - friedman
    if left <= 1e-9:  # all rank alike: F is infinite, but the probability of that is known
        return np.inf, float(factorial(methods)) ** (1 - datasets)
    statistic = (datasets - 1) * friedman / left
    return statistic, float(stats.f.sf(statistic, methods - 1, (methods - 1) * (datasets - 1)))


def critical_difference(methods: int, datasets: int, alpha: float = 0.05, control: bool = False) -> float:
    """Return the smallest significant difference of two mean ranks.

    Parameters
    ----------
    control : bool
        For comparisons with one method (Bonferroni-Dunn) rather than all pairs (Nemenyi).

    References
    ----------
    Demsar 2006, JMLR 7:1, Table 5 and Eq. on page 11.
    """
    spread = np.sqrt(methods * (methods + 1) / (6 * datasets))
    if control:
        return float(stats.norm.isf(alpha / (2 * (methods - 1))) * spread)
    return float(stats.studentized_range.isf(alpha, methods, np.inf) / np.sqrt(2) * spread)


def rank_methods(means: pd.DataFrame, higher_is_better: bool = True) -> Ranking:
    """Rank methods on each dataset and test whether they differ.

    Parameters
    ----------
    means : DataFrame
        Datasets by methods.

    Raises
    ------
    DataError
        There are fewer than 3 methods or 2 datasets, or a mean is missing.
    """
    import scikit_posthocs as posthocs

    datasets, methods = means.shape
    if methods < 3 or datasets < 2 or means.isna().to_numpy().any():
        raise DataError(
            f"ranks over datasets need 3 methods and 2 datasets without gaps; there are {methods} and {datasets}"
        )
    values = -means if higher_is_better else means
    ranks = values.rank(axis=1).mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        chi2 = float(np.nan_to_num(stats.friedmanchisquare(*values.to_numpy().T).statistic))
    statistic, p = iman_davenport(chi2, datasets, methods)
    names, by_name = [str(name) for name in means], ranks.to_numpy()
    pairs = [(i, j) for i in range(methods) for j in range(i + 1, methods)]
    spread = np.sqrt(methods * (methods + 1) / (6 * datasets))
    raw = [2 * float(stats.norm.sf(abs(by_name[i] - by_name[j]) / spread)) for i, j in pairs]
    holm = pd.Series(adjust(raw), index=[f"{names[i]} - {names[j]}" for i, j in pairs])
    return Ranking(ranks, datasets, chi2, statistic, p, posthocs.posthoc_nemenyi_friedman(values), holm)


def rank_cells(
    scores: pd.DataFrame | ScoreTable, metric: str, cells: Sequence[str] = (), higher_is_better: bool = True
) -> Ranking:
    """Rank cells of a table of scores over its datasets, by default all cells.

    Raises
    ------
    DataError
        A cell lacks values of a metric that has no bound for them: those that are there may be the better ones.
    """
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    chosen = tuple(cells) or table.cells
    rows = {}
    for name in table.datasets:
        own = units(table, metric, chosen, (name,))
        for cell, gaps in zip(chosen, own.gaps, strict=True):
            if gaps:
                lacking = f"{cell} lacks {gaps} values of {metric} on {name}"
                raise DataError(f"{table.source}: {lacking}, and cells are not ranked by the others")
        rows[name] = own.means
    return rank_methods(pd.DataFrame.from_dict(rows, orient="index", columns=list(chosen)), higher_is_better)


def rank_table(scores: pd.DataFrame | ScoreTable, metrics: Sequence[str], alpha: float = 0.05) -> pd.DataFrame:
    """Rank all cells of a table over its datasets, on each metric.

    Returns
    -------
    DataFrame
        `RANK_COLUMNS`, best cell first; no rows for one dataset, two cells, or a metric that some cell lacks on a
        dataset.
    """
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    rows: list[tuple[object, ...]] = []
    for metric in metrics if len(table.datasets) > 1 and len(table.cells) > 2 else ():
        try:
            ranking = rank_cells(table, metric, higher_is_better=table.metric(metric).better != "lower")
        except DataError:  # the comparisons of that metric report it
            continue
        width = critical_difference(len(ranking.ranks), ranking.datasets, alpha)
        tests = (ranking.datasets, ranking.iman_davenport, ranking.p, width)
        rows += [(metric, cell, rank, *tests) for cell, rank in ranking.ranks.sort_values(kind="stable").items()]
    return pd.DataFrame(rows, columns=list(RANK_COLUMNS))


def draw_ranks(axes: Any, ranks: pd.Series[float], width: float, **style: Any) -> None:
    """Draw a critical-difference diagram into axes: ranks that differ by at most `width` are joined by a bar.

    Parameters
    ----------
    axes : matplotlib Axes
    ranks : Series
        Mean rank of each method.
    width : float
        The critical difference.
    style
        Arguments of scikit-posthocs: `cd` to draw the width itself, `label_props`, `crossbar_props` ...
    """
    import scikit_posthocs as posthocs

    differ = np.abs(np.subtract.outer(ranks.to_numpy(), ranks.to_numpy())) > width
    p = pd.DataFrame(np.where(differ, 0.0, 1.0), ranks.index, ranks.index)
    drawn = posthocs.critical_difference_diagram(ranks, p, ax=axes, **style)
    for (bar,) in drawn["crossbars"]:  # their order is that of a set, which differs from run to run
        bar.set_xdata(np.sort(bar.get_xdata()))

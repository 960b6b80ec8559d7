"""Methods over several datasets: ranks, Friedman's test, who differs, and on how many datasets.

The unit here is the dataset, and only here: these tests ask whether methods differ on datasets like these, not
whether they differ on the questions of one. They need datasets; with three or four, nothing can be significant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from cortexdsl.analysis.tests.corrections import adjust
from cortexdsl.analysis.units.table import ScoreTable, score_table
from cortexdsl.analysis.units.units import units
from cortexdsl.errors import DataError
from cortexdsl.terms import Floats

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
        F of Iman and Davenport, with k - 1 and (k - 1)(N - 1) degrees of freedom; infinite where all datasets
        rank alike.
    p : float
        Of that F; exact where it is infinite.
    nemenyi : DataFrame
        p of every pair, for all pairs at once.
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
    """F = (N - 1) chi2 / (N (k - 1) - chi2), and its p; where all datasets rank alike, exactly k! to the 1 - N.

    References
    ----------
    Iman and Davenport 1980; Demsar 2006, JMLR 7:1, section 3.2.2.
    """
    left = datasets * (methods - 1) - friedman
    if left <= 1e-9:  # all rank alike: no F, but the chance that they do is known
        return np.inf, float(factorial(methods)) ** (1 - datasets)
    statistic = (datasets - 1) * friedman / left
    return statistic, float(stats.f.sf(statistic, methods - 1, (methods - 1) * (datasets - 1)))


def friedman_of_ranks(ranks: Sequence[float], datasets: int) -> float:
    """Friedman's chi-squared from mean ranks, without a correction for ties (Demsar 2006, section 3.2.2)."""
    k, squares = len(ranks), float(np.square(ranks).sum())
    return 12 * datasets / (k * (k + 1)) * (squares - k * (k + 1) ** 2 / 4)


def critical_difference(methods: int, datasets: int, alpha: float = 0.05, control: bool = False) -> float:
    """The difference of two mean ranks that is significant.

    Parameters
    ----------
    control : bool
        Against one method only (Bonferroni-Dunn), not all pairs (Nemenyi).

    References
    ----------
    Demsar 2006, JMLR 7:1, Table 5 and Eq. on page 11.
    """
    spread = np.sqrt(methods * (methods + 1) / (6 * datasets))
    if control:
        return float(stats.norm.isf(alpha / (2 * (methods - 1))) * spread)
    return float(stats.studentized_range.isf(alpha, methods, np.inf) / np.sqrt(2) * spread)


def z_against(ranks: Sequence[float], datasets: int, control: int) -> Floats:
    """Normal deviates of every method's mean rank from that of a control (Demsar 2006, section 3.2.2)."""
    k = len(ranks)
    return np.asarray((np.asarray(ranks) - ranks[control]) / np.sqrt(k * (k + 1) / (6 * datasets)))


def rank_methods(means: pd.DataFrame, higher_is_better: bool = True) -> Ranking:
    """Rank methods on each dataset and test whether they differ.

    Parameters
    ----------
    means : DataFrame
        Datasets by methods.

    Raises
    ------
    DataError
        With fewer than 3 methods or 2 datasets, or a mean that is missing.
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
    """Rank the cells of a table of scores over its datasets; all cells where none are named."""
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    chosen = tuple(cells) or table.cells
    rows = {name: units(table, metric, chosen, (name,)).means for name in table.datasets}
    return rank_methods(pd.DataFrame.from_dict(rows, orient="index", columns=list(chosen)), higher_is_better)


def rank_table(scores: pd.DataFrame | ScoreTable, metrics: Sequence[str], alpha: float = 0.05) -> pd.DataFrame:
    """Rank all cells of a table over its datasets, on each metric.

    Returns
    -------
    DataFrame
        `RANK_COLUMNS`, best cell first; no row with one dataset or two cells, nor for a metric that some cell lacks
        on a dataset.
    """
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    rows: list[tuple[object, ...]] = []
    for metric in metrics if len(table.datasets) > 1 and len(table.cells) > 2 else ():
        try:
            found = rank_cells(table, metric, higher_is_better=table.metric(metric).better != "lower")
        except DataError:  # its comparisons say so
            continue
        width = critical_difference(len(found.ranks), found.datasets, alpha)
        tests = (found.datasets, found.iman_davenport, found.p, width)
        rows += [(metric, cell, rank, *tests) for cell, rank in found.ranks.sort_values(kind="stable").items()]
    return pd.DataFrame(rows, columns=list(RANK_COLUMNS))


def replicability_count(p: Sequence[float], alpha: float = 0.05) -> int:
    """On how many datasets, at least, an effect is shown: the largest u with (n - u + 1) p_(u) <= alpha.

    Parameters
    ----------
    p : sequence of float
        One per dataset, one-sided, not adjusted.

    References
    ----------
    Dror, Baumer, Bogomolov and Reichart 2017, TACL 5:471 (Bonferroni's partial conjunction, Eq. 6).
    """
    ordered = np.maximum.accumulate(np.sort(p) * np.arange(len(p), 0, -1))
    return int((ordered <= alpha).sum())


def rank_diagram(ranking: Ranking, alpha: float = 0.05) -> Any:
    """Draw the critical-difference diagram; returns a matplotlib figure.

    Methods whose ranks do not differ significantly (Nemenyi) are joined by a bar.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 0.9 + 0.28 * len(ranking.ranks)), layout="constrained")
    width = critical_difference(len(ranking.ranks), ranking.datasets, alpha)
    draw_ranks(figure.add_subplot(), ranking.ranks, width, cd=width)
    return figure


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
        Passed on to scikit-posthocs: `cd` to draw the width itself, `label_props`, `crossbar_props` and so on.
    """
    import scikit_posthocs as posthocs

    differ = np.abs(np.subtract.outer(ranks.to_numpy(), ranks.to_numpy())) > width
    p = pd.DataFrame(np.where(differ, 0.0, 1.0), ranks.index, ranks.index)
    drawn = posthocs.critical_difference_diagram(ranks, p, ax=axes, **style)
    for (bar,) in drawn["crossbars"]:  # its points come in the order of a set, which differs from run to run
        bar.set_xdata(np.sort(bar.get_xdata()))

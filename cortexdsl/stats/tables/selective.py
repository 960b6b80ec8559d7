"""Metrics of the confidence of whole debates, question by question: calibration, and answering only if sure enough.

The accuracy-rejection curve has the accuracy of the share c of debates with the highest confidence, for each coverage c
(Nadeem, Zucker and Hanczar 2009, JMLR W&CP 8:65). Its area is the mean of that accuracy over the coverages 1/n, 2/n ...
1. The risk at a coverage is the share of wrong answers among these debates (El-Yaniv and Wiener 2010, JMLR 11:1605).
Debates of equal confidence are accepted in random order, and the expected value counts; a coverage between two debates
accepts the next one in part.

Neither is a mean of questions. As calibration errors do (`cortexdsl.stats.tables.calibration`), they enter a test by
their influence function: a value for each question whose mean is the estimate and whose spread over questions is that
of the estimate. Both are linear in the order of the debates, with a weight for each rank (an L-statistic; Serfling
1980, Approximation Theorems of Mathematical Statistics, section 8.1): 1/r + 1/(r + 1) + ... + 1/n at rank r for the
area, and 1 up to the coverage and 0 after it for the risk.

How fast the risk changes with the coverage depends on the debates next to the limit. If few share its confidence, the
share of wrong answers there is taken from the nearest n^(2/3) debates in the order of confidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cortexdsl.core import Bools, Floats
from cortexdsl.core.metric_types import Metric
from cortexdsl.core.metrics import RIGHT
from cortexdsl.errors import DataError
from cortexdsl.stats.tables.agreement import cohen_kappa, krippendorff_alpha, verdicts_and_labels
from cortexdsl.stats.tables.calibration import NO_AREA, linearised_areas, linearised_errors, rarer_units
from cortexdsl.stats.tables.score_table import Ints, ScoreTable

SCORE = "score"
"""The column that says whether a debate is right."""


def _confident_debates(table: ScoreTable, metric: Metric, cell: str, dataset: int) -> tuple[Floats, Floats, Ints]:
    """Return confidence, whether it is right, and question of each debate of a cell that has a confidence and a score.

    Raises
    ------
    DataError
        The table has no such rows or no scores, or a confidence is not in [0, 1].
    """
    if SCORE not in table.frame:
        raise DataError(f"{table.source}: no column {SCORE!r}, which {metric.name} needs")
    rows = (table.dataset == dataset) & (table.cell == table.cells.index(cell))
    if not rows.any():
        raise DataError(f"{table.source}: the cell {cell!r} has no row on the dataset {table.datasets[dataset]!r}")
    confidence, score = table.column(metric.column)[rows], table.column(SCORE)[rows]
    if ((confidence < 0) | (confidence > 1)).any():
        raise DataError(f"{table.source}: {metric.column} of {cell} is not from 0 to 1\n    confidences are shares")
    known = ~np.isnan(confidence) & ~np.isnan(score)
    right = (score[known] >= RIGHT).astype(np.float64)
    return confidence[known], right, table.question[rows][known]


@dataclass(frozen=True, slots=True, eq=False)
class LinearisedStatistic:
    """A statistic of all debates of a cell on one dataset, as a value for each question.

    Attributes
    ----------
    values : (questions,) array
        NaN if it has no value.
    debates, questions : int
        How many it is of.
    replicates : int
    absent : int
        Debates of the cell that it lacks.
    rarer : int
        Of an AUROC: the units with the rarer kind of answers.
    """

    values: Floats
    debates: int
    questions: int
    replicates: int
    absent: int
    rarer: int = NO_AREA


def linearised_statistic(table: ScoreTable, metric: Metric, cell: str, dataset: int) -> LinearisedStatistic:
    """Return a metric with a `statistic` of a cell on one dataset.

    Raises
    ------
    DataError
        As `_confident_debates` and `verdicts_and_labels` do.
    """
    clusters, rarer = table.clusters[dataset], NO_AREA
    rows = (table.dataset == dataset) & (table.cell == table.cells.index(cell))
    if metric.statistic in ("kappa", "alpha"):
        verdicts, labels = verdicts_and_labels(table, rows)
        of_kappa = metric.statistic == "kappa"
        estimate, influence = cohen_kappa(verdicts, labels) if of_kappa else krippendorff_alpha(verdicts + labels)
        question, count = table.question[rows], len(clusters)
        values = estimate + np.bincount(question, influence, count) * count / len(influence)
    else:
        confidence, right, question = _confident_debates(table, metric, cell, dataset)
        values = linearised(metric, confidence, right, question, clusters)
        if metric.statistic == "auroc":
            rarer = rarer_units(right, clusters[question])
    replicates = len(np.unique(table.replicate[rows]))
    # Debates without a confidence may be the wrong ones, so that those with one would look better than they are.
    absent = replicates * len(table.questions[dataset]) - len(question)
    return LinearisedStatistic(values, len(question), len(np.unique(question)), replicates, absent, rarer)


def linearised(metric: Metric, confidence: Floats, right: Floats, question: Ints, clusters: Ints) -> Floats:
    """Return a metric of all debates of a cell on one dataset, linearised: a value for each question.

    Parameters
    ----------
    metric : Metric
        With a `statistic`.
    confidence, right : (debates,) arrays
        The confidence in [0, 1], and whether the answer is right (1 or 0).
    question : (debates,) int array
        The question of each debate.
    clusters : (questions,) int array
        The cluster of each question.

    Returns
    -------
    (questions,) array
        NaN if the metric has no value.
    """
    if metric.statistic == "ece":
        return linearised_errors(confidence, right, question, clusters)
    if metric.statistic == "auroc":
        return linearised_areas(confidence, right, question, clusters)
    if not len(confidence):
        return np.full(len(clusters), np.nan)
    order = _Order(confidence)
    if metric.statistic == "aurac":
        estimate, influence = area_under_accuracy_rejection(order, right)
    else:
        estimate, influence = risk_at(metric.coverage, order, right)
    count = len(clusters)
    return np.asarray(estimate + np.bincount(question, influence, count) * count / len(confidence))


class _Order:
    """Debates in descending order of confidence, as groups of equal confidence.

    Attributes
    ----------
    group : (debates,) int array
        The group of each debate, from the surest.
    ends : (groups + 1,) array
        The number of debates in the groups before each one; the last is n.
    """

    def __init__(self, confidence: Floats) -> None:
        _, ascending, sizes = np.unique(confidence, return_inverse=True, return_counts=True)
        self.group = len(sizes) - 1 - ascending
        self.ends = np.concatenate([[0], np.cumsum(sizes[::-1])]).astype(np.int64)

    @property
    def starts(self) -> Ints:
        """The number of debates before each group."""
        return np.asarray(self.ends[:-1])

    @property
    def sizes(self) -> Ints:
        """The number of debates in each group."""
        return np.diff(self.ends)

    def means(self, values: Floats) -> Floats:
        """Return the mean of a value in each group."""
        return np.asarray(np.bincount(self.group, values, len(self.sizes)) / self.sizes)


def area_under_accuracy_rejection(order: _Order, right: Floats) -> tuple[float, Floats]:
    """Return the area under the accuracy-rejection curve, and the influence of each debate on it."""
    n = len(right)
    tails = np.cumsum((1.0 / np.arange(1, n + 1))[::-1])[::-1]  # 1/r + ... + 1/n at rank r
    weight = np.add.reduceat(tails, order.starts) / order.sizes
    share = order.means(right)
    area = float((share * weight * order.sizes).sum() / n)
    # More debates before a group lower its weight: the derivative of -ln(share of debates before it) at both its ends.
    ends, starts = order.ends[1:] / n, order.starts / n
    height = -np.log(ends)  # finite: the first end is above 0
    with np.errstate(divide="ignore"):
        above = np.where(starts > 0, -np.log(starts), 0.0)
    lost = share * (height - above)
    later = np.concatenate([np.cumsum(lost[::-1])[::-1][1:], [0.0]])  # of the groups after each one
    influence = (right - share[order.group]) * weight[order.group] + (later + share * height)[order.group]
    return area, influence - influence.mean()


def risk_at(coverage: float, order: _Order, right: Floats) -> tuple[float, Floats]:
    """Return the share of wrong answers among the surest debates, and the influence of each debate on it.

    Parameters
    ----------
    coverage : float
        The share of debates that are accepted, in (0, 1].
    order : _Order
    right : (debates,) array
    """
    n, wrong = len(right), 1.0 - right
    accepted = coverage * n
    part = np.clip((accepted - order.starts) / order.sizes, 0.0, 1.0)  # of each group
    risk = float((part[order.group] * wrong).sum() / accepted)
    limit = int(np.flatnonzero(order.starts < accepted)[-1])
    near = _nearest(order, limit, max(1, round(n ** (2 / 3))))
    at_limit = float(wrong[near].mean())
    influence = part[order.group] * (wrong - at_limit) / coverage
    return risk, influence - influence.mean()


def _nearest(order: _Order, limit: int, fewest: int) -> Bools:
    """Return which debates are next to a group: itself, and the groups around it until they are enough."""
    low = high = limit
    last = len(order.sizes) - 1
    while order.ends[high + 1] - order.ends[low] < fewest and (low > 0 or high < last):
        low, high = max(low - 1, 0), min(high + 1, last)
    return np.asarray((order.group >= low) & (order.group <= high))

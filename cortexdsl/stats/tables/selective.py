"""Metrics of the confidence of whole debates, and agreement with human labels, as a value for each question.

They are statistics of all debates of a cell. As calibration errors do (`cortexdsl.stats.tables.calibration`), they
enter a test by their influence function: a value for each question whose mean is the estimate and whose spread over
questions is that of the estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cortexdsl.core import Floats
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
    statistic = linearised_errors if metric.statistic == "ece" else linearised_areas
    return statistic(confidence, right, question, clusters)

"""metrics.csv: every metric of every cell on every dataset, and its mean over datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from cortexdsl.analysis.metrics.estimate import Sums, estimate
from cortexdsl.analysis.metrics.registry import metric_named
from cortexdsl.analysis.tests.intervals import LEVEL
from cortexdsl.analysis.units.table import ALL, ScoreTable
from cortexdsl.errors import InputError
from cortexdsl.terms import Bools, Floats
from cortexdsl.terms.metrics import METRICS, Metric

COLUMNS = ("dataset", "cell", "metric", "estimate", "ci_low", "ci_high", "n_questions", "n_replicates")


def metrics_table(
    scores: ScoreTable, metrics: Sequence[str] = (), *, seed: int = 0, level: float = LEVEL
) -> pd.DataFrame:
    """Estimate metrics from a table of scores.

    Parameters
    ----------
    scores : ScoreTable
        Of `cortexdsl.analysis.units.table.read_table`.
    metrics : sequence of str
        Names or aliases of the registry, or further score columns of the table; empty: every registered metric
        that the table has columns for.
    seed : int
        Of the bootstrap intervals.
    level : float
        Of the intervals.

    Returns
    -------
    DataFrame
        Columns as the contract of metrics.csv; datasets, cells and metrics in order of appearance, then dataset
        `all` where there are several. A metric that no debate of a cell has a value for (tokens that no server
        counted) is NaN with n_questions 0.

    Raises
    ------
    InputError
        A metric has no such name or column, or a dataset is called `all`.
    """
    if ALL in scores.datasets:
        raise InputError(f"{scores.source}: a dataset cannot be called {ALL!r}: that is the mean over datasets")
    chosen = [_with_columns(name, scores) for name in metrics] or [
        metric for metric in METRICS.values() if _has(metric, scores)
    ]
    rows = [row for metric in chosen for row in _rows(scores, metric, seed, level)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    order = {name: k for k, name in enumerate([*scores.datasets, ALL])}
    cells = {name: k for k, name in enumerate(scores.cells)}
    by = frame["dataset"].map(order) * (len(cells) + 1) + frame["cell"].map(cells)
    return frame.iloc[np.argsort(by.to_numpy(), kind="stable")].reset_index(drop=True)


def _rows(scores: ScoreTable, metric: Metric, seed: int, level: float) -> Iterator[tuple[object, ...]]:
    top = scores.column(metric.column)
    bottom = scores.column(metric.per) if metric.per else np.where(np.isnan(top), np.nan, 1.0)
    for c, cell in enumerate(scores.cells):
        found: list[tuple[Sums, int]] = []
        for d, dataset in enumerate(scores.datasets):
            rows = (scores.dataset == d) & (scores.cell == c)
            if rows.any():
                sums = _sums(scores, metric, top, bottom, rows, d)
                found.append((sums, len(np.unique(scores.replicate[rows]))))
                yield _row(dataset, cell, metric, [sums], found[-1][1], seed, level)
        if len(found) == len(scores.datasets) > 1:
            parts, replicates = [part for part, _ in found], min(count for _, count in found)
            yield _row(ALL, cell, metric, parts, replicates, seed, level)


def _row(
    dataset: str, cell: str, metric: Metric, parts: Sequence[Sums], replicates: int, seed: int, level: float
) -> tuple[object, ...]:
    e = estimate(metric, parts, seed, level)
    return dataset, cell, metric.name, e.value, e.low, e.high, e.questions, replicates


def _sums(scores: ScoreTable, metric: Metric, top: Floats, bottom: Floats, rows: Bools, dataset: int) -> Sums:
    known = rows & ~np.isnan(top) & ~np.isnan(bottom)
    questions = scores.question[known]
    count = len(scores.questions[dataset])
    repeats = np.maximum(np.bincount(questions, minlength=count), 1)
    by_question = np.stack([np.bincount(questions, x[known], count) / repeats for x in (top, bottom)])
    there = np.bincount(questions, minlength=count) > 0
    units = scores.clusters[dataset][there]
    names, unit = np.unique(units, return_inverse=True)
    sums = [np.asarray(np.bincount(unit, x[there], len(names)), dtype=np.float64) for x in by_question]
    return Sums(
        top=sums[0],
        bottom=sums[1],
        questions=int(there.sum()),
        rows=int(known.sum()),
        binary=metric.binary and bool(np.isin(top[known], (0.0, 1.0)).all()),
    )


def _with_columns(name: str, scores: ScoreTable) -> Metric:
    metric = metric_named(name, scores.frame.columns)
    if not _has(metric, scores):
        wanted = metric.column if metric.per is None else f"{metric.column} and {metric.per}"
        raise InputError(f"{scores.source}: the metric {name!r} needs the column {wanted}, which the table lacks")
    return metric


def _has(metric: Metric, scores: ScoreTable) -> bool:
    return {metric.column, metric.per or metric.column} <= set(scores.frame.columns)

"""One number and its interval for each metric of each cell: metrics.csv.

The unit is the question (or its declared cluster); replicates are averaged within it first. Every metric is a
ratio of two sums over units: of its values and of how many there are, or of its two columns. A question without
a value is left out. Statistics of all debates of a cell (`cortexdsl.stats.tables.selective`) enter by their linearised
values, a value for each question.

Intervals (95 % by default):

- a yes or no (a score of 0 or 1, consensus, a tie): Wilson's, at the effective number of questions
  p (1 - p) / SE^2, which is their number for one replicate, and at most questions x replicates for several, made
  fewer where few units tell the variance (Korn and Graubard 1998);
- all else: Student's t on the linearised ratio, clipped to the range of the metric if it has one;
- one unit: none.

Over datasets (`all`) the estimate is the plain mean, as the papers average. Wilson's limits are then combined by
MOVER (Zou and Donner 2008, Stat Med 27:1693, Eq. 3): L = m - sqrt(sum (m_k - l_k)^2) / K, and U in the same way.

metrics.csv: every metric of every cell on every dataset, and its mean over datasets.

rounds.csv: score, consensus and listening after each round, final answers carried forward after an early stop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from cortexdsl.core import Bools, Floats
from cortexdsl.core.metric_types import Metric, of_label
from cortexdsl.core.metrics import METRICS
from cortexdsl.errors import InputError
from cortexdsl.metrics.rows import MetricRow, RoundRow
from cortexdsl.metrics.scores import Row
from cortexdsl.stats.inference.outcomes import LEVEL, few_units, jackknife_factors, satterthwaite, wilson
from cortexdsl.stats.tables.rows import columns_of
from cortexdsl.stats.tables.score_table import ALL, ScoreTable, metric_named, score_table
from cortexdsl.stats.tables.selective import SCORE, linearised_statistic


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """One metric of one cell on one dataset, by unit.

    Attributes
    ----------
    top, bottom : (units,) arrays
        What is divided: sums over the unit's questions of the values and of the weights they count with.
    questions : int
        Questions that have a value.
    rows : int
        Values, all replicates.
    binary : bool
        Every value is 0 or 1 by definition, not by accident.
    """

    top: Floats
    bottom: Floats
    questions: int
    rows: int
    binary: bool

    @property
    def estimate(self) -> float:
        """Sum over sum; NaN if there are no values."""
        return float(self.top.sum() / self.bottom.sum()) if self.bottom.sum() > 0 else float("nan")

    @property
    def influence(self) -> Floats:
        """Influence of each unit on the estimate, to first order; sums to 0."""
        return np.asarray((self.top - self.estimate * self.bottom) / self.bottom.sum())

    @property
    def informative(self) -> int:
        """Units that count with a weight."""
        return int((self.bottom > 0).sum())

    @property
    def weights(self) -> Floats:
        """Share of each informative unit in the weights; sums to 1."""
        return np.asarray(self.bottom[self.bottom > 0] / self.bottom.sum())

    @property
    def error(self) -> float:
        """Standard error of the estimate (linearised, factor C / (C - 1) over informative units)."""
        n = self.informative
        return float(np.sqrt(n / (n - 1) * (self.influence**2).sum())) if n > 1 else float("nan")


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """A number with its interval and the number of questions; NaN is unknown."""

    value: float
    low: float
    high: float
    questions: int


def estimate(metric: Metric, parts: Sequence[Sums], level: float = LEVEL) -> MetricEstimate:
    """Estimate a metric of a cell on one dataset, or its mean over several.

    Parameters
    ----------
    metric : Metric
    parts : sequence of Sums
        One for each dataset; at least one.
    level : float
        Of the interval, in (0, 1).
    """
    values = np.array([part.estimate for part in parts])
    questions = sum(part.questions for part in parts)
    value = float(values.mean())
    if np.isnan(value) or min(part.informative for part in parts) < 2:
        return MetricEstimate(value, float("nan"), float("nan"), questions)
    if all(part.binary for part in parts):
        limits = [_wilson(part, level) for part in parts]
        low, high = limits[0] if len(limits) == 1 else _mover(values, np.array(limits))
    else:
        low, high = _student(parts, level)
    lowest, highest = metric.range
    if lowest <= value <= highest:  # a table of another program may be in percent
        low, high = max(low, lowest), min(high, highest)
    return MetricEstimate(value, low, high, questions)


def _wilson(part: Sums, level: float) -> tuple[float, float]:
    p, units = part.estimate, part.informative
    variance = float(jackknife_factors(part.weights) @ part.influence[part.bottom > 0] ** 2)
    trials = float(units)
    single = units == part.questions and np.isin(part.top[part.bottom > 0], (0, 1)).all()
    if not single:  # where each unit is one yes or no, p says its variance
        alike = part.rows if 0 < p < 1 else units
        trials = min(p * (1 - p) / variance, part.rows) if variance > 0 else alike
        trials = few_units(trials, satterthwaite(part.weights), level)
    low, high = wilson(p * trials, trials, level)
    return 0.0 if p == 0 else low, 1.0 if p == 1 else high  # exact there, but for rounding


def _mover(values: Floats, limits: Floats) -> tuple[float, float]:
    below, above = np.sqrt(((limits - values[:, None]) ** 2).sum(axis=0)) / len(values)
    return float(values.mean() - below), float(values.mean() + above)


def _student(parts: Sequence[Sums], level: float) -> tuple[float, float]:
    freedom = sum(part.informative - 1 for part in parts)
    error = float(np.sqrt(sum(part.error**2 for part in parts))) / len(parts)
    value = float(np.mean([part.estimate for part in parts]))
    reach = float(stats.t.isf((1 - level) / 2, freedom)) * error
    return value - reach, value + reach


def metrics_table(scores: ScoreTable, metrics: Sequence[str] = (), *, level: float = LEVEL) -> pd.DataFrame:
    """Estimate metrics from a table of scores.

    Parameters
    ----------
    scores : ScoreTable
        Of `cortexdsl.stats.tables.score_table.read_table`.
    metrics : sequence of str
        Names or aliases of the registry, or further score columns of the table; empty: every registered metric
        that the table has columns for.
    level : float
        Of the intervals.

    Returns
    -------
    DataFrame
        Columns as the contract of metrics.csv; datasets, cells and metrics in order of appearance, then dataset
        `all` if there are several. A metric that no debate of a cell has a value for (tokens that no server
        counted) is NaN with n_questions 0.

    Raises
    ------
    InputError
        A metric has no such name or column, or a dataset is called `all`.
    """
    if ALL in scores.datasets:
        raise InputError(f"{scores.source}: a dataset cannot be called {ALL!r}: that is the mean over datasets")
    chosen = [_with_columns(name, scores) for name in metrics] or [
        metric
        for metric in (*METRICS.values(), *filter(None, map(of_label, scores.frame.columns)))
        if _has(metric, scores)
    ]
    rows = [row for metric in chosen for row in _rows(scores, metric, level)]
    frame = pd.DataFrame(rows, columns=columns_of(MetricRow))
    order = {name: k for k, name in enumerate([*scores.datasets, ALL])}
    cells = {name: k for k, name in enumerate(scores.cells)}
    by = frame["dataset"].map(order) * (len(cells) + 1) + frame["cell"].map(cells)
    return frame.iloc[np.argsort(by.to_numpy(), kind="stable")].reset_index(drop=True)


def _rows(scores: ScoreTable, metric: Metric, level: float) -> Iterator[tuple[object, ...]]:
    top = scores.column(metric.column)
    bottom = scores.column(metric.per) if metric.per else np.where(np.isnan(top), np.nan, 1.0)
    for c, cell in enumerate(scores.cells):
        found: list[tuple[Sums, int]] = []
        for d, dataset in enumerate(scores.datasets):
            rows = (scores.dataset == d) & (scores.cell == c)
            if rows.any():
                if metric.statistic:
                    sums = _statistic(scores, metric, cell, d)
                else:
                    sums = _sums(scores, metric, top, bottom, rows, d)
                found.append((sums, len(np.unique(scores.replicate[rows]))))
                yield _row(dataset, cell, metric, [sums], found[-1][1], level)
        if len(found) == len(scores.datasets) > 1:
            parts, replicates = [part for part, _ in found], min(count for _, count in found)
            yield _row(ALL, cell, metric, parts, replicates, level)


def _row(
    dataset: str, cell: str, metric: Metric, parts: Sequence[Sums], replicates: int, level: float
) -> tuple[object, ...]:
    e = estimate(metric, parts, level)
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


def _statistic(scores: ScoreTable, metric: Metric, cell: str, dataset: int) -> Sums:
    """Return a statistic of all debates of a cell: the sums of its linearised values over units."""
    own, clusters = linearised_statistic(scores, metric, cell, dataset), scores.clusters[dataset]
    is_known = bool(np.isfinite(own.values).all())
    count = int(clusters.max()) + 1
    return Sums(
        top=np.asarray(np.bincount(clusters, own.values if is_known else np.zeros(len(clusters)), count)),
        bottom=np.asarray(np.bincount(clusters, minlength=count) * float(is_known)),
        questions=own.questions if is_known else 0,
        rows=own.debates,
        binary=False,
    )


def _with_columns(name: str, scores: ScoreTable) -> Metric:
    metric = metric_named(name, scores.frame.columns)
    if not _has(metric, scores):
        wanted = metric.column if metric.per is None else f"{metric.column} and {metric.per}"
        raise InputError(f"{scores.source}: the metric {name!r} needs the column {wanted}, which the table lacks")
    return metric


def _has(metric: Metric, scores: ScoreTable) -> bool:
    needed = {metric.column, metric.per or metric.column, SCORE if metric.statistic else metric.column}
    return needed <= set(scores.frame.columns)


_METRICS = ("accuracy", "consensus", "agent_accuracy", "improvement", "debating", "density", "reciprocity")
_KEYS = ["dataset", "cell", "replicate", "question_id"]


def round_table(rows: Sequence[Row], *, level: float = LEVEL) -> pd.DataFrame:
    """Estimate accuracy and consensus after each round.

    Parameters
    ----------
    rows : sequence of dict
        Of `by_round.round_rows`, for all datasets together; fresh, or read back from a CSV file as text.
    level
        Of the intervals (`cortexdsl.metrics.estimates`).

    Returns
    -------
    DataFrame
        One row for each dataset (`all`: their mean), cell and round, up to the longest debate of the cell.
        `improvement` is (accuracy - opening accuracy) / opening accuracy (ACC-Debate, section 5); `debating` the
        share of debates that had that round; `density` and `reciprocity` are means over those.
    """
    frame = pd.DataFrame(rows)
    if frame.empty:
        return pd.DataFrame(columns=columns_of(RoundRow))
    for column in ("round", "score", "consensus", "agent_score", "density", "reciprocity"):
        frame[column] = pd.to_numeric(frame[column])
    last = frame.groupby(_KEYS, sort=False)["round"].transform("max")
    opening = frame[frame["round"] == 0].set_index(_KEYS)["score"]
    tables = []
    for round_ in range(int(frame["round"].max()) + 1):
        reaches = frame.groupby("cell")["round"].transform("max") >= round_
        now = frame[reaches & (frame["round"] == np.minimum(last, round_))].reset_index(drop=True)
        had = now["round"] == round_
        now["opening_score"] = opening.reindex(pd.MultiIndex.from_frame(now[_KEYS])).to_numpy()
        now["gain"] = now["score"] - now["opening_score"]
        now["debating"] = had.astype(float)
        for column in ("density", "reciprocity"):
            now[column] = now[column].astype(float).where(had)
        table = metrics_table(score_table(now.drop(columns="round")), _METRICS, level=level)
        tables.append(_wide(table, round_))
    whole = pd.concat(tables, ignore_index=True)
    first = {key: k for k, key in enumerate(dict.fromkeys(zip(whole["dataset"], whole["cell"], strict=True)))}
    order = [first[key] for key in zip(whole["dataset"], whole["cell"], strict=True)]
    return whole.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


def _wide(table: pd.DataFrame, round_: int) -> pd.DataFrame:
    """Return one row for each dataset and cell: estimates side by side, with intervals of the first two."""
    rows = []
    for (dataset, cell), part in table.groupby(["dataset", "cell"], sort=False):
        by = {str(row["metric"]): row for row in part.to_dict("records")}
        found = {"dataset": dataset, "cell": cell, "round": round_}
        found |= {metric: row["estimate"] for metric, row in by.items()}
        for metric in ("accuracy", "consensus"):
            found |= {f"{metric}_low": by[metric]["ci_low"], f"{metric}_high": by[metric]["ci_high"]}
        rows.append(found | {key: by["accuracy"][key] for key in ("n_questions", "n_replicates")})
    return pd.DataFrame(rows, columns=columns_of(RoundRow))

"""Every answer of every debater as a row, and what is known from it question by question.

The calibration error and the AUROC of a cell are no means of questions: all its answers make them together. They enter
a test by their influence function: a value for each question whose mean is the estimate and whose spread over questions
is that of the estimate (as Obuchowski 1997, Biometrics 53:567, does for the AUROC of clustered data). So the question
(or its cluster) stays the unit, whatever is estimated, and a question's answers, rounds and replicates stay together.

A calibration error sums absolute values, so noise alone raises it, the more the fewer answers there are. Each bin's
absolute difference is lessened by what its own noise adds to it if the difference is as observed (the mean of a folded
normal distribution); what is left of that bias where confidences are almost perfectly calibrated is in the benchmarks.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from cortexdsl.analysis.metrics.measures.calibration import BINS, bin_of
from cortexdsl.analysis.units.answer_table import WHAT
from cortexdsl.analysis.units.columns import Ints
from cortexdsl.analysis.units.layer import NO_AREA, Layer
from cortexdsl.analysis.units.table import ScoreTable
from cortexdsl.errors import DataError
from cortexdsl.spec.claims.language import Quantity
from cortexdsl.spec.claims.metric_names import CALIBRATION_METRICS
from cortexdsl.terms import Floats

_BRIER = ("brier", "brier_stated", "brier_recalibrated", "brier_raw")


class NoAnswerError(DataError):
    """A claim is about a round that no debate of a cell reached, or an agent who gave no answer there."""


def answer_layer(table: ScoreTable, quantity: Quantity, dataset: int) -> Layer:
    """The values of a named mean on one dataset, question by question.

    Raises
    ------
    DataError
        The table knows no answers, or none of the agent.
    """
    rows = _rows(table, quantity, dataset)
    codes = {name: code for code, name in enumerate(table.questions[dataset])}
    question = np.asarray(rows["question_id"].map(codes), dtype=np.int64)
    replicates, count = rows["replicate"].nunique(), len(codes)
    if quantity.metric in CALIBRATION_METRICS:
        confidence, right = _confidences(rows, quantity.metric)
        told, clusters = ~np.isnan(confidence), table.clusters[dataset]
        of_area = quantity.metric.startswith("auroc")
        values = (_areas if of_area else calibration_errors)(confidence[told], right[told], question[told], clusters)
        rarer = _rarer(right[told], clusters[question[told]]) if of_area else NO_AREA
        return Layer.of(values, replicates, 0 if np.isfinite(values).all() else count, rarer=rarer)
    if quantity.metric in _BRIER:
        confidence, right = _confidences(rows, quantity.metric)
        rows = rows.assign(value=(confidence - right) ** 2)
        value = rows.groupby(["replicate", "question_id"])["value"].mean()
    else:
        last = rows.sort_values("round", kind="stable").groupby(["replicate", "question_id"]).tail(1)
        value = last.set_index(["replicate", "question_id"])["score"]
    value = value.dropna()
    at = value.index.get_level_values("question_id").map(codes).to_numpy(dtype=np.int64)
    found = np.bincount(at, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.bincount(at, value.to_numpy(dtype=np.float64), count) / found
    lacking = int((replicates - found).sum())
    is_yes_no = quantity.metric not in _BRIER and bool(np.isin(value.to_numpy(), (0, 1)).all())
    return Layer.of(values, replicates, lacking, is_yes_no)


def lies_in_answers(table: ScoreTable, quantity: Quantity) -> bool:
    """Whether a mean is worked out of answers: because it must be, or because scores have no column for it."""
    if quantity.is_of_answers or table.answers is None or quantity.metric not in _BRIER:
        return quantity.is_of_answers
    return f"brier_{_kind(quantity.metric)}" not in table.frame


def _rows(table: ScoreTable, quantity: Quantity, dataset: int) -> pd.DataFrame:
    if table.answers is None:
        raise DataError(
            f"{table.source}: {quantity} needs every answer and confidence, which scores do not hold\n"
            f"    give the folder of an experiment's results, or --answers FILE: {WHAT}"
        )
    frame, label = table.answers, table.datasets[dataset]
    here = frame[(frame["dataset"] == label) & (frame["cell"] == quantity.name)]
    if quantity.agent is not None:
        agents = here["agent"].unique()
        here = here[here["agent"] == quantity.agent]
        if here.empty:
            known = ", ".join(filter(None, agents)) or "none: its table of answers has no column agent"
            raise NoAnswerError(f"{quantity.name} has no agent {quantity.agent!r} on {label}; it has {known}")
    if here.empty:
        raise DataError(f"{table.source}: no answers of {quantity.name} on {label}")
    if quantity.round is not None:
        rounds = here["round"] <= quantity.round if _is_score(quantity) else here["round"] == quantity.round
        if not rounds.any():
            there = f"rounds {here['round'].min():g} to {here['round'].max():g}"
            raise NoAnswerError(
                f"{table.source}: no answer of {quantity.name} on {label} in round {quantity.round}; {there}"
            )
        here = here[rounds]
    asked = here[here["question_id"].isin(table.questions[dataset])]
    if asked.empty:
        raise DataError(
            f"{table.source}: no answer of {quantity.name} on {label} is one to its questions: answers are to "
            f"{here['question_id'].iloc[0]!r} ..., scores of {table.questions[dataset][0]!r} ...\n"
            "    give both tables the same question_id"
        )
    return asked


def _is_score(quantity: Quantity) -> bool:
    return quantity.metric not in (*_BRIER, *CALIBRATION_METRICS)


def _confidences(rows: pd.DataFrame, metric: str) -> tuple[Floats, Floats]:
    confidence = np.clip(rows[_kind(metric)].to_numpy(dtype=np.float64), 0, 1)
    return confidence, rows["right"].to_numpy(dtype=np.float64)


def _kind(metric: str) -> str:
    """Which confidences a metric is about: stated ones unless it says otherwise."""
    return next((kind for kind in ("recalibrated", "raw") if metric.endswith(f"_{kind}")), "stated")


def calibration_errors(confidence: Floats, right: Floats, question: Ints, clusters: Ints) -> Floats:
    """Linearised expected calibration error (Guo et al. 2017, Eq. 3, `BINS` equally wide bins), a value a question."""
    count = len(clusters)
    if not len(confidence):
        return np.full(count, np.nan)
    off, answers = np.zeros((count, BINS)), np.bincount(question, minlength=count).astype(np.float64)
    np.add.at(off, (question, bin_of(confidence)), right - confidence)
    each = len(confidence) / count
    gap = off.mean(axis=0) / each
    influence = (off - gap * answers[:, None]) / each
    units = int(clusters.max()) + 1
    whole = np.zeros((units, BINS))
    np.add.at(whole, clusters, influence)
    noise = np.sqrt((whole**2).sum(axis=0) * units / max(units - 1, 1)) / count
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(noise > 0, gap / noise, np.where(gap == 0, 0.0, np.sign(gap) * np.inf))
    folded = noise * 2 * stats.norm.pdf(z) + gap * (2 * stats.norm.cdf(z) - 1)
    estimate = float((2 * np.abs(gap) - folded).sum())
    return np.asarray(estimate + influence @ (2 * np.sign(gap) - (2 * stats.norm.cdf(z) - 1)))


def _areas(confidence: Floats, right: Floats, question: Ints, clusters: Ints) -> Floats:
    """Linearised AUROC: P(a right answer is more confident than a wrong one), ties halved; a value a question."""
    count, is_right = len(clusters), right > 0
    ahead, behind = confidence[is_right], confidence[~is_right]
    if not len(ahead) or not len(behind):
        return np.full(count, np.nan)
    over = _share_below(behind, ahead)
    under = 1 - _share_below(ahead, behind)
    area = float(over.mean())
    influence = np.bincount(question[is_right], (over - area) / len(ahead), count)
    influence += np.bincount(question[~is_right], (under - area) / len(behind), count)
    return np.asarray(area + count * influence)


def _rarer(right: Floats, unit: Ints) -> int:
    """Count the units that have right answers, and those that have wrong ones; return the smaller number."""
    return min(len(np.unique(unit[right > 0])), len(np.unique(unit[right <= 0])))


def _share_below(values: Floats, of: Floats) -> Floats:
    """For each of `of`, the share of `values` below it, equal ones counted half."""
    ordered = np.sort(values)
    twice = np.searchsorted(ordered, of, "left") + np.searchsorted(ordered, of, "right")
    return np.asarray(twice / (2 * len(values)))

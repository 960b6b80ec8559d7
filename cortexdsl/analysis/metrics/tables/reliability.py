"""calibration.csv and reliability.csv: confidence against correctness of each cell, before and after recalibration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import pandas as pd

from cortexdsl.analysis.metrics.measures.calibration import (
    BINS,
    Kind,
    brier_score,
    expected_calibration_error,
    pairs,
    reliability_bins,
)
from cortexdsl.analysis.metrics.view import Grade, graded
from cortexdsl.records import Record

CALIBRATION = ("dataset", "cell", "confidence", "answers", "stated", "mean_confidence", "accuracy", "brier", "ece")
RELIABILITY = ("dataset", "cell", "confidence", "low", "high", "answers", "mean_confidence", "accuracy")


def calibration_tables(records: Iterable[Record], grade: Grade, bins: int = BINS) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Judge the confidences of debaters' answers, in all rounds.

    Parameters
    ----------
    records : iterable of Record
        Of one dataset.
    grade : callable
        (question id, answer) -> score.
    bins : int
        Equally wide bins of the reliability diagram and of ECE.

    Returns
    -------
    calibration : DataFrame
        For each cell, `stated` and `recalibrated` confidence, and before that the one that it measures, by its source
        (`logprob`, `consistency`, `verifier`): how many `answers` there are and how many of them
        state a confidence, its mean, the accuracy of those that do, Brier score and ECE.
    reliability : DataFrame
        The bins: [low, high), answers in it, their mean confidence and accuracy.
    """
    found: dict[tuple[str, str], tuple[int, dict[Kind, list[tuple[float, bool]]], str]] = {}
    for record in records:
        view = graded(record.debate, grade)
        key = (record.header.dataset, record.header.cell)
        answers, by_kind, source = found.get(key, (0, {kind: [] for kind in get_args(Kind)}, ""))
        for kind in by_kind:
            by_kind[kind] += pairs(view, kind)
        source = next((turn.measured.source for turn in view.given() if turn.measured is not None), source)
        found[key] = answers + len(view.given()), by_kind, source
    summary, diagram = [], []
    for (dataset, cell), (answers, by_kind, source) in found.items():
        if not source:
            del by_kind["raw"]  # the stated ones again
        for kind, judged in ((source if kind == "raw" else kind, judged) for kind, judged in by_kind.items()):
            confidence, right = [c for c, _ in judged], [y for _, y in judged]
            brier = brier_score(confidence, right)
            ece = expected_calibration_error(confidence, right, bins)
            means = _mean(confidence), _mean(map(float, right))
            summary.append((dataset, cell, kind, answers, len(judged), *means, brier, ece))
            diagram += [
                (dataset, cell, kind, b.low, b.high, b.answers, b.confidence, b.accuracy)
                for b in reliability_bins(confidence, right, bins)
            ]
    return pd.DataFrame(summary, columns=list(CALIBRATION)), pd.DataFrame(diagram, columns=list(RELIABILITY))


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else float("nan")

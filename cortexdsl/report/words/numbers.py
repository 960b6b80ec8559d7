"""Metrics as a reader meets them, and the numbers of `cortexdsl.numbers`, which the report writes them in."""

from __future__ import annotations

from dataclasses import dataclass

from cortexdsl.analysis.metrics.registry import METRICS
from cortexdsl.numbers import (
    HARD,
    MINUS,
    NOTHING,
    THIN,
    Kind,
    counted,
    difference,
    estimate,
    interval,
    number,
    p_clause,
    p_value,
    percent,
)

__all__ = [
    "HARD",
    "MINUS",
    "NOTHING",
    "THIN",
    "Kind",
    "Wording",
    "counted",
    "difference",
    "estimate",
    "interval",
    "number",
    "p_clause",
    "p_value",
    "percent",
    "wording",
]


@dataclass(frozen=True, slots=True)
class Wording:
    """How a metric is called and written.

    Attributes
    ----------
    title : str
        Heads a column or an axis.
    noun : str
        Stands in a sentence: "the ... of sparse".
    kind : str
        `share` of 1, written in percent; any other `number`.
    summary : str
        What it measures, in one line; empty for a score that only the table knows.
    """

    title: str
    noun: str
    kind: Kind
    summary: str


_NOUNS = {
    "em": "exact match",
    "f1": "F1",
    "judged": "judged correctness",
    "co2": "consensus on the right answer",
    "input_tokens": "input tokens per question",
    "output_tokens": "output tokens per question",
    "total_tokens": "tokens per question",
    "input_tokens_per_agent": "input tokens per agent",
    "output_tokens_per_agent": "output tokens per agent",
    "calls": "calls per question",
    "brier": "Brier score of stated confidences",
    "brier_stated": "Brier score of stated confidences",
    "brier_recalibrated": "Brier score of recalibrated confidences",
    "ece": "calibration error (ECE) of stated confidences",
    "ece_stated": "calibration error (ECE) of stated confidences",
    "ece_recalibrated": "calibration error (ECE) of recalibrated confidences",
    "auroc": "AUROC of stated confidences",
    "auroc_stated": "AUROC of stated confidences",
    "auroc_recalibrated": "AUROC of recalibrated confidences",
    "brier_raw": "Brier score of the confidences gone by",
    "ece_raw": "calibration error (ECE) of the confidences gone by",
    "auroc_raw": "AUROC of the confidences gone by",
    "unmeasured": "answers without a measured confidence",
    "dvc": "diverse edges (DVC)",
    "cvr": "corrected turns (CVR)",
    "ties": "tied votes",
    "unanswered": "debates without an answer",
    "unparsed": "unreadable answers",
    "unparsed_turns": "unreadable turns",
    "failures": "failed calls",
}


def wording(metric: str) -> Wording:
    """Return how a metric is called; a score column that is no registered metric keeps its own name."""
    known = METRICS.get(metric)
    noun = _NOUNS.get(metric, metric.replace("_", " "))
    is_share = known.unit == "share" if known else metric not in _NOUNS
    return Wording(noun[:1].upper() + noun[1:], noun, "share" if is_share else "number", known.summary if known else "")

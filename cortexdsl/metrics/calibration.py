"""Calibration of confidences: Brier score, expected calibration error, reliability bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cortexdsl.core import Floats, Turn
from cortexdsl.engine.debate_confidence import share_of_votes
from cortexdsl.metrics.view import DebateView, by_column, last_answers
from cortexdsl.stats.tables.calibration import BINS, bin_of

ConfidenceKind = Literal["stated", "recalibrated", "raw"]
"""As the reply says; as the debate uses it; as the debate uses it, before recalibration."""


@dataclass(frozen=True, slots=True)
class ConfidenceBin:
    """Answers whose confidence is in [low, high); the last bin includes 1.

    Attributes
    ----------
    answers : int
        How many.
    confidence, accuracy : float
        Their mean confidence and the share of them that is right; NaN in an empty bin.
    """

    low: float
    high: float
    answers: int
    confidence: float
    accuracy: float


def confidence_of(turn: Turn, kind: ConfidenceKind) -> float | None:
    """Return a confidence of an answer; `raw` is the measured one where the method measures any, else the stated."""
    if kind == "recalibrated":
        return turn.confidence
    return turn.confidence_stated if kind == "stated" or turn.measured is None else turn.measured.confidence


def spoken_pairs(view: DebateView, kind: ConfidenceKind) -> list[tuple[str, float, bool]]:
    """Return (speaker, confidence, whether right) of every answer that states a confidence, in all rounds.

    Stated confidences beyond [0, 1] are clipped to it; an unreadable answer is wrong.
    """
    found: list[tuple[str, float, bool]] = []
    for turn in view.given():
        confidence = confidence_of(turn, kind)
        if confidence is not None:
            found.append((turn.speaker, min(max(confidence, 0.0), 1.0), view.is_right(turn.answer)))
    return found


def pairs(view: DebateView, kind: ConfidenceKind) -> list[tuple[float, bool]]:
    """Return (confidence, whether right) of every answer that states a confidence."""
    return [(confidence, right) for _, confidence, right in spoken_pairs(view, kind)]


def brier_score(confidence: Sequence[float], right: Sequence[bool]) -> float:
    """Mean of (confidence - right)^2, right being 0 or 1 (Brier 1950, two-class form): 0 is best, 1 worst.

    NaN without answers.
    """
    c, y = _checked(confidence, right)
    return float(np.mean((c - y) ** 2)) if len(c) else float("nan")


def reliability_bins(confidence: Sequence[float], right: Sequence[bool], bins: int = BINS) -> tuple[ConfidenceBin, ...]:
    """Sort answers into equally wide bins of confidence (reliability diagram; Guo et al. 2017, section 2).

    Parameters
    ----------
    confidence : sequence of float
        In [0, 1].
    right : sequence of bool
        As long.
    bins : int
        At least 1.
    """
    c, y = _checked(confidence, right)
    if bins < 1:
        raise ValueError(f"bins is {bins}; there must be at least one")
    edges, of = np.arange(bins + 1) / bins, bin_of(c, bins)
    return tuple(
        ConfidenceBin(float(edges[b]), float(edges[b + 1]), int((of == b).sum()), _mean(c[of == b]), _mean(y[of == b]))
        for b in range(bins)
    )


def expected_calibration_error(confidence: Sequence[float], right: Sequence[bool], bins: int = BINS) -> float:
    """ECE = sum over bins of (n_b / n) |accuracy_b - confidence_b| (Guo et al. 2017, Eq. 3); NaN without answers."""
    full = [b for b in reliability_bins(confidence, right, bins) if b.answers]
    n = sum(b.answers for b in full)
    return sum(b.answers * abs(b.accuracy - b.confidence) for b in full) / n if n else float("nan")


def brier_stated(view: DebateView) -> float | None:
    """Brier score of the debate's stated confidences; None if none was stated."""
    return _of_debate(view, "stated")


def brier_recalibrated(view: DebateView) -> float | None:
    """Brier score of the debate's recalibrated confidences."""
    return _of_debate(view, "recalibrated")


def brier_raw(view: DebateView) -> float | None:
    """Brier score of the confidences in use, stated or measured, before recalibration."""
    return _of_debate(view, "raw")


def debate_confidence(view: DebateView) -> float | None:
    """How sure the debate as a whole is, in [0, 1]: as the record says, else the share of votes.

    Of a question that was handed on, this is the confidence of the debate that answered it. None if it could not be
    determined; 0 of a debate without an answer.
    """
    last = view.debate.stages[-1]
    if last.confidence is not None:
        return last.confidence.confidence
    return share_of_votes(last.answer, view.answers[-1] if last is view.debate else last_answers(last))


def brier_debate(view: DebateView) -> float | None:
    """Brier score of the debate as a whole: (confidence - right)^2; None without a confidence."""
    confidence = debate_confidence(view)
    return None if confidence is None else (confidence - view.is_right(view.debate.answer)) ** 2


def deferred(view: DebateView) -> float:
    """Whether the debate handed its question on to another method (1 or 0)."""
    return float(view.debate.deferred is not None)


def _of_debate(view: DebateView, kind: ConfidenceKind) -> float | None:
    """Return the score over all answers; None if one has no confidence, since the mean of the others may be better."""
    if any(turn.answer is not None and confidence_of(turn, kind) is None for turn in view.given()):
        return None
    found = pairs(view, kind)
    return brier_score([c for c, _ in found], [y for _, y in found]) if found else None


def _checked(confidence: Sequence[float], right: Sequence[bool]) -> tuple[Floats, Floats]:
    c, y = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if c.ndim != 1 or c.shape != y.shape:
        raise ValueError(f"confidence {c.shape} and right {y.shape} must be equally long lists")
    if not ((c >= 0) & (c <= 1)).all():
        raise ValueError("a confidence lies in [0, 1]")
    return c, y


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


MEASURES = by_column(
    brier_stated, brier_recalibrated, brier_raw, debate_confidence, deferred, brier_debate,
)  # fmt: skip
"""The measures of this module, each of the column that has its name."""

"""Causes: whether turns with a label change the answer of their debate more often than turns without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from cortexdsl.core import Floats
from cortexdsl.stats.tables.rows import CauseRow


@dataclass(frozen=True, slots=True)
class LeftOutTurn:
    """A turn that was left out of its debate.

    Attributes
    ----------
    question : str
        The question, or its cluster; of several datasets they have different names.
    debate : str
    place : str
        Its speaker and round, and the dataset.
    labels : set of str
        What it is labelled, as metrics name it.
    known : set of str
        Labels that were given or denied; a label that could not be read is neither.
    changed : bool
        Whether the debate without it ends with another answer.
    """

    question: str
    debate: str
    place: str
    labels: frozenset[str]
    known: frozenset[str]
    changed: bool


def cause_of(cell: str, label: str, turns: Sequence[LeftOutTurn], level: float = 0.95) -> CauseRow:
    """Compare the turns of a cell that have a label with those that do not.

    The difference is a least-squares fit of the change on the label, with a constant for each debate and for each
    place: hard questions and late rounds have more of many labels and of changes. The interval has every difference
    that is not rejected at its level by a t test over the questions' sums of residuals, which keeps its level if few
    turns are labelled. It has no end if no debate and place has turns of both kinds, or no turn changes an answer,
    or all questions say the same.
    """
    compared = [turn for turn in turns if label in turn.known]
    has = np.array([label in turn.labels for turn in compared], dtype=float)
    changed = np.array([turn.changed for turn in compared], dtype=float)
    counts = int(has.sum()), int(changed @ has), int((1 - has).sum()), int(changed @ (1 - has))
    debate, place, question = (
        np.unique(names, return_inverse=True)[1].astype(int)
        for names in zip(*((turn.debate, turn.place, turn.question) for turn in compared), strict=True)
    )
    questions = int(question.max()) + 1
    within, outcome = _centred(has, debate, place), _centred(changed, debate, place)
    sums = np.bincount(question, within * outcome).astype(float)
    squares = np.bincount(question, within**2).astype(float)
    if squares.sum() <= 1e-9:
        return CauseRow(cell, label, *counts, None, None, None, questions)
    difference = float(sums.sum() / squares.sum())
    low, high = _not_rejected(sums, squares, level)
    return CauseRow(cell, label, *counts, difference, low, high, questions)


def _not_rejected(sums: Floats, squares: Floats, level: float) -> tuple[float | None, float | None]:
    """Return the ends of the slopes b for which the mean of `sums - b * squares` is 0 by a t test about 0."""
    count = len(sums)
    if count < 2 or not sums.any():
        return None, None
    # For a mean m and a mean square v about 0, t**2 = (n - 1) * m**2 / (v - m**2) <= q**2; a quadratic in b.
    q = float(student.ppf((1 + level) / 2, count - 1)) ** 2
    scale = q * count / (count - 1 + q)
    a = float(squares.sum() ** 2 - scale * squares @ squares)
    half_b = float(sums.sum() * squares.sum() - scale * sums @ squares)
    inside = half_b**2 - a * float(sums.sum() ** 2 - scale * sums @ sums)
    if a <= 0 or inside <= 1e-12 * half_b**2:
        return None, None
    return max(-1.0, (half_b - inside**0.5) / a), min(1.0, (half_b + inside**0.5) / a)


def _centred(values: Floats, *groupings: npt.NDArray[Any]) -> Floats:
    """Return values minus the means of their groups, in turn until those of all groupings are 0."""
    while True:
        before = values
        for groups in groupings:
            values = values - (np.bincount(groups, values) / np.maximum(1, np.bincount(groups)))[groups]
        if np.abs(values - before).max(initial=0.0) < 1e-9:
            return values

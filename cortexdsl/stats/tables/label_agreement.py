"""Agreement of labels of turns with human ones: Cohen's kappa with an interval whose units are questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from cortexdsl.stats.tables.agreement import cohen_kappa


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """How far the labels of turns agree with human ones.

    Attributes
    ----------
    turns, unread : int
        Turns with both labels, and turns with a human one alone, because the judge's reply could not be read.
    questions : int
        Of the turns with both.
    agree : float
        Share of turns on which both are equal.
    kappa, ci_low, ci_high : float
        NaN if chance explains all agreement; the interval also with fewer than two questions, or without a difference.
    """

    turns: int
    unread: int
    questions: int
    agree: float
    kappa: float
    ci_low: float
    ci_high: float


def label_agreement(
    pairs: Sequence[tuple[str, str | None, str]], values: Sequence[str], level: float = 0.95
) -> LabelAgreement:
    """Compare labels with human ones.

    Parameters
    ----------
    pairs : sequence of (question, label or None, human label)
        One for each turn; questions of several datasets have different names.
    values : sequence of str
        The values that a label may have.
    level : float
        Of the interval.

    Notes
    -----
    Turns of one debate, and debates of one question, are not independent. So the influences of turns on kappa are added
    up for each question, and the interval is Student's t with a degree of freedom less than there are questions.
    """
    place: Mapping[str, int] = {value: number for number, value in enumerate(values)}
    both = [(question, place[given], place[human]) for question, given, human in pairs if given is not None]
    unread = len(pairs) - len(both)
    if not both:
        return LabelAgreement(0, unread, 0, np.nan, np.nan, np.nan, np.nan)
    names, given, human = (np.array(column) for column in zip(*both, strict=True))
    eye = np.eye(len(values))
    kappa, influence = cohen_kappa(eye[given], eye[human])
    _, question = np.unique(names, return_inverse=True)
    sums = np.bincount(question, influence)
    half = np.nan
    if len(sums) > 1 and np.isfinite(kappa) and (given != human).any():
        error = np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(both)
        half = float(student.ppf((1 + level) / 2, len(sums) - 1) * error)
    low, high = np.clip([kappa - half, kappa + half], -1.0, 1.0).tolist()  # NaN stays
    return LabelAgreement(len(both), unread, len(sums), float((given == human).mean()), kappa, low, high)

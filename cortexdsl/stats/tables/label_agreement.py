"""Agreement of labels of turns with human ones: Cohen's kappa with an interval whose units are questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cortexdsl.stats.tables.agreement import cohen_kappa, interval_by_unit


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
    agreed = given == human
    ends = (np.nan, np.nan) if agreed.all() else interval_by_unit(kappa, influence, names, level=level)
    return LabelAgreement(len(both), unread, len(set(names.tolist())), float(agreed.mean()), kappa, *ends)

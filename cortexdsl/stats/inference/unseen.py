"""Large values that no question showed, and how they would change a result.

A test knows nothing of values that its sample lacks: if one question in a hundred costs forty times as much as the
others, most samples of fifty questions hold none of them, and their mean is too low. But n questions bound how rare
such questions are: all n miss a share q of questions with probability (1 - q)^n. So the share q at which this is 2.5 %
(about 3.7 / n) is put at the largest value that one question can have, in one cell at a time. A result whose estimate
then crosses its bound is not decided.

The largest value is the one that the plan or the user states (`ScoreTable.most`). If it is unknown, one more question
at `MULTIPLE` times the mean is assumed, and the result says so.

Metrics with a range of their own, such as F1 and Brier scores, can have rare values at its ends. An end counts if no
value of the sample is beyond the middle between the mean and that end. A verdict that such values could turn is given
with a note, because a range does not show that they exist: to leave it undecided would need 150 questions for every
difference of .05. Scores of 0 and 1 have exact tests instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cortexdsl.claims.values import POOLED_METRICS, Quantity, range_of
from cortexdsl.core import Floats
from cortexdsl.stats.tables.answers import lies_in_answers
from cortexdsl.stats.tables.score_table import ScoreTable
from cortexdsl.stats.tables.units import Units

MISSED = 0.025
MULTIPLE = 8.0

Value = Callable[[Floats], float]
"""A function from the means of a contrast to its value."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """The effect of large values that no question showed on a result.

    Attributes
    ----------
    turns : bool
        They would move the estimate to the other side.
    note : str
        The assumption and the effect; empty if the bound is known and nothing changes.
    """

    turns: bool = False
    note: str = ""


NOTHING_UNSEEN = Unseen()


@dataclass(frozen=True, slots=True)
class Extreme:
    """The largest (or smallest) value that one question of one mean can have.

    Attributes
    ----------
    at : int
        The mean's place among those of the contrast.
    cell, metric : str
    value : float
    seen : float
        The most extreme value of the sample on that side.
    is_known : bool
        Whether the plan or the metric's range states it; otherwise `MULTIPLE` times the mean is assumed.
    is_end : bool
        Whether it is an end of the metric's range, so that a result that it could turn is only marked.
    """

    at: int
    cell: str
    metric: str
    value: float
    seen: float
    is_known: bool
    is_end: bool = False


def unseen_share(questions: float) -> float:
    """Return the share of all questions that so many questions miss altogether with a probability of 2.5 %."""
    return float(1 - MISSED ** (1 / questions))


def is_open_ended(table: ScoreTable, quantity: Quantity, values: Floats) -> bool:
    """Return whether a question can have an arbitrarily large value: tokens, calls, seconds, dollars.

    Shares cannot, also in percent, nor can columns of other programs whose values are in [0, 1].
    """
    if lies_in_answers(table, quantity) or table.metric(quantity.metric).per is not None:
        return False
    low, high = range_of(quantity.metric)
    if np.isfinite([low, high]).all():
        return bool((values > 100 * high).any())
    return not (low == -np.inf and ((values >= 0) & (values <= 1)).all())


def extremes_of(
    sample: Units, table: ScoreTable, quantities: Sequence[Quantity], rows: Sequence[int], values: Floats
) -> Iterator[Extreme]:
    """Yield the extreme values that one question of each mean can have, also at the ends of a range.

    Parameters
    ----------
    sample : Units
    table : ScoreTable
    quantities : sequence of Quantity
    rows : sequence of int
        The row of the sample for each quantity.
    values : (quantities, questions) array
    """
    yield from extremes(table, quantities, values)
    for at, (quantity, row, own) in enumerate(zip(quantities, rows, values, strict=True)):
        if sample.yes_no[row] or is_open_ended(table, quantity, own):
            continue
        mean, seen = float(own.mean()), (float(own.min()), float(own.max()))
        for end, value in zip(_ends(table, quantity, own), seen, strict=True):
            if np.isfinite(end) and abs(value - mean) < abs(end - mean) / 2:
                yield Extreme(at, quantity.name, quantity.metric, end, value, True, is_end=True)


def _ends(table: ScoreTable, quantity: Quantity, values: Floats) -> tuple[float, float]:
    """Return the range of the values of a mean; infinite for metrics that are not means."""
    if quantity.metric in POOLED_METRICS:
        return -np.inf, np.inf
    if not lies_in_answers(table, quantity) and table.metric(quantity.metric).per is not None:
        return -np.inf, np.inf
    low, high = range_of(quantity.metric)
    if np.isinf([low, high]).all():  # a column of another program with values in [0, 1]
        low, high = 0.0, 1.0
    return low, high * (100 if values.max() > high else 1)  # in percent


def extremes(table: ScoreTable, quantities: Sequence[Quantity], values: Floats) -> Iterator[Extreme]:
    """Yield the extreme values that one question of each mean can have; none for means that have bounds of their own.

    Parameters
    ----------
    table : ScoreTable
    quantities : sequence of Quantity
    values : (quantities, questions) array
        The sample of each mean.
    """
    for at, (quantity, own) in enumerate(zip(quantities, values, strict=True)):
        if not is_open_ended(table, quantity, own):
            continue
        size, largest, smallest = float(np.abs(own).mean()), float(own.max()), float(own.min())
        most = table.most_of(quantity)
        is_known = most is not None and most >= largest
        value = most if most is not None and is_known else max(MULTIPLE * size, largest)
        yield Extreme(at, quantity.name, quantity.metric, value, largest, is_known)
        if smallest < 0:
            yield Extreme(at, quantity.name, quantity.metric, min(-MULTIPLE * size, smallest), smallest, False)


def unseen_in(
    sample: Units, table: ScoreTable, quantities: Sequence[Quantity], value: Value, side: Callable[[float], object]
) -> Unseen:
    """Return how large values that no question showed would change an estimate.

    Parameters
    ----------
    sample : Units
        A row for each quantity.
    table : ScoreTable
    quantities : sequence of Quantity
    value : function from (quantities,) means to the estimate
    side : function from the estimate to the conclusion
    """
    questions, rows = len(sample.sizes) * float(sample.sizes.min()), range(len(quantities))
    return moved_by(extremes_of(sample, table, quantities, rows, sample.values), sample.means, questions, value, side)


def moved_by(
    values: Iterable[Extreme], means: Floats, questions: float, value: Value, side: Callable[[float], object]
) -> Unseen:
    """Return how questions at extreme values would change an estimate; see `unseen_in`.

    For a bound of the plan these are the share that cannot be ruled out; for an assumed value, one more question.

    Parameters
    ----------
    values : iterable of Extreme
    means : (quantities,) array
    questions : float
        The number of questions; datasets of different sizes count as if all had the size of the smallest.
    """
    share, one_more, estimate = unseen_share(questions), 1 / (questions + 1), value(means)
    assumed: list[Extreme] = []
    mark = ""
    for extreme in values:
        one = value(_moved(means, extreme, one_more))
        turned = value(_moved(means, extreme, share)) if extreme.is_known else one
        if side(turned) != side(estimate):
            note = _turned(extreme, questions, share, one, turned)
            if not extreme.is_end:
                return Unseen(True, note)
            mark = mark or note
        assumed += [extreme] * (not extreme.is_known)
    return Unseen(False, mark or _assumed(assumed))


def _moved(means: Floats, extreme: Extreme, share: float) -> Floats:
    """Return the means if a share of the questions of one had its extreme value."""
    moved = means.copy()
    moved[extreme.at] += share * (extreme.value - means[extreme.at])
    return moved


def _turned(extreme: Extreme, questions: float, share: float, one: float, turned: float) -> str:
    value = f"{extreme.value:,.0f}" if abs(extreme.value) >= 1000 else f"{extreme.value:.4g}"
    reached = (
        f"values that no question showed could turn this: {extreme.metric} of {extreme.cell} reaches "
        f"{extreme.seen:,.4g} here"
    )
    if not extreme.is_known:
        why = "the most extreme one seen" if extreme.value == extreme.seen else f"{MULTIPLE:g} times the mean"
        return f"{reached}, no bound is known, and one more question of {value} ({why}) makes the estimate {one:.4g}"
    return (
        f"{reached}, but one question can have {value}; one more question like that makes the estimate "
        f"{one:.4g}, and {questions:,.0f} questions cannot rule out that {share:.2g} of all are like that, which makes "
        f"it {turned:.4g}"
    )


def _assumed(extremes_: Sequence[Extreme]) -> str:
    if not extremes_:
        return ""
    metrics = " and ".join(dict.fromkeys(extreme.metric for extreme in extremes_))
    return f"no bound of {metrics} is known, so one question of more than {MULTIPLE:g} times the mean could turn this"

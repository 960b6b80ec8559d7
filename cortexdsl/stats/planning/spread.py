"""Where the spread of a mean comes from, questions or sampling, and how to split a budget between the two.

A value of question q and replicate r is modelled as y[q, r] = mean + a[q] + e[q, r], both terms random and independent.
Their variances are estimated by the method of moments from the mean squares (Searle, Casella and McCulloch 1992,
Variance Components, section 3.3). Scores of 0 and 1 are not normal, so the intervals are those of the jackknife over
questions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.designs import design_of
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import POOLED_METRICS, Comparison, Quantity
from cortexdsl.core import Floats
from cortexdsl.errors import CortexError
from cortexdsl.stats.inference.outcomes import LEVEL
from cortexdsl.stats.tables.score_table import ScoreTable

FEWEST_QUESTIONS = 5


@dataclass(frozen=True, slots=True)
class Component:
    """A variance, in squared units of the metric, or a correlation; not below 0, with its interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Components:
    """The variance components of one mean or contrast.

    Attributes
    ----------
    questions, sampling : Component
        Between questions, and between the replicates of one question.
    correlation : Component
        The intraclass correlation: the share of the variance of a single replicate that belongs to its question.
    """

    questions: Component
    sampling: Component
    correlation: Component

    def variance_of_mean(self, questions: int, replicates: int) -> float:
        """Return the variance of a mean over questions and replicates.

        References
        ----------
        Miller 2024, arXiv 2411.00640, on resampling: (between questions + within / replicates) / questions.
        """
        return (self.questions.estimate + self.sampling.estimate / replicates) / questions


def claim_spread(table: ScoreTable, claim: str, arms: Sequence[CellNames]) -> Components | None:
    """Return the components of the difference (or the mean) of a claim; None if it has none or they are not known.

    With several datasets they are those of the first one that the claim is about. Wordings of prompts are a part of
    the spread that no split of questions and replicates changes, so claims about them have none.
    """
    parsed = parse_claim(claim)
    if not isinstance(parsed, Comparison) or parsed.is_ratio or parsed.over == "teams":
        return None
    if any(one.is_of_answers or one.metric in POOLED_METRICS for one in parsed.quantities):
        return None
    dataset = parsed.dataset if parsed.dataset in table.datasets else table.datasets[0]
    try:
        design = design_of(parsed, arms)
        if len(design.weights) != 1 or table.wordings(design.cells):
            return None
        each = np.stack([_replicates(table, one, table.datasets.index(dataset)) for one in design.quantities])
    except CortexError:
        return None
    values = np.tensordot(design.weights[0], each[:, :, ~np.isnan(each).all(axis=(0, 1))], axes=1)
    is_short = len(values) < FEWEST_QUESTIONS or values.shape[1] < 2 or np.isnan(values).any()
    return None if is_short else components_of(values)


def _replicates(table: ScoreTable, quantity: Quantity, dataset: int) -> Floats:
    """Return the values of a mean on one dataset, (questions, replicates); NaN if a row is missing."""
    column = table.metric(quantity.metric).column
    values = table.column(column) if quantity.round is None else table.after(column, quantity.round)
    rows = np.flatnonzero((table.dataset == dataset) & (table.cell == table.cells.index(quantity.name)))
    placed = np.full((len(table.questions[dataset]), int(table.replicate.max()) + 1), np.nan)
    placed[table.question[rows], table.replicate[rows]] = values[rows]
    return placed


def components_of(values: Floats, level: float = LEVEL) -> Components:
    """Estimate variance components.

    Parameters
    ----------
    values : (questions, replicates) array
        At least five questions, and two replicates.
    level : float
        Of the intervals.
    """
    between, sampling = (_jackknifed(values, part, level) for part in (_between, _sampling))
    return Components(between, sampling, _jackknifed(values, _correlation, level, most=1.0))


def _between(values: Floats) -> float:
    return float(values.mean(axis=1).var(ddof=1) - _sampling(values) / values.shape[1])


def _sampling(values: Floats) -> float:
    return float(values.var(axis=1, ddof=1).mean())


def _correlation(values: Floats) -> float:
    between = _between(values)  # not clipped, so that the jackknife sees its spread
    whole = max(between, 0.0) + _sampling(values)
    return between / whole if whole > 0 else 0.0


def _jackknifed(values: Floats, part: Callable[[Floats], float], level: float, most: float = np.inf) -> Component:
    """Return an estimate with the interval of its jackknife over questions (Tukey 1958), by Student's t."""
    count = len(values)
    whole = part(values)
    without = np.array([part(np.delete(values, k, axis=0)) for k in range(count)])
    pseudo = count * whole - (count - 1) * without
    reach = float(stats.t.isf((1 - level) / 2, count - 1)) * float(pseudo.std(ddof=1)) / count**0.5
    low, high = (float(np.clip(whole + side * reach, 0.0, most)) for side in (-1, 1))
    return Component(float(np.clip(whole, 0.0, most)), low, high)


@dataclass(frozen=True, slots=True)
class Split:
    """A budget of debates, split into questions and replicates.

    Attributes
    ----------
    questions, replicates : int
    error : float
        The standard error of the mean on questions like these.
    """

    questions: int
    replicates: int
    error: float


def splits_of(components: Components, debates: int, most_questions: int, replicates: Sequence[int]) -> list[Split]:
    """Return splits of a budget, the most precise first.

    Parameters
    ----------
    components : Components
        Of a pilot.
    debates : int
        Questions times replicates that the budget allows.
    most_questions : int
        The questions that there are.
    replicates : sequence of int
        Those to consider; of the number of questions there are as many as fit, at least two.
    """
    found = []
    for count in sorted(set(replicates)):
        questions = min(debates // count, most_questions)
        if questions >= 2:
            found.append(Split(questions, count, components.variance_of_mean(questions, count) ** 0.5))
    return sorted(found, key=lambda split: (split.error, split.replicates))

"""Results against what they cost: the Pareto front of a score and a budget, and how well matched budgets were met.

A cell is on the front if no other cell is at least as good on both and better on one. Bootstrap samples say how sure
that is: in each sample of questions, drawn with replacement within their dataset (clusters as wholes), the same
questions count for all cells and metrics. The budget of a matched cell is what another cell spent on the same
questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cortexdsl.claims.values import Quantity, better_of
from cortexdsl.core import Bools, Floats
from cortexdsl.errors import DataError
from cortexdsl.stats.inference.bootstrap import resample_counts
from cortexdsl.stats.inference.contrasts import gap_of, ratio_outcome
from cortexdsl.stats.tables.rows import FrontRow, MatchRow, columns_of
from cortexdsl.stats.tables.score_table import ScoreTable
from cortexdsl.stats.tables.units import Units, units_of

FRONT_DRAWS = 2_000
SURE = 0.95
"""Share of bootstrap samples from which a cell is said to be on the front."""
TOLERANCE = 0.10
"""A ratio farther than this from 1 is not called matched."""


def on_front(values: Floats) -> Bools:
    """Return which cells are on the front.

    Parameters
    ----------
    values : (..., metrics, cells) array
        The higher, the better.

    Returns
    -------
    (..., cells) bool array
    """
    own, other = values[..., :, :, None], values[..., :, None, :]
    dominated = (other >= own).all(axis=-3) & (other > own).any(axis=-3)
    return np.asarray(~dominated.any(axis=-1))


def front_table(
    table: ScoreTable, metric: str, budgets: Sequence[str], seed: int, draws: int = FRONT_DRAWS
) -> pd.DataFrame:
    """Return which cells are on the front of a metric and each of some budgets, in the mean over datasets.

    Returns
    -------
    DataFrame
        `FrontRow`, a row for each budget and cell: its means, whether they are on the front, and the share of
        bootstrap samples in which it is. Cells without a value of some question are left out; a budget that fewer than
        two cells know has no rows.
    """
    rows: list[tuple[object, ...]] = []
    dataset = table.datasets[0] if len(table.datasets) == 1 else "all"
    for budget in budgets:
        cells = [cell for cell in table.cells if _is_known(table, (metric, budget), cell)]
        if len(cells) < 2:
            continue
        sample = units_of(table, [Quantity(name, cell) for name in (metric, budget) for cell in cells])
        signs = np.repeat([_sign(metric), _sign(budget)], len(cells))
        means = sample.means
        now = on_front((signs * means).reshape(2, -1))
        share = _shares(sample, signs, seed, draws)
        size = int(sample.sizes.sum())
        for k, cell in enumerate(cells):
            rows.append((dataset, metric, budget, cell, means[k], means[len(cells) + k], bool(now[k]), share[k], size))
    return pd.DataFrame(rows, columns=columns_of(FrontRow))


def _is_known(table: ScoreTable, metrics: Sequence[str], cell: str) -> bool:
    try:
        return not gap_of(units_of(table, [Quantity(metric, cell) for metric in metrics]), range(len(metrics)))
    except DataError:
        return False


def _sign(metric: str) -> float:
    return -1.0 if better_of(metric) == "lower" else 1.0


def _shares(sample: Units, signs: Floats, seed: int, draws: int) -> Floats:
    """Return the share of bootstrap samples in which each cell is on the front."""
    contributions = (signs[:, None] * sample.parts).T
    met = sum(
        on_front((counts @ contributions).reshape(len(counts), 2, -1)).sum(axis=0)
        for counts in resample_counts(sample, draws, seed)
    )
    return np.asarray(met, dtype=np.float64) / draws


class MatchedPair(NamedTuple):
    """A cell, the metric of its budget, and the cell that it is matched to."""

    cell: str
    metric: str
    reference: str


def match_table(table: ScoreTable, pairs: Sequence[MatchedPair], seed: int) -> pd.DataFrame:
    """Return what matched cells spent as a share of their budgets, on each dataset.

    Returns
    -------
    DataFrame
        `MatchRow`; without an interval if every question has the same ratio, or a value is missing.
    """
    rows = [_match(table, pair, dataset, seed) for pair in pairs for dataset in table.datasets]
    return pd.DataFrame(rows, columns=columns_of(MatchRow))


def _match(table: ScoreTable, pair: MatchedPair, dataset: str, seed: int) -> tuple[object, ...]:
    quantities = [Quantity(pair.metric, cell) for cell in (pair.cell, pair.reference)]
    try:
        sample = units_of(table, quantities, (dataset,))
    except DataError:
        return (dataset, *pair, *[np.nan] * 5)
    outcome = ratio_outcome(sample, np.array([1.0, -1.0]), 1.0, seed)
    spent, budget = (float(mean) for mean in sample.means)
    return dataset, *pair, spent, budget, outcome.estimate, outcome.low, outcome.high

"""How well matched budgets were met: a budget is what another cell spent on the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cortexdsl.claims.values import Quantity
from cortexdsl.errors import DataError
from cortexdsl.stats.inference.contrasts import ratio_outcome
from cortexdsl.stats.tables.rows import MatchRow, columns_of
from cortexdsl.stats.tables.score_table import ScoreTable
from cortexdsl.stats.tables.units import units_of

TOLERANCE = 0.10
"""A ratio farther than this from 1 is not called matched."""


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

"""A race over a finished table: what racing would have asked, found and saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.values import Claim
from cortexdsl.stats.sequential.sequential import evaluate_anytime, live_cells, look_ends, sizes_of
from cortexdsl.stats.sequential.streams import table_at_look
from cortexdsl.stats.tables.score_table import ScoreTable, score_table


@dataclass(frozen=True, slots=True, eq=False)
class Race:
    """The result of a race.

    Attributes
    ----------
    verdicts : DataFrame
        Those at its end, in the columns of hypotheses.csv.
    asked : mapping of cell to int
        The questions that each cell was asked, of all datasets.
    saved : float
        The share of all questions of all cells that was saved.
    """

    verdicts: pd.DataFrame
    asked: Mapping[str, int]
    saved: float


def race(
    scores: pd.DataFrame | ScoreTable,
    claims: Sequence[str | Claim],
    arms: Sequence[CellNames] = (),
    *,
    batch: int = 50,
    fewest: int = 50,
    alpha: float = 0.05,
    correction: str = "holm",
) -> Race:
    """Simulate a race over a finished table."""
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    planned = sizes_of(table)
    total = max(planned.values())
    live, ends = table.cells, dict.fromkeys(table.cells, 0)
    for end in look_ends(total, batch, fewest):
        ends |= dict.fromkeys(live, end)
        so_far = table_at_look(table, ends, planned)
        live = live_cells(so_far, claims, arms, planned=planned, alpha=alpha, correction=correction, among=live)
        if not live:
            break
    verdicts = evaluate_anytime(so_far, claims, arms, planned=planned, alpha=alpha, correction=correction)
    counts = pd.Series(so_far.frame["cell"]).value_counts()
    replicates = np.maximum(pd.Series(table.frame["cell"]).value_counts() // sum(planned.values()), 1)
    asked = {cell: int(counts[cell] // replicates[cell]) for cell in table.cells}
    return Race(verdicts, asked, 1 - len(so_far.frame) / len(table.frame))

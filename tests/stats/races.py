"""Looks at a finished table: when an experiment would have stopped, what racing would have asked, found and saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.values import Claim
from cortexdsl.core import proportional_questions
from cortexdsl.stats.sequential.sequential import evaluate_anytime, live_cells, sizes_of
from cortexdsl.stats.tables.score_table import ASKED_COLUMN, ScoreTable, score_table


def table_at_look(table: ScoreTable, ends: Mapping[str, int], planned: Mapping[str, int]) -> ScoreTable:
    """Return the table after a number of questions per cell of the largest dataset.

    Every other dataset is cut to the same fraction.
    """
    largest = max(planned.values())
    asked = np.array(
        [
            [proportional_questions(ends[cell], planned[name], largest) for cell in table.cells]
            for name in table.datasets
        ]
    )
    so_far = table.until(asked)
    if (asked == asked[:, :1]).all():
        return so_far
    return replace(so_far, frame=so_far.frame.assign(**{ASKED_COLUMN: asked[so_far.dataset, so_far.cell]}))


def look_ends(total: int, batch: int, fewest: int) -> list[int]:
    """Return the numbers of questions at which one looks: the first `fewest`, each `batch` more, and all."""
    return [*range(min(fewest, total), total, batch), total]


@dataclass(frozen=True, slots=True, eq=False)
class Stopping:
    """The end of an experiment with early stopping.

    Attributes
    ----------
    questions : mapping of dataset to int
        Those asked.
    verdicts : DataFrame
        In the columns of hypotheses.csv.
    looks : list of (int, int)
        The questions of all datasets at each look, and the number of claims that were decided.
    saved : float
        The share of the rows that was saved.
    """

    questions: Mapping[str, int]
    verdicts: pd.DataFrame
    looks: list[tuple[int, int]]
    saved: float


def stopping_point(
    scores: pd.DataFrame | ScoreTable, claims: Sequence[str], *, batch: int = 50, fewest: int = 50
) -> Stopping:
    """Look after every batch of a finished experiment, and stop when every claim is decided."""
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    planned = sizes_of(table)
    total = max(planned.values())
    looks: list[tuple[int, int]] = []
    for end in look_ends(total, batch, fewest):
        asked = {name: proportional_questions(end, size, total) for name, size in planned.items()}
        so_far = table_at_look(table, dict.fromkeys(table.cells, end), planned)
        verdicts = evaluate_anytime(so_far, claims, planned=planned)
        looks.append((sum(asked.values()), int((verdicts["verdict"] != "undecided").sum())))
        if looks[-1][1] == len(claims):
            break
    return Stopping(asked, verdicts, looks, 1 - len(so_far.frame) / len(table.frame))


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

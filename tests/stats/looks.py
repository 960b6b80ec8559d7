"""Looks at a finished table: when an experiment would have stopped, and what that would have saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cortexdsl.core import proportional_questions
from cortexdsl.stats.sequential.sequential import evaluate_anytime, sizes_of
from cortexdsl.stats.tables.score_table import ScoreTable, score_table


def table_at_look(table: ScoreTable, end: int, planned: Mapping[str, int]) -> ScoreTable:
    """Return the table after a number of questions of the largest dataset, and the same fraction of every other."""
    largest = max(planned.values())
    ends = np.array([proportional_questions(end, planned[name], largest) for name in table.datasets])
    inside = table.question < ends[table.dataset]
    return replace(score_table(table.frame[inside], table.source), most=table.most, fixed=table.fixed)


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
        so_far = table_at_look(table, end, planned)
        verdicts = evaluate_anytime(so_far, claims, planned=planned)
        looks.append((sum(asked.values()), int((verdicts["verdict"] != "undecided").sum())))
        if looks[-1][1] == len(claims):
            break
    return Stopping(asked, verdicts, looks, 1 - len(so_far.frame) / len(table.frame))

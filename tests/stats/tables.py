"""Tables of scores that tests make."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cortexdsl.stats.tables.score_table import ScoreTable, score_table


def long_table(values: dict[str, NDArray[np.float64]], metric: str = "score", **columns: object) -> pd.DataFrame:
    """A table from (replicates, questions) arrays by cell."""
    rows = []
    for cell, array in values.items():
        replicates, questions = array.shape
        rows.append(
            pd.DataFrame(
                {
                    "cell": cell,
                    "replicate": np.repeat(np.arange(1, replicates + 1), questions),
                    "question_id": np.tile([f"q{i}" for i in range(questions)], replicates),
                    metric: array.ravel(),
                    **columns,
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def planned(frame: pd.DataFrame, most: float) -> ScoreTable:
    """The table of an experiment whose plan allows one question of each cell `most` rounds, calls and output tokens."""
    table = score_table(frame)
    bounds = dict.fromkeys(("rounds", "calls", "output_tokens"), most)
    return table.with_most(dict.fromkeys(table.cells, bounds))


def two_by_two(both: int, first: int, second: int, neither: int) -> dict[str, NDArray[np.float64]]:
    """Answers of `a` and `b` to the questions of a 2 x 2 table, one replicate."""
    a = np.repeat([1.0, 1.0, 0.0, 0.0], [both, first, second, neither])
    b = np.repeat([1.0, 0.0, 1.0, 0.0], [both, first, second, neither])
    return {"a": a[None], "b": b[None]}

"""Effects of leaving something out of a debate.

An effect is a paired difference: each debate is compared with its counterfactual without an agent, an edge, a round or
a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pandas as pd

from cortexdsl.claims.cells import CellNames
from cortexdsl.core import Family
from cortexdsl.stats.inference.bootstrap import DRAWS
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.tables.rows import EffectRow, columns_of
from cortexdsl.stats.tables.score_table import ALL, score_table
from cortexdsl.stats.tables.units import units

Row: TypeAlias = Mapping[str, str | int | float | None]
"""A row of scores.csv, by column."""
ANSWER_CHANGED, OWN_CALLS = "changed", "asked_beside"
"""Columns of counterfactual debates: whether the answer differs; calls that the original debate does not have."""


def name_without(cell: str, without: str) -> str:
    """Return the name of a cell without something; no cell of a plan can have such a name."""
    return f"{cell} without {without}"


def effects(
    rows: Sequence[Row],
    cell: str,
    left_out: Sequence[str],
    seed: int,
    correction: str = "holm",
    draws: int = DRAWS,
    metrics: Sequence[str] = ("accuracy",),
) -> pd.DataFrame:
    """Test the effects of leaving something out on the metrics of a cell.

    With the same seeds two debates of a question are identical as long as their prompts are, so their difference is
    the effect. Units are questions (or clusters); replicates are averaged first.

    Parameters
    ----------
    rows : sequence of Row
        Score rows of the cell and of each counterfactual (its cell is `name_without`), on all datasets.
    cell : str
    left_out : sequence of str
        One family.
    seed : int
    correction : str
    draws : int
    metrics : sequence of str
        Each has its own family, so that a further metric changes no p of the others.

    Returns
    -------
    DataFrame
        One row for each metric, dataset and part (and for the mean over several datasets, `all`): `whole` and
        `left_out` are the means with and without it; `effect` is the first minus the second, above 0 if it helps;
        `changed` is the share of debates with another answer, `asked` the number of calls that the original debates
        do not have.
    """
    frame = pd.DataFrame(rows)
    table = score_table(frame)
    names = {name_without(cell, without): without for without in left_out}
    family = Family("whatif", tuple(names), cell, correction)  # type: ignore[arg-type]
    arms = [CellNames(name, name) for name in (cell, *names)]
    results = []
    for metric in metrics:
        for row in compare_families(table, [family], [metric], seed, arms, draws).to_dict("records"):
            here = frame if row["dataset"] == ALL else frame[frame["dataset"] == row["dataset"]]
            branch = here[here["cell"] == row["cell"]]
            scope = table.datasets if row["dataset"] == ALL else (str(row["dataset"]),)
            means = units(table, metric, [cell, str(row["cell"])], scope).means.tolist()
            results.append({
                "dataset": row["dataset"], "cell": cell, "without": names[str(row["cell"])],
                "whole": means[0], "left_out": means[1], "effect": 0.0 - row["difference"],
                "ci_low": 0.0 - row["ci_high"], "ci_high": 0.0 - row["ci_low"],
                "ci_low_simultaneous": 0.0 - row["ci_high_simultaneous"],
                "ci_high_simultaneous": 0.0 - row["ci_low_simultaneous"],
                "test": row["test"], "p": row["p"], "p_adjusted": row["p_adjusted"], "correction": correction,
                "n_questions": row["n_questions"], "changed": _mean(branch, ANSWER_CHANGED),
                "asked": int(branch[OWN_CALLS].sum()), "note": row["note"],
                "metric": metric,
            })  # fmt: skip
    return pd.DataFrame(results, columns=columns_of(EffectRow))


def _mean(rows: pd.DataFrame, column: str) -> float:
    """Return the mean over questions within each dataset, then over datasets."""
    return float(rows.groupby("dataset")[column].mean().mean())

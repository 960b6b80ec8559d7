"""The effect of an agent, an edge, a round or a step: paired differences of debates with it and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import pandas as pd

from cortexdsl.analysis.tests.compare import compare_families
from cortexdsl.analysis.tests.signflip import DRAWS
from cortexdsl.analysis.units.scores import Row
from cortexdsl.analysis.units.table import ALL, score_table
from cortexdsl.analysis.units.units import units
from cortexdsl.analysis.whatif.branches import ASKED_BESIDE, CHANGED, called
from cortexdsl.spec.claims.arms import Arm
from cortexdsl.terms import Family

COLUMNS = (
    "dataset", "cell", "without", "whole", "left_out", "effect", "ci_low", "ci_high", "ci_low_simultaneous",
    "ci_high_simultaneous", "test", "p", "p_adjusted", "correction", "n_questions", "changed", "asked", "declared",
    "note", "metric",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """What is left out of a cell, and whether the spec says so (else only the command line)."""

    without: str
    is_declared: bool


def effects(
    rows: Sequence[Row],
    cell: str,
    asked: Sequence[Asked],
    seed: int,
    correction: str = "holm",
    draws: int = DRAWS,
    metrics: Sequence[str] = ("accuracy",),
) -> pd.DataFrame:
    """Test what leaving something out does to a cell's metrics.

    With the same seeds the two debates of a question are the same as far as their prompts are, so that what differs
    is the effect of what is left out: the question (or its cluster) is the unit, replicates are averaged first.

    Parameters
    ----------
    rows : sequence of Row
        Of the cell (`whole_rows`) and of each counterfactual (`branch_rows`), on all datasets.
    cell : str
    asked : sequence of Asked
        What the spec asks for and what the command line asks for are two families, each corrected in itself.
    seed : int
    correction : str
    draws : int
    metrics : sequence of str
        Each makes families of its own, so that asking for another one changes no p of the first.

    Returns
    -------
    DataFrame
        One row for each metric, dataset and thing left out (and for the mean over several datasets, `all`): `whole`
        and `left_out` are its means with it and without it; `effect` is the first less the second, so that what
        helps is above 0; `changed` the share of debates whose answer is another one; `asked` the calls that were
        not those of the debates branched from.
    """
    frame = pd.DataFrame(rows)
    table = score_table(frame)
    found = []
    for metric, is_declared in product(metrics, (True, False)):
        names = {called(cell, one.without): one.without for one in asked if one.is_declared == is_declared}
        if not names:
            continue
        family = Family("whatif", tuple(names), cell, correction)  # type: ignore[arg-type]
        arms = [Arm(name, name) for name in (cell, *names)]
        for row in compare_families(table, [family], [metric], seed, arms, draws).to_dict("records"):
            here = frame if row["dataset"] == ALL else frame[frame["dataset"] == row["dataset"]]
            branch = here[here["cell"] == row["cell"]]
            scope = table.datasets if row["dataset"] == ALL else (str(row["dataset"]),)
            means = units(table, metric, [cell, str(row["cell"])], scope).means.tolist()
            found.append({
                "dataset": row["dataset"], "cell": cell, "without": names[str(row["cell"])],
                "whole": means[0], "left_out": means[1], "effect": 0.0 - row["difference"],
                "ci_low": 0.0 - row["ci_high"], "ci_high": 0.0 - row["ci_low"],
                "ci_low_simultaneous": 0.0 - row["ci_high_simultaneous"],
                "ci_high_simultaneous": 0.0 - row["ci_low_simultaneous"],
                "test": row["test"], "p": row["p"], "p_adjusted": row["p_adjusted"], "correction": correction,
                "n_questions": row["n_questions"], "changed": _mean(branch, CHANGED),
                "asked": int(branch[ASKED_BESIDE].sum()), "declared": is_declared, "note": row["note"],
                "metric": metric,
            })  # fmt: skip
    return pd.DataFrame(found, columns=list(COLUMNS))


def _mean(rows: pd.DataFrame, column: str) -> float:
    """Return a mean over questions within each dataset, then over datasets."""
    return float(rows.groupby("dataset")[column].mean().mean())

"""rounds.csv: score, consensus and listening after each round, final answers carried forward after an early stop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cortexdsl.analysis.metrics.table import metrics_table
from cortexdsl.analysis.tests.intervals import LEVEL
from cortexdsl.analysis.units.scores import Row
from cortexdsl.analysis.units.table import score_table

COLUMNS = (
    "dataset", "cell", "round", "accuracy", "accuracy_low", "accuracy_high", "consensus", "consensus_low",
    "consensus_high", "agent_accuracy", "improvement", "debating", "density", "reciprocity", "n_questions",
    "n_replicates",
)  # fmt: skip
_METRICS = ("accuracy", "consensus", "agent_accuracy", "improvement", "debating", "density", "reciprocity")
_KEYS = ["dataset", "cell", "replicate", "question_id"]


def round_table(rows: Sequence[Row], *, seed: int = 0, level: float = LEVEL) -> pd.DataFrame:
    """Estimate accuracy and consensus after each round.

    Parameters
    ----------
    rows : sequence of dict
        Of `by_round.round_rows`, for all datasets together; fresh, or read back from a CSV file as text.
    seed, level
        Of the intervals (`cortexdsl.analysis.metrics.estimate`).

    Returns
    -------
    DataFrame
        One row for each dataset (`all`: their mean), cell and round, up to the longest debate of the cell.
        `improvement` is (accuracy - opening accuracy) / opening accuracy (ACC-Debate, section 5); `debating` the
        share of debates that had that round; `density` and `reciprocity` are means over those.
    """
    frame = pd.DataFrame(rows)
    if frame.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    for column in ("round", "score", "consensus", "agent_score", "density", "reciprocity"):
        frame[column] = pd.to_numeric(frame[column])
    last = frame.groupby(_KEYS, sort=False)["round"].transform("max")
    opening = frame[frame["round"] == 0].set_index(_KEYS)["score"]
    tables = []
    for round_ in range(int(frame["round"].max()) + 1):
        reaches = frame.groupby("cell")["round"].transform("max") >= round_
        now = frame[reaches & (frame["round"] == np.minimum(last, round_))].reset_index(drop=True)
        had = now["round"] == round_
        now["opening_score"] = opening.reindex(pd.MultiIndex.from_frame(now[_KEYS])).to_numpy()
        now["gain"] = now["score"] - now["opening_score"]
        now["debating"] = had.astype(float)
        for column in ("density", "reciprocity"):
            now[column] = now[column].astype(float).where(had)
        table = metrics_table(score_table(now.drop(columns="round")), _METRICS, seed=seed, level=level)
        tables.append(_wide(table, round_))
    whole = pd.concat(tables, ignore_index=True)
    first = {key: k for k, key in enumerate(dict.fromkeys(zip(whole["dataset"], whole["cell"], strict=True)))}
    order = [first[key] for key in zip(whole["dataset"], whole["cell"], strict=True)]
    return whole.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


def _wide(table: pd.DataFrame, round_: int) -> pd.DataFrame:
    """Return one row for each dataset and cell: estimates side by side, with intervals of the first two."""
    rows = []
    for (dataset, cell), part in table.groupby(["dataset", "cell"], sort=False):
        by = {str(row["metric"]): row for row in part.to_dict("records")}
        found = {"dataset": dataset, "cell": cell, "round": round_}
        found |= {metric: row["estimate"] for metric, row in by.items()}
        for metric in ("accuracy", "consensus"):
            found |= {f"{metric}_low": by[metric]["ci_low"], f"{metric}_high": by[metric]["ci_high"]}
        rows.append(found | {key: by["accuracy"][key] for key in ("n_questions", "n_replicates")})
    return pd.DataFrame(rows, columns=list(COLUMNS))

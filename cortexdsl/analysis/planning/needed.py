"""How many questions an undecided claim would have needed, by the planning that is done before a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cortexdsl.analysis.planning.basis import Expected
from cortexdsl.analysis.planning.planning import plan_power
from cortexdsl.analysis.units.table import ScoreTable
from cortexdsl.errors import CortexError
from cortexdsl.spec.claims.arms import Arm


def questions_needed(
    table: ScoreTable, verdicts: pd.DataFrame, arms: Sequence[Arm], *, alpha: float, correction: str
) -> list[float]:
    """Return how many questions would decide each undecided claim with 80 % power, were its estimate the truth.

    Parameters
    ----------
    table : ScoreTable
        The scores that were judged: the spread over questions is taken from them.
    verdicts : DataFrame
        Of `judge_claims`: `claim`, `verdict`.
    arms, alpha, correction
        As for `judge_claims`.

    Returns
    -------
    list of float
        One a claim: questions over all datasets. NaN if the claim is decided, if its estimate points against it or lies
        on its bound, and if planning cannot tell.
    """
    sizes = {name: len(ids) for name, ids in zip(table.datasets, table.questions, strict=True)}
    replicates = len(np.unique(table.replicate))
    expected = Expected(earlier=table)

    def needed(claim: str) -> float:
        # Each claim is planned for at the level that it had among all of them.
        level = alpha if correction == "none" else alpha / len(verdicts)
        try:
            found = plan_power([claim], arms, sizes, replicates, expected, alpha=level, correction="none", runs=0)
        except CortexError:
            return float("nan")
        count = float(found["needed"][0])
        return count if np.isfinite(count) and count > sum(sizes.values()) else float("nan")

    rows = zip(verdicts["claim"], verdicts["verdict"], strict=True)
    return [needed(claim) if verdict == "undecided" else float("nan") for claim, verdict in rows]

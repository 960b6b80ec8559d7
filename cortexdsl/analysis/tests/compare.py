"""Families of comparisons: each cell against a reference, on each metric and dataset, p adjusted at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cortexdsl.analysis.tests.contrasts import Outcome, contrast_outcomes
from cortexdsl.analysis.tests.corrections import adjust
from cortexdsl.analysis.tests.effects import d_z, discordant_odds_ratio
from cortexdsl.analysis.tests.signflip import DRAWS
from cortexdsl.analysis.units.arms import Arm, arms_of, find_arm
from cortexdsl.analysis.units.table import ScoreTable, score_table
from cortexdsl.analysis.units.units import Units, bounded, units
from cortexdsl.errors import InputError
from cortexdsl.terms import Family, Floats

COLUMNS = (
    "family", "dataset", "metric", "cell", "reference", "difference", "ci_low", "ci_high", "test", "statistic", "p",
    "p_adjusted", "correction", "effect", "effect_size", "n_questions", "discordant",
)  # fmt: skip
BOUND_COLUMNS = (
    "family", "dataset", "metric", "cell", "reference", "missing", "unparsed", "difference", "p_adjusted",
    "worst_difference", "worst_p_adjusted", "best_difference", "best_p_adjusted", "changes",
)  # fmt: skip


def compare_families(
    scores: pd.DataFrame | ScoreTable,
    families: Sequence[Family],
    metrics: Sequence[str],
    seed: int,
    arms: Sequence[Arm] = (),
    draws: int = DRAWS,
) -> pd.DataFrame:
    """Compare the cells of every family with its reference.

    Parameters
    ----------
    scores : DataFrame or ScoreTable
        One row per dataset, cell, replicate and question.
    families : sequence of Family
    metrics : sequence of str
        Columns of the table; `accuracy` is `score`.
    seed : int
        Of Monte Carlo signs and resamples.
    arms : sequence of Arm
        The plan's cells, where families name methods or other names of cells.
    draws : int

    Returns
    -------
    DataFrame
        The columns of comparisons.csv (`COLUMNS`): one row per family, metric, dataset and cell, and with
        several datasets one more for their mean (`all`). `p_adjusted` counts every row of the family.
        `difference` and its interval are in the metric's units. Where nothing can be tested, `test` says why.

    Raises
    ------
    InputError, DataError
        Where a name is unknown, or a cell has no rows on a dataset.
    """
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    known = tuple(arms) or arms_of(table.cells)
    rows = [row for family in families for row in _family(table, family, metrics, seed, known, draws)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def missing_bounds(
    scores: pd.DataFrame | ScoreTable,
    families: Sequence[Family],
    metrics: Sequence[str],
    seed: int,
    arms: Sequence[Arm] = (),
    draws: int = DRAWS,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Say where missing or unreadable answers could change what a comparison finds.

    The comparisons are repeated with every missing or unreadable row of the cell right and the reference's
    wrong (best), and the other way round (worst).

    Returns
    -------
    DataFrame
        `BOUND_COLUMNS`, one row per comparison that has such rows. `changes` is whether the best or the worst
        case is significant where the comparison is not, is not where it is, or turns its direction.
    """
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    known = tuple(arms) or arms_of(table.cells)
    rows: list[dict[str, Any]] = []
    for family in families:
        if not any(_doubtful(table, metric) for metric in metrics):
            continue
        plain = _family(table, family, metrics, seed, known, draws)
        worst = _family(table, family, metrics, seed, known, draws, raised=(0.0, 1.0))
        best = _family(table, family, metrics, seed, known, draws, raised=(1.0, 0.0))
        for row, low, high in zip(plain, worst, best, strict=True):
            if row["_missing"] or row["_unparsed"]:
                said = {_said(case, alpha) for case in (row, low, high)}
                rows.append(
                    row
                    | {"missing": row["_missing"], "unparsed": row["_unparsed"], "changes": len(said) > 1}
                    | {"worst_difference": low["difference"], "worst_p_adjusted": low["p_adjusted"]}
                    | {"best_difference": high["difference"], "best_p_adjusted": high["p_adjusted"]}
                )
    return pd.DataFrame(rows, columns=list(BOUND_COLUMNS))


def _doubtful(table: ScoreTable, metric: str) -> bool:
    """Whether any cell of the table has missing or unreadable rows of a metric that they could change."""
    scopes = [units(table, metric, _cells_on(table, name), (name,)) for name in table.datasets]
    return any(scope.missing.any() or scope.unparsed.any() for scope in scopes)


def _cells_on(table: ScoreTable, dataset: str) -> tuple[str, ...]:
    here = np.unique(table.cell[table.dataset == table.datasets.index(dataset)])
    return tuple(table.cells[index] for index in here)


def _said(row: dict[str, Any], alpha: float) -> float:
    return float(np.sign(row["difference"])) if row["p_adjusted"] <= alpha else 0.0


def _family(
    table: ScoreTable, family: Family, metrics: Sequence[str], seed: int, arms: Sequence[Arm], draws: int,
    raised: tuple[float, float] = (0.0, 0.0),
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows of one family. `raised` is how far doubtful rows of the cells and of the reference are raised."""
    reference = find_arm(arms, family.to).cell
    cells = tuple(dict.fromkeys(c for name in family.compare if (c := find_arm(arms, name).cell) != reference))
    if not cells:
        raise InputError(f"the family {family.name!r} compares {family.to!r} with nothing else")
    scopes = [(name,) for name in table.datasets] + ([table.datasets] if len(table.datasets) > 1 else [])
    rows = []
    for metric in metrics:
        for scope in scopes:
            sample = units(table, metric, (*cells, reference), scope)
            sample = bounded(sample, [raised[0]] * len(cells) + [raised[1]]) if any(raised) else sample
            weights = np.hstack([np.eye(len(cells)), -np.ones((len(cells), 1))])
            outcomes = contrast_outcomes(sample, weights, [0.0] * len(cells), seed, draws)
            rows += [_row(family, sample, i, found) for i, found in enumerate(outcomes)]
    for row, p in zip(rows, adjust([row["p"] for row in rows], family.correction), strict=True):
        row["p_adjusted"] = p
    return rows


def _row(family: Family, sample: Units, cell: int, found: Outcome) -> dict[str, Any]:
    effect, size = _effect(sample, sample.values[cell] - sample.values[-1], cell)
    return {
        "family": family.name, "dataset": sample.dataset, "metric": sample.metric, "cell": sample.cells[cell],
        "reference": sample.cells[-1], "difference": found.estimate, "ci_low": found.low, "ci_high": found.high,
        "test": found.test, "statistic": found.statistic, "p": found.p, "correction": family.correction,
        "effect": effect, "effect_size": size, "n_questions": int(sample.sizes.sum()),
        "discordant": found.discordant, "_missing": int(sample.missing[cell] + sample.missing[-1]),
        "_unparsed": int(sample.unparsed[cell] + sample.unparsed[-1]),
    }  # fmt: skip


def _effect(sample: Units, difference: Floats, cell: int) -> tuple[str, float]:
    """The discordant odds ratio of two methods with one replicate of 0/1 rows, else d_z."""
    if np.isnan(difference).any():
        return "", np.nan
    if sample.binary and sample.replicates[cell] == sample.replicates[-1] == 1:
        return "odds_ratio", discordant_odds_ratio(difference)
    return "d_z", d_z(difference)

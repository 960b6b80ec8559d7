"""Families of comparisons: each cell against a reference, on each metric and dataset, p adjusted at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cortexdsl.analysis.phrasing import joined
from cortexdsl.analysis.tests.contrasts import contrast_outcomes
from cortexdsl.analysis.tests.corrections import adjust, simultaneous_level
from cortexdsl.analysis.tests.effects import d_z, discordant_odds_ratio
from cortexdsl.analysis.tests.intervals import LEVEL
from cortexdsl.analysis.tests.outcome import Outcome
from cortexdsl.analysis.tests.signflip import DRAWS
from cortexdsl.analysis.tests.unseen import Unseen, extremes, moved_by
from cortexdsl.analysis.units.replicates import absent_of
from cortexdsl.analysis.units.table import ALL, ScoreTable, score_table
from cortexdsl.analysis.units.units import Units, bounded, units
from cortexdsl.errors import InputError
from cortexdsl.spec.claims.arms import Arm, arms_of, find_arm
from cortexdsl.spec.claims.language import Quantity
from cortexdsl.terms import Family, Floats

COLUMNS = (
    "family", "dataset", "metric", "cell", "reference", "difference", "ci_low", "ci_high", "test", "statistic", "p",
    "p_adjusted", "correction", "effect", "effect_size", "n_questions", "discordant", "ci_low_simultaneous",
    "ci_high_simultaneous", "null", "note",
)  # fmt: skip
NULL = "a difference of 0, two-sided"
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
        `difference` and its intervals are in the metric's units: `ci_low` and `ci_high` of this difference alone,
        those named simultaneous of all of the family together (`corrections.simultaneous_level`). Each interval
        holds 0 exactly if its own p, adjusted in one step or not at all, is above alpha. `null` is what `p` tests;
        `note` says if a step-wise correction and the simultaneous interval disagree, and what a cell lacks. If
        nothing can be tested, `test` says why.

    Raises
    ------
    InputError, DataError
        Where a name is unknown, or a cell has no rows on a dataset.
    """
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    known = tuple(arms) or arms_of(table.cells)
    rows = [row for family in families for row in _family(table, family, metrics, seed, known, draws, intervals=True)]
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
    raised: tuple[float, float] = (0.0, 0.0), *, intervals: bool = False,
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows of one family. `raised` is how far doubtful rows of the cells and of the reference are raised."""
    reference = find_arm(arms, family.to).cell
    cells = tuple(dict.fromkeys(c for name in family.compare if (c := find_arm(arms, name).cell) != reference))
    if not cells:
        raise InputError(f"the family {family.name!r} compares {family.to!r} with nothing else")
    scopes = [(name,) for name in table.datasets] + ([table.datasets] if len(table.datasets) > 1 else [])
    # Cells that were asked different questions are compared one by one, each on what it and the reference were asked.
    groups = [cells] if table.asked() is None else [(cell,) for cell in cells]
    samples = [
        units(table, metric, (*group, reference), scope) for metric in metrics for scope in scopes for group in groups
    ]
    samples = [
        bounded(sample, [raised[0]] * (len(sample.cells) - 1) + [raised[1]]) if any(raised) else sample
        for sample in samples
    ]
    rows = [
        _row(family, sample, i, found)
        for sample in samples
        for i, found in enumerate(_outcomes(sample, seed, draws, LEVEL))
    ]
    p = [row["p"] for row in rows]
    for row, adjusted in zip(rows, adjust(p, family.correction), strict=True):
        row["p_adjusted"] = adjusted
    if intervals:
        level = simultaneous_level(p, family.correction)
        absent = absent_of(table)
        together = [found for sample in samples for found in _outcomes(sample, seed, draws, level)]
        for row, found in zip(rows, together, strict=True):
            row["ci_low_simultaneous"], row["ci_high_simultaneous"] = found.low, found.high
            row["note"] = _note(row, level, table.datasets, absent)
        unseen = [one for sample in samples for one in _unseen(sample, table)]
        for row, one in zip(rows, unseen, strict=True):
            if one.note and row["p_adjusted"] <= 1 - LEVEL:
                row["note"] = joined(one.note, row["note"])
    return rows


def _outcomes(sample: Units, seed: int, draws: int, level: float) -> list[Outcome]:
    """Each cell of a family against its reference, the last."""
    cells = len(sample.cells) - 1
    weights = np.hstack([np.eye(cells), -np.ones((cells, 1))])
    return contrast_outcomes(sample, weights, [0.0] * cells, seed, draws, level)


def _unseen(sample: Units, table: ScoreTable) -> list[Unseen]:
    """Return what large values that were not seen would do to each difference of a family."""
    found = []
    for cell in range(len(sample.cells) - 1):
        pair = [cell, len(sample.cells) - 1]
        quantities = [Quantity(sample.metric, sample.cells[i]) for i in pair]
        values = extremes(table, quantities, sample.values[pair]) if not sample.gaps[pair].any() else iter(())
        questions = len(sample.sizes) * float(sample.sizes.min())
        found.append(moved_by(values, sample.means[pair], questions, lambda means: float(means[0] - means[1]), np.sign))
    return found


def _note(
    row: dict[str, Any], level: float, datasets: Sequence[str], absent: Mapping[tuple[str, str], tuple[str, ...]]
) -> str:
    """What the reader of one comparison must know besides."""
    notes = []
    if row["p_adjusted"] <= 1 - LEVEL and row["p"] > 1 - level:
        notes.append(f"significant {by_steps(row['correction'])}")
    here = datasets if row["dataset"] == ALL else (row["dataset"],)
    for cell in (row["cell"], row["reference"]):
        lacking = [f"{', '.join(found)} on {name}" for name in here if (found := absent.get((name, cell)))]
        if lacking:
            notes.append(f"{cell} has no replicate {'; '.join(lacking)}")
    return "; ".join(notes)


def by_steps(correction: str) -> str:
    """Say that a result is significant although its simultaneous interval reaches the null value."""
    return f"by the steps of {correction}; the simultaneous interval, of one step, still reaches the null value"


def _row(family: Family, sample: Units, cell: int, found: Outcome) -> dict[str, Any]:
    effect, size = _effect(sample, sample.values[cell] - sample.values[-1], cell)
    return {
        "family": family.name, "dataset": sample.dataset, "metric": sample.metric, "cell": sample.cells[cell],
        "reference": sample.cells[-1], "difference": found.estimate, "ci_low": found.low, "ci_high": found.high,
        "test": found.test, "statistic": found.statistic, "p": found.p, "correction": family.correction,
        "effect": effect, "effect_size": size, "n_questions": int(sample.sizes.sum()),
        "discordant": found.discordant, "null": NULL, "_missing": int(sample.missing[cell] + sample.missing[-1]),
        "_unparsed": int(sample.unparsed[cell] + sample.unparsed[-1]),
    }  # fmt: skip


def _effect(sample: Units, difference: Floats, cell: int) -> tuple[str, float]:
    """The discordant odds ratio of two methods with one replicate of 0/1 rows, else d_z."""
    if np.isnan(difference).any():
        return "", np.nan
    if sample.yes_no[[cell, -1]].all() and sample.replicates[cell] == sample.replicates[-1] == 1:
        return "odds_ratio", discordant_odds_ratio(difference)
    return "d_z", d_z(difference)

"""Families of comparisons: each cell against a reference, on each metric and dataset, p adjusted together.

Also the adjustments themselves, and the level of intervals that hold together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from cortexdsl.claims.cells import CellNames, cells_of, find_cell
from cortexdsl.claims.values import Quantity
from cortexdsl.core import FALSE_DISCOVERY, Family, Floats
from cortexdsl.errors import InputError
from cortexdsl.stats.inference.accuracies import d_z, discordant_odds_ratio
from cortexdsl.stats.inference.bootstrap import DRAWS
from cortexdsl.stats.inference.contrasts import contrast_outcomes
from cortexdsl.stats.inference.outcomes import LEVEL, Outcome
from cortexdsl.stats.inference.phrases import joined
from cortexdsl.stats.inference.unseen import Unseen, extremes_of, moved_by
from cortexdsl.stats.tables.rows import ComparisonRow, columns_of_tests
from cortexdsl.stats.tables.score_table import ALL, ScoreTable, absent_of, score_table
from cortexdsl.stats.tables.units import Units, units

CORRECTIONS = {"holm": "holm", "bh": "fdr_bh"}


def adjust(p: Sequence[float] | Floats, correction: str = "holm", absent: int = 0) -> Floats:
    """Adjust the p-values of a family.

    Parameters
    ----------
    p : sequence of float
        NaN (nothing could be tested) stays NaN and counts as p = 1, because it belongs to the family.
    correction : str
        `holm` (family-wise error), `bh` (false discovery rate), `none`.
    absent : int
        Further tests of the family (claims declared before the run and withdrawn since). Each counts as p = 1, so that
        withdrawing one makes no other more significant.

    Returns
    -------
    (tests,) array

    References
    ----------
    Holm 1979; Benjamini and Hochberg 1995.
    """
    raw = np.asarray(p, dtype=np.float64)
    if correction == "none":
        return raw.copy()
    if correction not in CORRECTIONS:
        raise InputError(f"no correction {correction!r}; there are {', '.join([*CORRECTIONS, 'none'])}")
    adjusted, tested = raw.copy(), ~np.isnan(raw)
    if tested.any() and len(raw) + absent > 1:
        whole = np.concatenate([np.where(tested, raw, 1.0), np.ones(absent)])
        done = holm(whole) if correction == "holm" else multipletests(whole, method=CORRECTIONS[correction])[1]
        adjusted[tested] = done[: len(raw)][tested]
    return adjusted


def holm(p: Floats) -> Floats:
    """Return Holm's adjusted p-values; statsmodels has the same, but collects garbage on each call."""
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1)
    return adjusted


def simultaneous_level(
    p: Sequence[float] | Floats, correction: str = "holm", level: float = LEVEL, absent: int = 0
) -> float:
    """Return the level of each interval at which all intervals of a family hold together.

    Under a correction of the family-wise error (`holm`) that is Bonferroni's 1 - alpha / m: all intervals
    cover at once in at least `level` of experiments. Holm's own regions (Guilbaud 2008) give only the sign of a
    rejected difference unless all are rejected, and readers need its size. Under `bh` and `by` it is 1 - r alpha / m
    with r significant tests: the expected share of significant differences whose interval misses is at most alpha.
    With `none` it is `level`.
    `absent` is as in `adjust`.

    References
    ----------
    Dunn 1961, JASA 56:52; Guilbaud 2008, Biometrical J 50:678; Benjamini and Yekutieli 2005, JASA 100:71.
    """
    tests, alpha = len(p) + absent, 1 - level
    if correction == "none" or tests < 2:
        return level
    if correction not in FALSE_DISCOVERY:
        return 1 - alpha / tests
    significant = max(int((adjust(p, correction, absent) <= alpha).sum()), 1)
    return 1 - alpha * significant / tests


NULL = "a difference of 0, two-sided"


def compare_families(
    scores: pd.DataFrame | ScoreTable,
    families: Sequence[Family],
    metrics: Sequence[str],
    seed: int,
    arms: Sequence[CellNames] = (),
    draws: int = DRAWS,
    *,
    intervals: bool = True,
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
        Of resamples.
    arms : sequence of CellNames
        The cells of the plan, if families name methods or aliases of cells.
    draws : int
    intervals : bool
        Whether to compute the simultaneous intervals and the notes; who needs only p saves their time.

    Returns
    -------
    DataFrame
        The columns of comparisons.csv (`ComparisonRow`): one row per family, metric, dataset and cell, and with
        several datasets one more for their mean (`all`). `p_adjusted` counts every row of the family.
        `difference` and its intervals are in the units of the metric: `ci_low` and `ci_high` for this difference alone,
        the simultaneous ones for the family (`simultaneous_level`). Each interval holds 0 if and only if its p,
        adjusted in one step or not at all, is above alpha. `null` is the hypothesis of `p`; `note` says if a step-wise
        correction and the simultaneous interval disagree, and what a cell lacks. If nothing can be tested, `test` says
        why.

    Raises
    ------
    InputError, DataError
        A name is unknown, or a cell has no rows on a dataset.
    """
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    known = tuple(arms) or cells_of(table.cells)
    rows = [
        row for family in families for row in _family(table, family, metrics, seed, known, draws, intervals=intervals)
    ]
    return pd.DataFrame(rows, columns=columns_of_tests(ComparisonRow))


def _family(
    table: ScoreTable, family: Family, metrics: Sequence[str], seed: int, arms: Sequence[CellNames], draws: int,
    *, intervals: bool,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the rows of one family."""
    reference = find_cell(arms, family.to).cell
    cells = tuple(dict.fromkeys(c for name in family.compare if (c := find_cell(arms, name).cell) != reference))
    if not cells:
        raise InputError(f"the family {family.name!r} compares {family.to!r} with no other cell")
    scopes = [(name,) for name in table.datasets] + ([table.datasets] if len(table.datasets) > 1 else [])
    samples = [units(table, metric, (*cells, reference), scope) for metric in metrics for scope in scopes]
    rows = [
        _row(family, sample, i, outcome)
        for sample in samples
        for i, outcome in enumerate(_outcomes(sample, seed, draws, LEVEL))
    ]
    p = [row["p"] for row in rows]
    for row, adjusted in zip(rows, adjust(p, family.correction), strict=True):
        row["p_adjusted"] = adjusted
    if intervals:
        level = simultaneous_level(p, family.correction)
        absent = absent_of(table)
        together = [outcome for sample in samples for outcome in _outcomes(sample, seed, draws, level)]
        for row, outcome in zip(rows, together, strict=True):
            row["ci_low_simultaneous"], row["ci_high_simultaneous"] = outcome.low, outcome.high
            row["note"] = _note(row, level, table.datasets, absent)
        unseen = [one for sample in samples for one in _unseen(sample, table)]
        for row, one in zip(rows, unseen, strict=True):
            if one.note and row["p_adjusted"] <= 1 - LEVEL:
                row["note"] = joined(one.note, row["note"])
    return rows


def _outcomes(sample: Units, seed: int, draws: int, level: float) -> list[Outcome]:
    """Test each cell of a family against its reference, the last cell."""
    cells = len(sample.cells) - 1
    weights = np.hstack([np.eye(cells), -np.ones((cells, 1))])
    return contrast_outcomes(sample, weights, [0.0] * cells, seed, draws, level)


def _unseen(sample: Units, table: ScoreTable) -> list[Unseen]:
    """Return how large values that were not seen would change each difference of a family."""
    effects = []
    for cell in range(len(sample.cells) - 1):
        pair = [cell, len(sample.cells) - 1]
        quantities = [Quantity(sample.metric, sample.cells[i]) for i in pair]
        known = not sample.gaps[pair].any()
        values = extremes_of(sample, table, quantities, pair, sample.values[pair]) if known else iter(())
        questions = len(sample.sizes) * float(sample.sizes.min())
        effects.append(
            moved_by(values, sample.means[pair], questions, lambda means: float(means[0] - means[1]), np.sign)
        )
    return effects


def _note(
    row: dict[str, Any], level: float, datasets: Sequence[str], absent: Mapping[tuple[str, str], tuple[str, ...]]
) -> str:
    """Return the note of one comparison."""
    notes = []
    if row["p_adjusted"] <= 1 - LEVEL and row["p"] > 1 - level:
        notes.append(f"significant {by_steps(row['correction'])}")
    if row["_missing"]:
        notes.append("missing answers count as wrong")
    here = datasets if row["dataset"] == ALL else (row["dataset"],)
    for cell in (row["cell"], row["reference"]):
        lacking = [f"{', '.join(names)} on {name}" for name in here if (names := absent.get((name, cell)))]
        if lacking:
            notes.append(f"{cell} has no replicate {'; '.join(lacking)}")
    return "; ".join(notes)


def by_steps(correction: str) -> str:
    """Write that a result is significant although its simultaneous interval reaches the null value."""
    return f"by the later steps of {correction}, although the interval for all at once contains the tested value"


def _row(family: Family, sample: Units, cell: int, outcome: Outcome) -> dict[str, Any]:
    effect, size = _effect(sample, sample.values[cell] - sample.values[-1], cell)
    return {
        "family": family.name, "dataset": sample.dataset, "metric": sample.metric, "cell": sample.cells[cell],
        "reference": sample.cells[-1], "difference": outcome.estimate, "ci_low": outcome.low, "ci_high": outcome.high,
        "test": outcome.test, "statistic": outcome.statistic, "p": outcome.p, "correction": family.correction,
        "effect": effect, "effect_size": size, "n_questions": int(sample.sizes.sum()),
        "discordant": outcome.discordant, "null": NULL, "_missing": int(sample.missing[cell] + sample.missing[-1]),
    }  # fmt: skip


def _effect(sample: Units, difference: Floats, cell: int) -> tuple[str, float]:
    """Return the discordant odds ratio for two methods with one replicate of 0/1 rows, else d_z."""
    if np.isnan(difference).any():
        return "", np.nan
    if sample.yes_no[[cell, -1]].all() and sample.replicates[cell] == sample.replicates[-1] == 1:
        return "odds_ratio", discordant_odds_ratio(difference)
    return "d_z", d_z(difference)

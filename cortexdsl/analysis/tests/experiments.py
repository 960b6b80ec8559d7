"""Several experiments that compared the same cells: what would the next one find? A random-effects meta-analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from cortexdsl.analysis.tests.contrasts import gap_of
from cortexdsl.analysis.tests.corrections import adjust
from cortexdsl.analysis.tests.intervals import LEVEL, standard_error
from cortexdsl.analysis.tests.random_effects import Pooled, heterogeneity, pool_crossed, pool_separate
from cortexdsl.analysis.units.table import ScoreTable
from cortexdsl.analysis.units.units import Units, units
from cortexdsl.errors import InputError
from cortexdsl.spec.claims.arms import arms_of, find_arm
from cortexdsl.spec.claims.checks import FEWEST
from cortexdsl.terms import Floats

COLUMNS = (
    "metric", "cell", "reference", "experiment", "difference", "ci_low", "ci_high", "p", "p_adjusted", "n_questions",
    "between", "share_between", "predicted_low", "predicted_high", "note",
)  # fmt: skip
POOLED = "all experiments"


def pool_experiments(
    tables: Mapping[str, ScoreTable], cells: Sequence[str], reference: str, metrics: Sequence[str],
    correction: str = "holm", level: float = LEVEL,
) -> pd.DataFrame:  # fmt: skip
    """Pool each cell's difference from a reference over experiments.

    Experiments are draws from experiments like them. Where all asked the same questions, questions are drawn as well
    and common to all (`pool_crossed`); else experiments count as separate (`pool_separate`), and the note says where
    they share questions after all.

    Parameters
    ----------
    tables : mapping of an experiment's name to its scores
        At least three.
    cells : sequence of str
        Names that mean one cell in every table.

    Returns
    -------
    DataFrame
        `COLUMNS`: per metric and cell a row for each experiment (its own mean over its datasets, with Student's
        interval), then `POOLED`. `p` tests that the mean over such experiments is 0, two-sided; `p_adjusted` counts
        the pooled rows. `between` is the standard deviation between experiments, `share_between` is I squared,
        `predicted_low` to `predicted_high` where the next experiment's true difference would lie.

    Raises
    ------
    InputError, DataError
        Below three experiments, or where a table lacks a cell, a metric or values.
    """
    if len(tables) < FEWEST:
        raise InputError(
            f"{len(tables)} experiments cannot say what experiments differ by; give the scores of at least {FEWEST}"
        )
    common = _in_common(tables)
    rows: list[dict[str, object]] = []
    for metric in metrics:
        for cell in cells:
            samples = {name: _sample(table, metric, cell, reference, name) for name, table in tables.items()}
            rows += _rows(metric, cell, reference, samples, common, level)
    found = pd.DataFrame(rows, columns=list(COLUMNS))
    pooled = found["experiment"] == POOLED
    found.loc[pooled, "p_adjusted"] = adjust(found.loc[pooled, "p"].to_numpy(dtype=np.float64), correction)
    return found


def _sample(table: ScoreTable, metric: str, cell: str, reference: str, name: str) -> Units:
    arms = arms_of(table.cells)
    sample = units(table, metric, [find_arm(arms, one).cell for one in (cell, reference)])
    if gap := gap_of(sample, (0, 1)):
        raise InputError(f"{name}: {gap}; leave the metric or the cell out")
    return sample


def _rows(
    metric: str, cell: str, reference: str, samples: Mapping[str, Units], common: str, level: float
) -> list[dict[str, object]]:
    head = {"metric": metric, "cell": cell, "reference": reference}
    estimates, errors, rows = [], [], []
    for name, sample in samples.items():
        parts = _parts(sample)
        estimates.append(float(parts.sum()))
        errors.append(float(standard_error(sample, parts[:, None])[0]))
        reach = float(stats.t.isf((1 - level) / 2, max(len(parts) - len(sample.sizes), 1))) * errors[-1]
        ends = {"ci_low": estimates[-1] - reach, "ci_high": estimates[-1] + reach}
        row = {"experiment": name, "difference": estimates[-1], "n_questions": int(sample.sizes.sum())}
        rows.append(head | row | ends | {"note": ""})
    alike = common == "all" and len({sample.parts.shape for sample in samples.values()}) == 1
    if alike:
        found = pool_crossed(np.stack([_parts(sample) * sample.parts.shape[1] for sample in samples.values()]))
    else:
        found = pool_separate(estimates, errors)
    return [*rows, head | _pooled(found, level, alike, common) | {"n_questions": sum(r["n_questions"] for r in rows)}]  # type: ignore[misc]


def _pooled(found: Pooled, level: float, alike: bool, common: str) -> dict[str, object]:
    low, high = found.interval(level)
    predicted = found.prediction(level)
    p = 2 * float(stats.t.sf(abs(found.estimate) / found.error, found.freedom)) if found.error > 0 else np.nan
    notes = [heterogeneity(found, "experiments")]
    if alike:
        notes.append("all asked the same questions, which count once")
    elif common:
        notes.append("some share questions, which this interval takes for different ones: it may be too narrow")
    return {
        "experiment": POOLED, "difference": found.estimate, "ci_low": low, "ci_high": high, "p": p,
        "between": found.between, "share_between": found.share, "predicted_low": predicted[0],
        "predicted_high": predicted[1], "note": "; ".join(notes),
    }  # fmt: skip


def _parts(sample: Units) -> Floats:
    return np.asarray(sample.parts[0] - sample.parts[1])


def _in_common(tables: Mapping[str, ScoreTable]) -> str:
    """Whether experiments asked the same questions: `all` in the same order, `some`, or nothing."""
    asked = [tuple(zip(table.datasets, table.questions, strict=True)) for table in tables.values()]
    if all(one == asked[0] for one in asked):
        return "all"
    sets = [{(name, question) for name, ids in one for question in ids} for one in asked]
    return "some" if any(a & b for a, b in combinations(sets, 2)) else ""

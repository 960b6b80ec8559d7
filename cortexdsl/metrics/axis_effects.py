"""Main effects of grid axes: each value, averaged over all other axes, against the axis's other values.

Montgomery, Design and Analysis of Experiments, chapter 5, paired by question: the unit is the question, or its cluster,
with all its replicates. The effects are descriptive; there is no p.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from cortexdsl.claims.cells import CellNames
from cortexdsl.core import Floats

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class AxisLevel:
    """One value of one axis of a method's grid.

    Attributes
    ----------
    method, axis, value : str
    cells : tuple of str
        Those that have the value.
    mean : float
        Over them, in the units of the metric; of several datasets the mean over datasets.
    effect, low, high : float
        The mean less that of the axis's other values (each value counts alike), with its 95 % interval; NaN where a
        single unit leaves it unknown.
    """

    method: str
    axis: str
    value: str
    cells: tuple[str, ...]
    mean: float
    effect: float
    low: float
    high: float


def axis_levels(scores: pd.DataFrame, arms: Sequence[CellNames]) -> list[AxisLevel]:
    """Return the levels of every axis that has at least two.

    Parameters
    ----------
    scores : DataFrame
        `dataset, cell, unit, value`: any number of rows for a unit in a cell.
    arms : sequence of CellNames
        The plan's cells. Units that some cell of an axis was not asked are left out of that axis.
    """
    by_unit = scores.groupby(["dataset", "unit", "cell"], sort=True)["value"].mean().unstack("cell")
    return [
        level
        for (method, axis), values in _axes(arms, set(by_unit.columns)).items()
        for level in _levels(by_unit, method, axis, values)
    ]


def _axes(arms: Sequence[CellNames], known: set[str]) -> dict[tuple[str, str], dict[str, list[str]]]:
    """The cells of every value of every axis; a cell that is a point of a grid by another name belongs to it."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for arm in arms:
        for method, axes in arm.points:
            for axis, value in axes.items():
                cells = found.setdefault((method, axis), {}).setdefault(value, [])
                if arm.cell in known and arm.cell not in cells:
                    cells.append(arm.cell)
    full = {place: {value: cells for value, cells in values.items() if cells} for place, values in found.items()}
    return {place: values for place, values in full.items() if len(values) > 1}


def _levels(by_unit: pd.DataFrame, method: str, axis: str, values: dict[str, list[str]]) -> Iterator[AxisLevel]:
    every = [cell for cells in values.values() for cell in cells]
    whole = by_unit.dropna(subset=every)
    means = {value: whole[cells].mean(axis=1) for value, cells in values.items()}
    for value, cells in values.items():
        others = pd.concat([mean for other, mean in means.items() if other != value], axis=1).mean(axis=1)
        effect, error, freedom = _over_datasets(means[value] - others)
        half = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * error if freedom > 0 else float("nan")
        mean, _, _ = _over_datasets(means[value])
        yield AxisLevel(method, axis, value, tuple(cells), mean, effect, effect - half, effect + half)


def _over_datasets(values: pd.Series[float]) -> tuple[float, float, int]:
    """Mean over datasets of the means over units, its standard error, and the freedom of the smallest dataset."""
    parts: list[Floats] = [np.asarray(part, dtype=np.float64) for _, part in values.groupby(level="dataset")]
    if not parts:
        return float("nan"), float("nan"), 0
    fewest = min(map(len, parts))
    error = np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts)) / len(parts) if fewest > 1 else np.nan
    return float(np.mean([part.mean() for part in parts])), float(error), fewest - 1

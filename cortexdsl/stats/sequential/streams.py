"""The data of a look: independent values with one mean, in order.

On one dataset the values are the questions. A claim over several datasets is about the mean of their means, so a value
is a block: one question of the smallest dataset, and the same fraction of every other. Datasets therefore advance at
one pace and end together, whatever their sizes, and every question is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cortexdsl.claims.designs import Design
from cortexdsl.claims.values import Quantity, bound_of, range_of
from cortexdsl.core import Floats
from cortexdsl.errors import InputError
from cortexdsl.stats.inference.contrasts import gap_of
from cortexdsl.stats.inference.unseen import Extreme, extremes
from cortexdsl.stats.tables.score_table import ScoreTable
from cortexdsl.stats.tables.units import units_of


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """The means of a design as a stream of values.

    Attributes
    ----------
    values : (cells, blocks) array
        Means over replicates and over the questions of a block; with several datasets the mean of their blocks.
    bounds : (quantities, 2) array
        The range of the values of each; infinite if unknown.
    extremes : tuple of Extreme
        The largest values that one question can have, for quantities without bounds.
    questions : float
        The number of questions behind the values, for large values that no question showed.
    gap : str
        Why nothing can be tested; empty if it can.
    """

    values: Floats
    bounds: Floats
    extremes: tuple[Extreme, ...] = ()
    questions: float = 0.0
    gap: str = ""


def stream_of(table: ScoreTable, design: Design, datasets: Sequence[str], planned: Mapping[str, int]) -> Stream:
    """Return the values of the means of a design so far.

    Parameters
    ----------
    table : ScoreTable
        The questions asked so far.
    planned : mapping of dataset to int
        The final number of questions of each.

    Raises
    ------
    InputError
        Questions share declared clusters, so they are not independent.
    """
    smallest = min(planned[name] for name in datasets)
    layers, gap = [], ""
    for name in datasets:
        sample = units_of(table, design.quantities, (name,))
        if sample.clustered:
            raise InputError("stopping early needs questions without declared clusters")
        gap = gap or gap_of(sample, range(len(design.quantities)))
        layers.append(_blocks(sample.values, planned[name], smallest))
    common = min(layer.shape[1] for layer in layers)
    values = np.mean([layer[:, :common] for layer in layers], axis=0)
    bounds = [_bounds(table, quantity, row) for quantity, row in zip(design.quantities, values, strict=True)]
    limits = np.array(bounds)
    open_ended = () if gap or not common else extremes(table, design.quantities, values)
    unseen = tuple(extreme for extreme in open_ended if not np.isfinite(limits[extreme.at]).all())
    return Stream(values, limits, unseen, float(common * len(datasets)), gap)


def _bounds(table: ScoreTable, quantity: Quantity, values: Floats) -> tuple[float, float]:
    """Return the limits of a value: those of the metric, or of the plan for rounds and calls.

    A column that is not a declared metric is a share if its values are. Bounds of the plan on tokens are not used: they
    are so far above the values that bets within them find nothing.
    """
    which = table.metric(quantity.metric)
    low, high = range_of(quantity.metric)
    if bound_of(quantity.metric) in ("rounds", "calls"):
        high = table.most_of(quantity) or high
    if np.isinf([low, high]).all() and which.unit == "share":
        low, high = 0.0, 1.0
    inside = bool(np.all((values >= low) & (values <= high)))  # a table of another program may be in percent
    return (low, high) if inside and which.per is None else (-np.inf, np.inf)


def _blocks(values: Floats, size: int, blocks: int) -> Floats:
    """Return the means of the complete blocks of a dataset; `values` are the first of its `size` questions."""
    whole = whole_blocks(values.shape[1], size, blocks)
    if not whole:
        return values[:, :0]
    ends = np.arange(1, whole + 1) * size // blocks
    starts = np.concatenate([[0], ends[:-1]])
    return np.asarray(np.add.reduceat(values[:, : ends[-1]], starts, axis=1) / (ends - starts))


def whole_blocks(asked: int, size: int, blocks: int) -> int:
    """Return how many blocks of a dataset of `size` questions are complete after some questions."""
    return int((np.arange(1, blocks + 1) * size // blocks <= asked).sum())

"""What a look sees of a table: per cell, values that come one after the other and are independent with one mean.

On one dataset these are the questions. A claim over several datasets is about the mean of their means, so a value is
made of a block: one question of the smallest dataset and as large a share of every other. Datasets are therefore
walked through at one pace and end together, whatever their sizes, and no question is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cortexdsl.analysis.claims.samples import sample_of
from cortexdsl.analysis.tests.contrasts import gap_of
from cortexdsl.analysis.tests.unseen import Extreme, extremes
from cortexdsl.analysis.units.table import ASKED, ScoreTable
from cortexdsl.errors import InputError
from cortexdsl.spec.claims.designs import Design
from cortexdsl.spec.claims.language import Quantity
from cortexdsl.spec.claims.metric_names import bound_of, range_of
from cortexdsl.terms import Floats, in_step


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """One metric of some cells, in the order in which it came.

    Attributes
    ----------
    values : (cells, blocks) array
        Means over replicates and over the questions of a block; with several datasets the mean of their blocks.
    bounds : (quantities, 2) array
        Between which the values of each must lie; infinite where nothing is known.
    extremes : tuple of Extreme
        Of quantities without bounds, the largest values that one question can have.
    questions : float
        How many questions the values stand for in what may be unseen: each value is a mean over all datasets.
    gap : str
        Why nothing can be tested, or nothing.
    """

    values: Floats
    bounds: Floats
    extremes: tuple[Extreme, ...] = ()
    questions: float = 0.0
    gap: str = ""


def stream_of(table: ScoreTable, design: Design, datasets: Sequence[str], planned: Mapping[str, int]) -> Stream:
    """Line up what is there of the means of a design.

    Parameters
    ----------
    table : ScoreTable
        With the questions that were asked so far.
    planned : mapping of dataset to int
        How many questions each has in the end.

    Raises
    ------
    InputError
        Where questions share declared clusters: they are no independent evidence.
    """
    smallest = min(planned[name] for name in datasets)
    layers, gap = [], ""
    for name in datasets:
        sample = sample_of(design, table, (name,))
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
    """Return the limits of a value: those of the metric, or of the plan if it bounds a count (rounds, calls).

    A column that is not a metric of ours is a share if it looks like one. The plan also bounds tokens, so far above
    what is spent that bets within such bounds find nothing.
    """
    which = table.metric(quantity.metric)
    low, high = range_of(quantity.metric)
    if bound_of(quantity.metric) in ("rounds", "calls"):
        high = table.most_of(quantity) or high
    if np.isinf([low, high]).all() and which.unit == "share":
        low, high = 0.0, 1.0
    inside = bool(np.all((values >= low) & (values <= high)))  # a table from elsewhere may count in percent
    return (low, high) if inside and which.per is None else (-np.inf, np.inf)


def asked_so_far(table: ScoreTable, ends: Mapping[str, int], planned: Mapping[str, int]) -> ScoreTable:
    """The table as it was when each cell had been asked so many questions of the largest dataset.

    And as large a share of every other.
    """
    largest = max(planned.values())
    asked = np.array([[in_step(ends[cell], planned[name], largest) for cell in table.cells] for name in table.datasets])
    found = table.until(asked)
    if (asked == asked[:, :1]).all():
        return found
    return replace(found, frame=found.frame.assign(**{ASKED: asked[found.dataset, found.cell]}))


def _blocks(values: Floats, size: int, blocks: int) -> Floats:
    """Means of the finished blocks of a dataset of `size` questions, of which `values` are the first."""
    whole = whole_blocks(values.shape[1], size, blocks)
    if not whole:
        return values[:, :0]
    ends = np.arange(1, whole + 1) * size // blocks
    starts = np.concatenate([[0], ends[:-1]])
    return np.asarray(np.add.reduceat(values[:, : ends[-1]], starts, axis=1) / (ends - starts))


def whole_blocks(asked: int, size: int, blocks: int) -> int:
    """Return how many of a dataset's blocks are finished when so many of its `size` questions were asked."""
    return int((np.arange(1, blocks + 1) * size // blocks <= asked).sum())

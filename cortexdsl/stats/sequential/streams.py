"""The data of a look: independent values with one mean, in order; and estimates corrected for looks.

On one dataset the values are the questions. A claim over several datasets is about the mean of their means, so a value
is a block: one question of the smallest dataset, and the same fraction of every other. Datasets therefore advance at
one pace and end together, whatever their sizes, and every question is used.

An experiment stops sooner if its estimate is too large by chance, so the estimates of stopped experiments are too large
on average. The corrected estimate is the truth at which the observed result would be exceeded with probability one
half: median unbiased, in the stage-wise order, in which experiments that stop earlier have more extreme results. The
path of the mean is taken as normal, with the observed spread, and the bounds of each look are those of its evidence.

References
----------
Tsiatis, Rosner and Mehta 1984, Biometrics 40:797 (the order); Emerson and Fleming 1990, Biometrika 77:875 (the median).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from cortexdsl.claims.designs import Design
from cortexdsl.claims.values import Quantity, bound_of, range_of
from cortexdsl.core import Floats, proportional_questions
from cortexdsl.errors import InputError
from cortexdsl.stats.inference.contrasts import gap_of
from cortexdsl.stats.inference.roots import crossing
from cortexdsl.stats.inference.unseen import Extreme, extremes
from cortexdsl.stats.sequential.evidence import Mean
from cortexdsl.stats.tables.score_table import ASKED_COLUMN, ScoreTable
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


def table_at_look(table: ScoreTable, ends: Mapping[str, int], planned: Mapping[str, int]) -> ScoreTable:
    """Return the table after a number of questions per cell of the largest dataset.

    Every other dataset is cut to the same fraction.
    """
    largest = max(planned.values())
    asked = np.array(
        [
            [proportional_questions(ends[cell], planned[name], largest) for cell in table.cells]
            for name in table.datasets
        ]
    )
    so_far = table.until(asked)
    if (asked == asked[:, :1]).all():
        return so_far
    return replace(so_far, frame=so_far.frame.assign(**{ASKED_COLUMN: asked[so_far.dataset, so_far.cell]}))


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


@dataclass(frozen=True, slots=True)
class LookSchedule:
    """The looks at an experiment.

    Attributes
    ----------
    looks : tuple of int
        Numbers of questions of the largest dataset; after `of`, numbers of values of a contrast.
    planned : mapping of dataset to int
        The final number of questions of each.
    level : float
        The level at which one claim is decided.
    """

    looks: tuple[int, ...]
    planned: Mapping[str, int]
    level: float

    def of(self, datasets: Sequence[str], evidence: Mean) -> LookSchedule:
        """Return the looks at one contrast in numbers of its values; the last one is the number of all values."""
        largest, smallest = max(self.planned.values()), min(self.planned[name] for name in datasets)
        ends = {min(whole_blocks(proportional_questions(end, self.planned[name], largest), self.planned[name], smallest)
                    for name in datasets) for end in self.looks}  # fmt: skip
        last = len(evidence.values)
        return replace(self, looks=(*sorted(end for end in ends if 0 < end < last), last))

    def estimate(self, evidence: Mean, null: float) -> float:
        """Return the estimate of a contrast, corrected for these looks."""
        return median_unbiased(evidence, null, self.looks, float(np.log(2 / self.level)))


PATHS = 4000
_FAR = 60.0  # standard errors of the last look
_STEPS = 40


def median_unbiased(evidence: Mean, null: float, looks: Sequence[int], bound: float) -> float:
    """Return the estimate of a mean, corrected for earlier looks that could have stopped the experiment.

    Parameters
    ----------
    evidence : Mean
        All values up to the last look.
    null : float
        The null value of the mean.
    looks : sequence of int
        The number of values at each look; the last is that of all values.
    bound : float
        The log evidence, for either side, that decides.

    Returns
    -------
    float
        The mean itself if there was one look, or if the claim was decided at the look before, so that the experiment
        went on for another reason.
    """
    values, estimate = evidence.values, float(evidence.values.mean())
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if len(looks) < 2 or spread == 0:
        return estimate
    if _decides(Mean(values[: looks[-2]], evidence.bounds), null, bound):
        return estimate
    ends = np.array(looks, dtype=np.float64)
    reach = _FAR * spread / np.sqrt(ends[0])
    centred = values - estimate
    limits = [_limit(centred[:n], evidence.bounds, null, reach, bound) for n in looks[:-1]]
    lower, upper = (null + np.array(side) for side in zip(*limits, strict=True))
    steps = np.sqrt(np.diff(ends, prepend=0.0)) * spread
    noise = np.cumsum(_normals(len(looks)) * steps, axis=1) / ends

    def exceeded(truth: float) -> float:
        course = truth + noise
        above, below = course[:, :-1] >= upper, course[:, :-1] <= lower
        crossed = above | below
        first = above[np.arange(len(course)), crossed.argmax(axis=1)]
        return float(np.where(crossed.any(axis=1), first, course[:, -1] >= estimate).mean())

    low, high = estimate - reach, estimate + reach
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeded(middle) < 0.5 else (low, middle)
    return float((low + high) / 2)


def _decides(evidence: Mean, null: float, bound: float) -> bool:
    return max(evidence.above(null), evidence.below(null)) >= bound


def _limit(
    values: Floats, bounds: tuple[float, float] | None, null: float, reach: float, bound: float
) -> tuple[float, float]:
    """Return how far below and above the null value an estimate would decide; infinite if none would."""
    plain, (low, high) = values - values.mean() + null, bounds or (-np.inf, np.inf)

    def moved(distance: float, side: float) -> Mean:
        return Mean(np.clip(plain + side * distance, low, high), bounds)

    def lacking(distance: float, side: float) -> float:
        there = moved(distance, side)
        return (there.above(null) if side > 0 else there.below(null)) - bound

    def end(side: float) -> float:
        distance = crossing(lambda distance: lacking(distance, side), 0.0, reach, 1e-6 * reach)
        return side * np.inf if np.isnan(distance) else float(moved(distance, side).values.mean()) - null

    return end(-1.0), end(1.0)


@lru_cache(maxsize=8)
def _normals(looks: int) -> Floats:
    return np.random.default_rng(looks).standard_normal((PATHS, looks))

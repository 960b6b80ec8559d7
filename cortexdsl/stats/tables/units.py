"""Reduce rows to independent units: the question, or its declared cluster. Replicates are averaged first.

A difference of two methods is estimated within a question, so questions are the sample: three replicates of a hundred
questions are a hundred observations, not three hundred. If questions share a passage, template or subject that is
declared as their cluster, clusters are the sample.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np

from cortexdsl.claims.values import Quantity
from cortexdsl.core import Bools, Floats
from cortexdsl.core.metric_types import Metric
from cortexdsl.errors import DataError
from cortexdsl.stats.tables.answers import CellValues, Layer, answer_layer, lies_in_answers
from cortexdsl.stats.tables.calibration import NO_AREA
from cortexdsl.stats.tables.score_table import Ints, ScoreTable
from cortexdsl.stats.tables.selective import linearised_statistic


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Units(CellValues):
    """One metric of some cells on one dataset, or on several with equal weight.

    Attributes
    ----------
    dataset, metric : str
        `dataset` is `all` for the mean over several.
    cells : tuple of str
    parts : (cells, units) array
        The contribution of each unit to the mean; the sum over units is the estimate.
    share : (units,) array
        The weight of each unit, by its questions; they sum to 1.
    stratum : (units,) int array
        The dataset of each unit.
    sizes : (strata,) int array
        Questions per dataset.
    fixed : (cells,) bool array
        The plan fixes the value of every debate.
    """

    dataset: str
    metric: str
    cells: tuple[str, ...]
    parts: Floats
    share: Floats
    stratum: Ints
    sizes: Ints
    fixed: Bools
    _unit: Ints
    _weight: Floats

    @property
    def clustered(self) -> bool:
        """Whether units hold several questions."""
        return bool(self.parts.shape[1] < self.values.shape[1])

    @property
    def binary(self) -> bool:
        """Whether every row of every cell is 0 or 1."""
        return bool(self.yes_no.all())

    @property
    def means(self) -> Floats:
        """The estimates, (cells,): means over questions, then over datasets."""
        return np.asarray(self.parts.sum(axis=1))

    def index(self, cell: str) -> int:
        """Return the row of a cell."""
        return self.cells.index(cell)

    def with_values(self, values: Floats) -> Units:
        """Return the same units with other values."""
        return replace(self, values=values, parts=_parts(values, self._unit, self._weight, len(self.share)))


def units(table: ScoreTable, metric: str, cells: Sequence[str], datasets: Sequence[str] = ()) -> Units:
    """Return the units of one metric of some cells; see `units_of`."""
    return units_of(table, [Quantity(metric, cell) for cell in cells], datasets)


def units_of(table: ScoreTable, quantities: Sequence[Quantity], datasets: Sequence[str] = ()) -> Units:
    """Average replicates, place every expected row, and gather questions into units.

    Parameters
    ----------
    table : ScoreTable
    quantities : sequence of Quantity
        Each is a metric of a cell (`accuracy` is `score`), perhaps after a round or of one agent, and becomes a row of
        the units; `per` is ignored.
    datasets : sequence of str
        One dataset, or several to average over; by default all of the table.

    Notes
    -----
    A cell is expected to have every question of a dataset in each of its replicates. A missing score in [0, 1] counts
    as 0 and is recorded in `spare`; missing values of other metrics are gaps. A ratio of two columns' sums enters by
    its linearised value of each question, and so do calibration errors and AUROC
    (`cortexdsl.stats.tables.calibration`) and the statistics of whole debates (`cortexdsl.stats.tables.selective`).

    Raises
    ------
    DataError
        A cell has no row on a dataset, or the table lacks a value.
    """
    datasets, cells = tuple(datasets) or table.datasets, [quantity.name for quantity in quantities]
    for kind, asked, known in (("cell", cells, table.cells), ("dataset", datasets, table.datasets)):
        for name in asked:
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"nearest: {near[0]}" if near else f"there are {', '.join(known)}"
                raise DataError(f"{table.source}: no {kind} {name!r}; {hint}")
    layers = [_whole(table, quantities, table.datasets.index(name)) for name in datasets]
    sizes = np.array([layer.values.shape[1] for layer in layers])
    weight = np.concatenate([np.full(n, 1 / (n * len(sizes))) for n in sizes])
    clusters = [table.clusters[table.datasets.index(name)] for name in datasets]
    counts = [int(codes.max()) + 1 for codes in clusters]
    unit = np.concatenate([c + offset for c, offset in zip(clusters, np.cumsum([0, *counts[:-1]]), strict=True)])
    values = np.concatenate([layer.values for layer in layers], axis=1)
    count = sum(counts)
    scored = np.all([layer.scored for layer in layers], axis=0)
    fixed = np.array([_is_fixed(table, one, row) for one, row in zip(quantities, values, strict=True)])
    return Units(
        dataset=datasets[0] if len(datasets) == 1 else "all",
        metric=quantities[0].metric if len({q.metric for q in quantities}) == 1 else "the claim",
        cells=tuple(cells),
        values=values,
        spare=np.concatenate([layer.spare for layer in layers], axis=1),
        parts=_parts(values, unit, weight, count),
        share=np.asarray(np.bincount(unit, weight, count), dtype=np.float64),
        stratum=np.repeat(np.arange(len(sizes)), counts),
        sizes=sizes,
        replicates=np.stack([layer.replicates for layer in layers]).max(axis=0),
        gaps=np.sum([layer.gaps for layer in layers], axis=0),
        missing=np.sum([layer.missing for layer in layers], axis=0),
        unparsed=np.sum([layer.unparsed for layer in layers], axis=0),
        yes_no=np.all([layer.yes_no for layer in layers], axis=0) & ~fixed,  # a 1 of calls does not mean right
        scored=scored,
        rarer=np.stack([layer.rarer for layer in layers]).min(axis=0),
        fixed=fixed,
        _unit=unit,
        _weight=weight,
    )


def _is_fixed(table: ScoreTable, quantity: Quantity, values: Floats) -> bool:
    """Return whether the plan fixes a mean of whole debates, and every debate has that value."""
    is_whole = quantity.round is None and quantity.agent is None
    value = table.fixed.get(quantity.name, {}).get(quantity.metric)
    return is_whole and value is not None and bool((values == value).all())


def with_doubtful_rows(sample: Units, raised: Sequence[float]) -> Units:
    """Return the units if the missing and unreadable rows of each cell were right (1) or wrong (0).

    `raised` holds, per cell, the share of them that counts as right.
    """
    return sample.with_values(sample.values + np.asarray(raised)[:, None] * sample.spare)


def _whole(table: ScoreTable, quantities: Sequence[Quantity], dataset: int) -> Layer:
    """Return the layer of a dataset; quantities of one column are read together."""
    rows: dict[tuple[str, int | None], list[int]] = {}
    layers: dict[int, Layer] = {}
    for i, quantity in enumerate(quantities):
        if lies_in_answers(table, quantity):
            layers[i] = answer_layer(table, quantity, dataset)
        else:
            rows.setdefault((quantity.metric, quantity.round), []).append(i)
    for (metric, round_), places in rows.items():
        layer = _of_column(table, metric, round_, [quantities[i].name for i in places], dataset)
        layers |= {i: layer.row(k) for k, i in enumerate(places)}
    return Layer.stacked([layers[i] for i in range(len(quantities))])


def _of_column(table: ScoreTable, metric: str, round_: int | None, cells: Sequence[str], dataset: int) -> Layer:
    which = table.metric(metric)
    if which.statistic:
        return Layer.stacked([_pooled(table, which, cell, dataset) for cell in cells])
    column = table.column(which.column) if round_ is None else table.after(which.column, round_)
    # A debate whose judge speaks at its end alone has no answer after earlier rounds, which is not a wrong one.
    is_earlier = round_ is not None or which.column == "opening_score"
    is_lacking = is_earlier and bool(np.isnan(column).any())
    scored = which.per is None and which.unit == "share" and which.better == "higher" and not is_lacking
    layer = _layer(table, column, scored, cells, dataset)
    if which.per is None:
        return layer
    return _ratio(layer, _layer(table, table.column(which.per), False, cells, dataset))


def _pooled(table: ScoreTable, metric: Metric, cell: str, dataset: int) -> Layer:
    """Return the linearised values of a statistic of all debates of a cell."""
    own = linearised_statistic(table, metric, cell, dataset)
    gaps = own.absent if np.isfinite(own.values).all() else len(own.values)
    return Layer.of(own.values, own.replicates, gaps, rarer=own.rarer)


def _layer(table: ScoreTable, column: Floats, is_score: bool, cells: Sequence[str], dataset: int) -> Layer:
    questions = len(table.questions[dataset])
    own = {name: i for i, name in enumerate(dict.fromkeys(cells))}
    shape, order = (len(own), questions), {table.cells.index(name): i for name, i in own.items()}
    lookup = np.array([order.get(i, -1) for i in range(len(table.cells))])
    rows = np.flatnonzero((table.dataset == dataset) & (lookup[table.cell] >= 0))
    place = lookup[table.cell[rows]] * questions + table.question[rows]
    value, there = column[rows], ~np.isnan(column[rows])
    total = np.bincount(place[there], value[there], np.prod(shape)).reshape(shape)
    counts = np.bincount(place[there], minlength=np.prod(shape)).reshape(shape)
    where, most = lookup[table.cell[rows]], int(table.replicate.max()) + 1
    seen = np.bincount(where * most + table.replicate[rows], minlength=len(own) * most)
    replicates = (seen.reshape(len(own), most) > 0).sum(axis=1)
    for name, count in zip(own, replicates, strict=True):
        if not count:
            raise DataError(f"{table.source}: the cell {name!r} has no row on the dataset {table.datasets[dataset]!r}")
    beyond = np.bincount(where[there], (value[there] < 0) | (value[there] > 1), len(own)) > 0
    between = np.bincount(where[there], (value[there] != 0) & (value[there] != 1), len(own)) > 0
    some = np.asarray(counts.any(axis=1))
    absent = replicates[:, None] - counts
    unread = there & table.unparsed[rows] & (value == 0)
    unparsed = np.bincount(place[unread], minlength=np.prod(shape)).reshape(shape)
    scored = is_score & ~beyond
    fill = some & scored
    gaps = np.where(fill, 0, absent.sum(axis=1))
    values = total / replicates[:, None]
    values[(gaps[:, None] > 0) & (absent > 0)] = np.nan
    spare = np.where(fill[:, None], (absent + unparsed) / replicates[:, None], 0.0)
    missing = np.where(fill, absent.sum(axis=1), 0)
    left = np.where(fill, unparsed.sum(axis=1), 0)
    layer = Layer(values, spare, replicates, gaps, missing, left, some & ~between & ~beyond, scored, _no_areas(own))
    return layer if len(own) == len(cells) else Layer.stacked([layer.row(own[name]) for name in cells])


def _no_areas(cells: Sized) -> Ints:
    return np.full(len(cells), NO_AREA)


def _ratio(top: Layer, bottom: Layer) -> Layer:
    """Return linearised values of a ratio of sums: their mean is the ratio, their spread that of its influence."""
    below = bottom.values.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = top.values.mean(axis=1, keepdims=True) / below
        values = ratio + (top.values - ratio * bottom.values) / below
    gaps = np.maximum(top.gaps, bottom.gaps)
    gaps = np.where(np.isfinite(values).all(axis=1), gaps, np.maximum(gaps, values.shape[1]))
    return replace(top, values=values, gaps=gaps, yes_no=np.zeros(len(gaps), dtype=bool))


def _parts(values: Floats, unit: Ints, weight: Floats, count: int) -> Floats:
    if count == len(unit):
        return values * weight
    return np.stack([np.bincount(unit, row * weight, count) for row in values])

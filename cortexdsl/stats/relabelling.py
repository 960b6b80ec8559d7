"""Scores as they might be without a difference: cells of a table, exchanged at random."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from cortexdsl.core import EMPTY
from cortexdsl.errors import InputError
from cortexdsl.stats.tables.score_table import ScoreTable


def relabelled(table: ScoreTable, cells: Collection[str], rng: np.random.Generator) -> ScoreTable:
    """Return the table with some cells exchanged at random: within each question (or cluster) and replicate.

    If the cells are the same program, all these tables are equally probable. Rows move whole, so that the questions
    that are hard, the replicates and the values that are missing stay what they are.

    Raises
    ------
    InputError
        The table has answers: they belong to cells, and are not exchanged.
    """
    if table.answers is not None:
        raise InputError("claims about answers (ece, brier, auroc, single agents) have no rows to exchange")
    chosen = np.isin(table.cell, [table.cells.index(cell) for cell in cells])
    codes = np.unique(table.cell[chosen])
    clusters = np.concatenate(table.clusters)
    starts = np.cumsum([0, *(len(each) for each in table.clusters)])
    cluster = clusters[starts[table.dataset] + table.question]
    units = np.stack([table.dataset, cluster, table.replicate], axis=1)[chosen]
    _, unit = np.unique(units, axis=0, return_inverse=True)
    unit = unit.reshape(-1)
    orders = rng.permuted(np.tile(np.arange(len(codes)), (unit.max() + 1, 1)), axis=1)
    exchanged = table.cell.copy()
    exchanged[chosen] = codes[orders[unit, np.searchsorted(codes, table.cell[chosen])]]
    bounds = [table.most.get(cell, {}) for cell in cells]
    shared = set.intersection(*map(set, bounds))
    most = {name: max(bound[name] for bound in bounds) for name in shared}
    return replace(table, cell=exchanged, most={**table.most, **dict.fromkeys(cells, most)}, fixed=EMPTY)

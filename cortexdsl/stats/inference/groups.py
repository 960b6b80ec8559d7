"""Cells that no test tells apart, and on which questions a cell did better or worse than another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cortexdsl.core import Family
from cortexdsl.stats.inference.bootstrap import DRAWS
from cortexdsl.stats.inference.families import adjust, compare_families
from cortexdsl.stats.tables.score_table import ALL, ScoreTable
from cortexdsl.stats.tables.units import units


def equal_groups(
    table: ScoreTable, metric: str, cells: Sequence[str], seed: int, *, alpha: float = 0.05, draws: int = DRAWS
) -> list[tuple[str, ...]]:
    """Group cells that no test tells apart.

    All pairs are compared, and their p-values adjusted together (Holm 1979). A group is a largest run of cells, ordered
    by their mean, in which no pair differs significantly; a cell may be in two groups, because "not told apart" is not
    transitive. Over several datasets the mean with equal weights decides.

    Returns
    -------
    list of tuple of str
        The best group first; in a group the cell of the highest mean first.
    """
    dataset = None if len(table.datasets) == 1 else ALL
    means = dict(zip(cells, units(table, metric, tuple(cells), table.datasets).means, strict=True))
    lower = table.metric(metric).better == "lower"
    ordered = sorted(cells, key=lambda cell: means[cell], reverse=not lower)
    pairs = [Family("pairs", tuple(ordered[k + 1 :]), cell, "none") for k, cell in enumerate(ordered[:-1])]
    rows = compare_families(table, pairs, [metric], seed, draws=draws, intervals=False)
    rows = rows[rows["dataset"] == dataset] if dataset else rows
    differ = {
        frozenset((cell, reference))
        for cell, reference, p in zip(rows["cell"], rows["reference"], adjust(rows["p"].to_numpy()), strict=True)
        if p <= alpha
    }
    groups: list[tuple[str, ...]] = []
    for start in range(len(ordered)):
        end = start + 1
        while end < len(ordered) and not any(frozenset((ordered[end], one)) in differ for one in ordered[start:end]):
            end += 1
        group = tuple(ordered[start:end])
        if not groups or not set(group) <= set(groups[-1]):
            groups.append(group)
    return groups


@dataclass(frozen=True, slots=True)
class Changes:
    """Questions on which a cell scored higher or lower than another, each list with the largest change first.

    `left_out` counts the questions that only one of the two answered.
    """

    higher: tuple[str, ...]
    lower: tuple[str, ...]
    equal: int
    left_out: int


def changed_questions(table: ScoreTable, metric: str, cell: str, reference: str) -> Changes:
    """Return the questions whose value, averaged over replicates, differs between two cells, by their ids."""
    frame = table.frame.assign(value=table.column(table.metric(metric).column))
    by_cell = frame.groupby(["cell", "dataset", "question_id"], sort=False)["value"].mean()
    each = by_cell[cell] - by_cell[reference]
    difference = each.dropna()
    names = {key: key[1] if len(table.datasets) == 1 else f"{key[1]} of {key[0]}" for key in difference.index}
    rising = difference.sort_values(kind="stable").items()
    falling = difference.sort_values(kind="stable", ascending=False).items()
    lower = tuple(str(names[key]) for key, value in rising if value < 0)
    higher = tuple(str(names[key]) for key, value in falling if value > 0)
    return Changes(higher, lower, len(difference) - len(lower) - len(higher), len(each) - len(difference))

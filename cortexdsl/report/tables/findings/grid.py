"""The table of a grid's axes: what each value does, in place of many rows that hardly differ."""

from __future__ import annotations

from collections.abc import Sequence

from cortexdsl.analysis.metrics.tables.levels import Level
from cortexdsl.numbers import THIN, difference, estimate, interval, number
from cortexdsl.records.links import find_link
from cortexdsl.report.inputs.results import Results
from cortexdsl.report.tables.written.table import Column, Entry, Table, words
from cortexdsl.report.words.numbers import wording

NAME = "grid"
LINKED = 12  # cells that an address names


def grid_table(results: Results, levels: Sequence[Level]) -> Table | None:
    """Return a row for each value of each axis; None where there is no grid."""
    if not levels or results.primary is None:
        return None
    how = wording(results.primary)
    heads = (
        Column("Value", ("value",), is_numeric=False),
        Column("Method", ("method",), is_numeric=False, is_group=True),
        Column("Axis", ("axis",), is_numeric=False, is_group=True),
        Column("Cells", ("cells",)),
        Column(how.title, ("mean",)),
        Column("Against other values", ("effect", "ci_low", "ci_high")),
    )
    rows = []
    for level in levels:
        some = list(level.cells)
        link = find_link(results.experiment, cell=some) if len(some) <= LINKED else ""
        gap = interval(level.low, level.high, how.kind, signed=True)
        rows.append((
            Entry(f"{level.axis} = {level.value}", (level.value,)), words(level.method), words(level.axis),
            Entry(number(len(some), 1), (len(some),)),
            Entry(estimate(level.mean, how.kind), (level.mean,), link=link),
            Entry(difference(level.effect, how.kind), (level.effect, level.low, level.high), more=gap),
        ))  # fmt: skip
    caption = (
        f"What each axis does to {how.noun}: the mean over all other axes at each value, and against the axis's other "
        f"values, with its 95{THIN}% interval."
    )
    note = "Paired by question; not corrected: a description. Tests of single cells are in the families."
    return Table(NAME, caption, heads, tuple(rows), note)

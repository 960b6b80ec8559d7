"""The table of variance components: where the spread of each cell's primary metric comes from."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from cortexdsl.claims.arms import GridArm
from cortexdsl.numbers import NOTHING, THIN, number
from cortexdsl.report.data import ReportData, value_column
from cortexdsl.report.phrasing.names import wording
from cortexdsl.report.tables.table import Field, Table, TableEntry, column, group, tabulate, text
from cortexdsl.stats.inference.components import Component
from cortexdsl.stats.planning.spread import Spread, cell_spreads
from cortexdsl.stats.tables.score_table import WORDING_COLUMN, score_table

_IDS = ("dataset", "cell", "replicate", "question_id")
_MEANS = {"": "one wording and team", "prompts": "wordings of prompts", "teams": "teams"}


def spread_table(data: ReportData) -> Table | None:
    """Return the components of every cell as standard deviations; None with one replicate of everything."""
    metric = data.primary
    if metric is None or not data.has_values:
        return None
    columns = {name: [getattr(row, name) for row in data.scores] for name in (*_IDS, WORDING_COLUMN)}
    frame = pd.DataFrame({**columns, value_column(metric): [row.value for row in data.scores]})
    arms = [GridArm.of(cell) for cell in data.plan.get("cells", ())]
    spreads = cell_spreads(score_table(frame, f"results/{data.experiment}/scores.csv"), metric, arms)
    if not spreads:
        return None
    fields = [
        text("Cell", "of", lambda one: one.name),
        group("Dataset", "dataset"),
        _component("Questions", "questions", lambda one: one.components.questions),
        _component("Groups", "groups_sd", lambda one: one.components.groups),
        _component("Groups by questions", "interaction", lambda one: one.components.interaction),
        _component("Sampling", "sampling", lambda one: one.components.sampling),
        column("Correlation", ("correlation", "correlation_low", "correlation_high"), _correlation),
        column("Groups are", "groups", lambda one: TableEntry(_MEANS[one.groups], (one.groups,)), is_numeric=False),
    ]
    caption = (
        f"Where the spread of {wording(metric).noun} comes from: standard deviations between questions, between "
        f"wordings or teams, and between replicates of one question, with 95{THIN}% intervals for such questions."
    )
    note = (
        "Correlation: the share of the variance of one debate that belongs to its question. If it is low, replicates "
        "are worth almost as much as questions; if it is high, they add little."
    )
    return tabulate("spread", caption, fields, spreads, note)


def _component(title: str, name: str, of: Callable[[Spread], Component | None]) -> Field[Spread]:
    def entry(one: Spread) -> TableEntry:
        component = of(one)
        if component is None:
            return TableEntry(NOTHING, (None, None, None))
        numbers = tuple(value**0.5 for value in (component.estimate, component.low, component.high))
        low, high = (number(value) for value in numbers[1:])
        return TableEntry(number(numbers[0]), numbers, more=f"[{low}, {high}]")

    return column(title, (name, f"{name}_low", f"{name}_high"), entry)


def _correlation(one: Spread) -> TableEntry:
    own = one.components.correlation
    between = f"[{number(own.low)}, {number(own.high)}]"
    return TableEntry(number(own.estimate), (own.estimate, own.low, own.high), more=between)

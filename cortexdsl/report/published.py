"""Compare an experiment's results with figures that papers state for its protocols and datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cortexdsl.claims.cells import TEAM_AXES
from cortexdsl.metrics.rows import MetricRow
from cortexdsl.numbers import estimate
from cortexdsl.plan.record import CellRecord, PlanRecord
from cortexdsl.report.data import ReportData
from cortexdsl.report.phrasing.names import wording
from cortexdsl.report.tables.results import metric_entry
from cortexdsl.report.tables.table import Table, TableEntry, column, group, tabulate, text

FIGURES = Path(__file__).with_name("published.yaml")


@dataclass(frozen=True, slots=True)
class Published:
    """A figure of a paper, and the dataset and cell of this experiment that it may be compared with.

    `source` and `setting` name paper, table and conditions; `value` is in the units of the metric.
    """

    source: str
    setting: str
    metric: str
    dataset: str
    cell: str
    value: float


def published_figures(data: ReportData) -> list[Published]:
    """Return what is published for an experiment's cells on datasets of the registry."""
    registered = {label: facts.name for label, facts in data.plan.datasets.items()}
    learned = _learned(data.plan)
    return [
        Published(table["source"], table["setting"], table["metric"], label, cell.name, value * table["scale"])
        for table in _tables()
        for label, name in registered.items()
        if name in table["datasets"]
        for cell in data.plan.cells
        for row in table["rows"]
        if (value := row["values"][table["datasets"].index(name)]) is not None and _is_of(row, cell, learned)
    ]


@cache
def _tables() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(FIGURES.read_text(encoding="utf-8"))
    return found


def _learned(plan: PlanRecord) -> dict[str, str]:
    """Return the loss and the phase that each trained agent of a plan came out of: `dpo 1-actor`."""
    made = {
        phase.model: f"{training.optimiser.get('loss')} {phase.label}"
        for training in plan.trainings
        for phase in training.phases
    }
    return {agent.name: made[agent.model] for agent in plan.agents if agent.model in made}


def _is_of(row: Mapping[str, Any], cell: CellRecord, learned: Mapping[str, str]) -> bool:
    """Return whether a paper's row describes a cell.

    It does if everything that it states holds for the cell, and it states every setting that the cell's grid varies. No
    row describes a cell whose samples are matched to another's budget. A row that names no trained agents has none.
    """
    stated, debaters = row.get("settings", {}), row.get("debaters")
    varied = set(cell.axes) - set(stated) - ({*TEAM_AXES} if debaters else set())
    trained = [learned.get(agent) for agent in cell.agents]
    is_alike = (
        row["protocol"] == cell.protocol
        and not cell.match
        and not varied
        and (debaters is None or debaters == len(cell.debaters))
        and trained == row.get("trained", [None] * len(cell.agents))
    )
    return is_alike and (not stated or _has_settings(cell, stated))


def _has_settings(cell: CellRecord, stated: Mapping[str, Any]) -> bool:
    """Return whether a cell has some settings; plans of earlier versions state them in other words."""
    from cortexdsl.language.grammar.old_words import renewed_settings  # late: few reports compare settings

    settings = renewed_settings(cell.settings)
    return all(settings.get(name) == value for name, value in stated.items())


def published_table(data: ReportData) -> Table | None:
    """Return what papers state for the same protocols and datasets; None if they state nothing."""
    rows = [
        (one, own)
        for one in published_figures(data)
        if (own := data.metric(one.dataset, one.cell, one.metric)) is not None and own.estimate is not None
    ]
    if not rows:
        return None

    def stated(row: tuple[Published, MetricRow]) -> TableEntry:
        return TableEntry(estimate(row[0].value, wording(row[0].metric).kind), (row[0].value,))

    fields = [
        text("Cell", "cell", lambda row: row[0].cell),
        group("Dataset", "dataset", lambda row: row[0].dataset),
        group("Metric", "metric", lambda row: wording(row[0].metric).title),
        group("Source", "source", lambda row: _source(row[0])),
        column("Published", "published", stated),
        column("Here", ("here", "ci_low", "ci_high"), lambda row: metric_entry(data, row[1])),
    ]
    sources = dict.fromkeys(_source(one) for one, _ in rows)
    note = f"Published: {'; '.join(sources)}. Other models, prompts and questions than here: no test, no replication."
    caption = "What papers state for the same protocols and datasets, beside what was found here."
    return tabulate("published", caption, fields, rows, note)


def _source(one: Published) -> str:
    return f"{one.source} ({one.setting})"

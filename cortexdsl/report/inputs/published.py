"""Figures that papers state for the protocols and datasets of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cortexdsl.report.inputs.results import Results

FIGURES = Path(__file__).with_name("published.yaml")


@dataclass(frozen=True, slots=True)
class Published:
    """A figure of a paper, and the cell that it may be held against.

    Attributes
    ----------
    source, setting : str
        Paper and table; with what it was found.
    metric : str
    dataset, cell : str
        Of this experiment, as its tables name them.
    value : float
        In the units of the metric.
    """

    source: str
    setting: str
    metric: str
    dataset: str
    cell: str
    value: float


def published(results: Results) -> list[Published]:
    """Return what is published for an experiment's cells on datasets of the registry."""
    registered = {label: str(facts.get("name")) for label, facts in (results.plan.get("datasets") or {}).items()}
    learned = _learned(results.plan)
    return [
        Published(table["source"], table["setting"], table["metric"], label, str(cell["cell"]), value * table["scale"])
        for table in _tables()
        for label, name in registered.items()
        if name in table["datasets"]
        for cell in results.plan.get("cells", ())
        for row in table["rows"]
        if (value := row["values"][table["datasets"].index(name)]) is not None and _is_of(row, cell, learned)
    ]


@cache
def _tables() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(FIGURES.read_text(encoding="utf-8"))
    return found


def _learned(plan: Mapping[str, Any]) -> dict[str, str]:
    """Return the loss and the phase that each trained agent of a plan came out of: `dpo 1-actor`."""
    made = {
        phase.get("model"): f"{(training.get('optimiser') or {}).get('loss')} {phase['phase']}"
        for training in plan.get("trainings") or ()
        for phase in training.get("phases") or ()
    }
    agents = plan.get("agents") or ()
    return {str(agent["name"]): made[agent["model"]] for agent in agents if agent.get("model") in made}


def _is_of(row: Mapping[str, Any], cell: Mapping[str, Any], learned: Mapping[str, str]) -> bool:
    """Tell whether a paper's row is of a cell: what it states holds there, and it states what the cell's grid varies.

    A cell whose samples are matched to another's budget is no paper's. Where a row does not say who was trained, nobody
    was.
    """
    stated, debaters = row.get("settings", {}), row.get("debaters")
    varied = set(cell.get("axes") or ()) - set(stated) - ({"team", "agents"} if debaters else set())
    agents = cell.get("agents") or ()
    trained = [learned.get(agent) for agent in agents]
    return (
        row["protocol"] == cell.get("protocol")
        and not cell.get("match")
        and not varied
        and (debaters is None or debaters == len(cell.get("debaters") or ()))
        and all(cell.get("settings", {}).get(name) == value for name, value in stated.items())
        and trained == row.get("trained", [None] * len(agents))
    )

"""Figures that papers state for the protocols and datasets of an experiment."""

from __future__ import annotations

from collections.abc import Iterator
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
    """Return what is published for the cells of no grid, by protocol, on datasets of the registry."""
    registered = {label: str(facts.get("name")) for label, facts in (results.plan.get("datasets") or {}).items()}
    cells = [cell for cell in results.plan.get("cells", ()) if not cell.get("axes")]
    return [
        Published(table["source"], table["setting"], table["metric"], label, str(cell["cell"]), value)
        for table in _tables()
        for label, name in registered.items()
        for cell in cells
        for value in _value(table, name, str(cell.get("protocol")))
    ]


@cache
def _tables() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(FIGURES.read_text(encoding="utf-8"))
    return found


def _value(table: dict[str, Any], dataset: str, protocol: str) -> Iterator[float]:
    if dataset in table["datasets"] and protocol in table["protocols"]:
        yield table["protocols"][protocol][table["datasets"].index(dataset)] * table["scale"]

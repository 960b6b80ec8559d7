"""Where the spread of results comes from: variance components of cells, teams and claims, and splits of a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.designs import Design, design_of
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import CALIBRATION_METRICS, Comparison, Quantity
from cortexdsl.core import Floats
from cortexdsl.errors import CortexError
from cortexdsl.stats.inference.components import FEWEST_QUESTIONS, Components, components_of
from cortexdsl.stats.tables.draws import Draws
from cortexdsl.stats.tables.score_table import ScoreTable
from cortexdsl.stats.tables.units import units_of

TEAM = "team"


@dataclass(frozen=True, slots=True)
class Spread:
    """Variance components of a cell, of the teams of a method, or of a claimed difference, on one dataset.

    Attributes
    ----------
    name : str
        The cell, the method with its teams, or the claim.
    dataset : str
    groups : str
        What the groups are: `prompts`, `teams`, or nothing.
    components : Components
    """

    name: str
    dataset: str
    groups: str
    components: Components


def cell_spreads(table: ScoreTable, metric: str, arms: Sequence[CellNames]) -> list[Spread]:
    """Return the components of every cell, and of every method over its teams, on each dataset.

    Parameters
    ----------
    table : ScoreTable
    metric : str
    arms : sequence of CellNames
        The cells of the plan; those of a method that differ in nothing but the axis `team` are its teams.

    Returns
    -------
    list of Spread
        Without cells that have too few questions or replicates, or missing values of a metric that is not a score.
    """
    spreads = []
    for dataset in table.datasets:
        for cell in table.cells:
            spread = _spread(table, cell, [(1.0, Quantity(metric, cell))], dataset)
            spreads += [] if spread is None else [spread]
        for name, cells in _teams(arms).items():
            layers = [_draws(table, [(1.0, Quantity(metric, cell))], dataset) for cell in cells]
            whole = [layer for layer in layers if layer is not None]
            if len(whole) == len(cells) and len({layer[0].shape for layer in whole}) == 1:
                components = _components(np.stack([layer[0] for layer in whole], axis=1))
                spreads += [] if components is None else [Spread(name, dataset, "teams", components)]
    return spreads


def claim_spread(table: ScoreTable, claim: str, arms: Sequence[CellNames]) -> Spread | None:
    """Return the components of the difference (or the mean) of a claim; None if it has none or they are not known.

    With several datasets they are those of the first one that the claim is about.
    """
    parsed = parse_claim(claim)
    if not isinstance(parsed, Comparison) or parsed.is_ratio or parsed.over == "teams":
        return None
    if any(quantity.metric in CALIBRATION_METRICS for quantity in parsed.quantities):
        return None
    try:
        design: Design = design_of(parsed, arms)
    except CortexError:
        return None
    dataset = parsed.dataset if parsed.dataset in table.datasets else table.datasets[0]
    terms = list(zip(design.weights[0].tolist(), design.quantities, strict=True)) if len(design.weights) == 1 else []
    return _spread(table, claim, terms, dataset) if terms else None


def _teams(arms: Sequence[CellNames]) -> dict[str, list[str]]:
    """Return the cells of each method that differ in their team alone, with at least two teams."""
    teams: dict[str, list[str]] = {}
    for arm in arms:
        if TEAM in arm.axes:
            rest = ", ".join(f"{axis}={value}" for axis, value in arm.axes.items() if axis != TEAM)
            teams.setdefault(f"{arm.method}[{rest}]" if rest else arm.method, []).append(arm.cell)
    return {f"{name} over teams": cells for name, cells in teams.items() if len(cells) > 1}


def _spread(table: ScoreTable, name: str, terms: Sequence[tuple[float, Quantity]], dataset: str) -> Spread | None:
    found = _draws(table, terms, dataset)
    if found is None:
        return None
    values, draws = found
    sizes = {len(group) for group in draws.groups}
    grouped = len(draws.groups) > 1 and len(sizes) == 1
    layout = np.stack([values[:, group] for group in draws.groups], axis=1) if grouped else values[:, None, :]
    components = _components(layout)
    return None if components is None else Spread(name, dataset, "prompts" if grouped else "", components)


def _components(values: Floats) -> Components | None:
    questions, groups, replicates = values.shape
    if questions < FEWEST_QUESTIONS or groups * replicates < 2 or np.isnan(values).any():
        return None
    return components_of(values)


def _draws(table: ScoreTable, terms: Sequence[tuple[float, Quantity]], dataset: str) -> tuple[Floats, Draws] | None:
    """Return a contrast of each question and replicate; None if a cell or a replicate is missing."""
    try:
        draws = units_of(table, [quantity for _, quantity in terms], (dataset,), with_draws=True).draws
    except CortexError:
        return None
    if draws is None or draws.lacking:
        return None
    return np.tensordot([weight for weight, _ in terms], draws.values, axes=1), draws

"""Accuracy against budgets, with the Pareto front: which cells no other one beats on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log10

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter

from cortexdsl.claims.parser import known_claim
from cortexdsl.core.metrics import BUDGETS, COSTS
from cortexdsl.report.data import ReportData
from cortexdsl.report.figures.drawing import (
    MUTED,
    Drawing,
    Sheet,
    colours,
    draw_figure,
    explain,
    legend_height,
    tick,
)
from cortexdsl.report.phrasing.names import CellName, brief, group_by_method, wording


@dataclass(frozen=True, slots=True)
class _Point:
    """A cell with its cost and value."""

    name: CellName
    cost: float
    value: float


def cost_figure(data: ReportData) -> Drawing | None:
    """Draw the primary metric against each budget, the mean over datasets or the only dataset; a panel a budget."""
    metric = data.primary
    if metric is None:
        return None
    measured = {row.metric for row in data.metrics}
    first = next((name for name in COSTS if name in measured), None)
    claims = [known_claim(text) for text in data.plan.hypotheses]
    claimed = (name for claim in claims if claim for name in claim.metrics)
    named = {*data.plan.metrics, *claimed, *(row.metric for row in data.matches)} & measured
    budgets = dict.fromkeys([*([first] if first else []), *(name for name in BUDGETS if name in named)])
    panels = {budget: points for budget in budgets if len(points := _points(data, metric, budget)) > 1}
    if not panels:
        return None
    words = wording(metric)
    scale = 100.0 if words.kind == "share" else 1.0
    methods = [one.method for one in group_by_method(data.cells) if not one.point]
    series = colours(methods)

    def across(sheet: Sheet) -> int:
        return 1 if sheet.is_column or len(panels) == 1 else 2

    def rows(sheet: Sheet) -> int:
        return -(-len(panels) // across(sheet))

    def draw(canvas: Figure, sheet: Sheet) -> None:
        grid = canvas.subplots(rows(sheet), across(sheet), squeeze=False, sharey=True)
        for axes, (budget, points) in zip(grid.flat, panels.items(), strict=False):
            _panel(axes, points, scale, series, is_narrow=sheet.is_column)
            axes.set_xlabel(wording(budget).title + (", log scale" if axes.get_xscale() == "log" else ""))
            axes.spines["left"].set_visible(True)
        for axes in grid[:, 0]:
            axes.set_ylabel(f"{words.title} (%)" if words.kind == "share" else words.title)
        for place in range(len(panels), grid.size):
            grid.flat[place].set_visible(False)
        explain(canvas, sheet)

    every = [point for points in panels.values() for point in points]
    caption = f"{words.title} against costs. The dashed line joins the cells that no other cell beats on both."
    if any(point.name.point for point in every):
        caption += " Small rings are grid points of the method in the same colour."

    def height(sheet: Sheet) -> float:
        each = 2.4 if sheet.is_column or len(panels) > 1 else 3.2
        return rows(sheet) * each + legend_height(len(methods), sheet)

    return draw_figure("cost", caption, height, draw)


def _points(data: ReportData, metric: str, budget: str) -> list[_Point]:
    dataset = data.datasets[-1]
    points = []
    for one in group_by_method(data.cells):
        reached, spent = data.metric(dataset, one.cell, metric), data.metric(dataset, one.cell, budget)
        if reached and spent and reached.estimate is not None and spent.estimate:
            points.append(_Point(one, spent.estimate, reached.estimate))
    return points


def _panel(
    axes: Axes, points: Sequence[_Point], scale: float, series: Mapping[str, tuple[str, str]], *, is_narrow: bool
) -> None:
    costs = [point.cost for point in points]
    if max(costs) > 5 * min(costs):
        _log_axis(axes, costs, (1,) if is_narrow else (1, 2, 5))
    else:
        axes.xaxis.set_major_formatter(tick)
    axes.yaxis.set_major_formatter(tick)
    frontier = _frontier([(point.cost, scale * point.value) for point in points])
    axes.plot(*zip(*frontier, strict=True), color=MUTED, linewidth=0.9, linestyle=(0, (3, 2)))
    for point in points:
        colour, marker = series.get(point.name.method, (MUTED, "o"))
        size, face = (4.2, "none") if point.name.point else (7.0, colour)
        axes.plot(
            [point.cost], [scale * point.value], marker, color=colour, markersize=size, markerfacecolor=face,
            label=None if point.name.point else brief(point.name.method, 24), linestyle="none",
        )  # fmt: skip
    axes.margins(0.09, 0.12)


def _log_axis(axes: Axes, values: Sequence[float], steps: Sequence[int]) -> None:
    """Scale by logarithms, with ticks at some steps of each decade written whole."""
    axes.set_xscale("log")
    decades = range(int(log10(min(values))) - 1, ceil(log10(max(values))) + 1)
    axes.xaxis.set_major_locator(FixedLocator([step * 10.0**decade for decade in decades for step in steps]))
    axes.xaxis.set_major_formatter(tick)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()


def _frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the stairs over the points that no other point beats on both cost and value, cheapest first."""
    kept: list[tuple[float, float]] = []
    for cost, value in sorted(points, key=lambda point: (point[0], -point[1])):
        if not kept:
            kept.append((cost, value))
        elif value > kept[-1][1]:
            kept += [(cost, kept[-1][1]), (cost, value)]
    return kept

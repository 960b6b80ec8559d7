"""Reliability diagrams: how often answers were right, by how sure their agents were."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cortexdsl.metrics.rows import BinRow
from cortexdsl.report.data import ReportData
from cortexdsl.report.figures.drawing import MUTED, Drawing, Sheet, colours, draw_figure, legend_height
from cortexdsl.report.phrasing.names import CellName, brief, group_by_method

_Dashes: TypeAlias = Literal["-"] | tuple[float, Sequence[float]]
_DASHES: Mapping[str, _Dashes] = {
    "stated": "-", "logprob": (0, (5, 1.5)), "consistency": (0, (1.2, 1)), "verifier": (0, (5, 1.5, 1.2, 1.5)),
}  # fmt: skip
_MEASURED = tuple(_DASHES)[1:]


@dataclass(frozen=True, slots=True)
class _Line:
    """The bins of one cell and one source of confidence, and how they are drawn."""

    bins: tuple[BinRow, ...]
    colour: str
    marker: str
    dashes: _Dashes


def confidence_figure(data: ReportData) -> Drawing | None:
    """Draw accuracy against confidence.

    Each source of confidence has a panel, with one line per method. Shown are cells outside grids, and the points of a
    grid that varies nothing but the source of confidence. Each dataset has its own rows of panels.
    """
    known = {row.cell for row in data.bins}
    names = [one for one in group_by_method(data.cells) if one.cell in known and (not one.point or _varies_source(one))]
    datasets = [name for name in data.datasets if any(row.dataset == name for row in data.bins)]
    if not names or not datasets:
        return None
    shown = {one.cell for one in names}
    present = {row.confidence for row in data.bins if row.cell in shown}
    kinds = [kind for kind in ("stated", *_MEASURED, "recalibrated") if kind in present]
    sources = {row.cell: row.confidence for row in data.bins if row.confidence in _MEASURED}
    methods = list(dict.fromkeys(one.method for one in names))
    series = colours(methods)

    def lines(dataset: str, kind: str) -> list[_Line]:
        return [
            _Line(
                tuple(row for row in data.bins if (row.dataset, row.cell, row.confidence) == (dataset, one.cell, kind)),
                *series[one.method],
                _DASHES[sources.get(one.cell, "stated")],
            )
            for one in names
        ]

    count = len(kinds)

    def draw(canvas: Figure, sheet: Sheet) -> None:
        across = _abreast(count, sheet)
        deep = ceil(count / across)
        grid = canvas.subplots(len(datasets) * deep, across, sharex=True, sharey=True, squeeze=False)
        for block, dataset in enumerate(datasets):
            places = grid[block * deep : (block + 1) * deep].flat
            for axes in places[count:]:
                axes.axis("off")
            for axes, kind in zip(places, kinds, strict=False):
                _draw_panel(axes, lines(dataset, kind))
                axes.set_title(f"{dataset}: {kind}" if len(datasets) > 1 else kind.capitalize())
        for column in grid.T:
            last = [axes for axes in column if axes.axison][-1]
            last.set_xlabel("Confidence (%)")
            last.tick_params(labelbottom=True)
        for axes in grid[:, 0]:
            axes.set_ylabel("Right answers (%)")
        _legend(canvas, series, set(sources.values()))

    caption = (
        f"How often an answer was right, by its confidence: stated, {'measured, ' if sources else ''}and as the method "
        "used it. Below the dashed line agents are overconfident. The area of a mark is its share of answers."
    )
    if sources:
        caption += " A line is drawn after the source that its cell goes by: whole where that is what agents state."

    def height(sheet: Sheet) -> float:
        across = _abreast(count, sheet)
        each = sheet.width / across * (0.75 if across == 1 else 0.9 if across == 2 else 1.1)
        return len(datasets) * ceil(count / across) * each + legend_height(
            len(series) + len(set(sources.values())), sheet
        )

    return draw_figure("confidence", caption, height, draw)


def _draw_panel(axes: Axes, lines: Sequence[_Line]) -> None:
    axes.plot([0, 100], [0, 100], color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)))
    for line in lines:
        x = [100 * one.mean_confidence for one in line.bins]
        y = [100 * one.accuracy for one in line.bins]
        total = sum(one.answers for one in line.bins) or 1
        axes.plot(x, y, color=line.colour, linewidth=1.1, linestyle=line.dashes)
        areas = [6 + 180 * one.answers / total for one in line.bins]
        axes.scatter(x, y, areas, color=line.colour, marker=line.marker, alpha=0.75)
    axes.set(xlim=(-3, 103), ylim=(-3, 103))


def _abreast(panels: int, sheet: Sheet) -> int:
    """Return how many panels stand side by side."""
    if sheet.is_column:
        return 1 if panels <= 2 else 2
    return panels if panels <= 2 else 2 if panels == 4 else 3


def _varies_source(one: CellName) -> bool:
    """Return whether a grid point varies the source of confidences and nothing else."""
    return one.point.startswith("confidence=") and "," not in one.point


def _legend(canvas: Figure, series: Mapping[str, tuple[str, str]], sources: Collection[str]) -> None:
    """Explain colours, marks and dashes once, below all panels."""
    lines = [
        Line2D([], [], color=colour, marker=marker, markersize=3, linewidth=1.1, label=brief(name, 20))
        for name, (colour, marker) in series.items()
    ]
    lines += [
        Line2D([], [], color=MUTED, linewidth=1.1, linestyle=_DASHES[source], label=f"goes by {source}")
        for source in _MEASURED
        if source in sources
    ]
    canvas.legend(handles=lines, loc="outside lower center", ncols=2, frameon=False, handlelength=2.2)

"""Reliability diagrams: how often answers were right, by how sure their agents were."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cortexdsl.numbers import estimate
from cortexdsl.report.data import ReportData
from cortexdsl.report.figures.drawing import MUTED, PALETTE, Drawing, Sheet, colours, draw_figure
from cortexdsl.report.frames import BinRow
from cortexdsl.report.phrasing.names import CellName, brief, group_by_method

_Dashes: TypeAlias = Literal["-"] | tuple[float, Sequence[float]]
_DASHES: Mapping[str, _Dashes] = {
    "stated": "-", "logprob": (0, (5, 1.5)), "consistency": (0, (1.2, 1)), "verifier": (0, (5, 1.5, 1.2, 1.5)),
}  # fmt: skip
_MEASURED = tuple(_DASHES)[1:]
_LETTERS = 24  # of a method's name


@dataclass(frozen=True, slots=True)
class _Line:
    """The bins of one cell and one source of confidence, and how they are drawn."""

    bins: tuple[BinRow, ...]
    colour: str
    dashes: _Dashes


@dataclass(frozen=True, slots=True)
class _Panel:
    title: str
    lines: tuple[_Line, ...]


def confidence_figure(data: ReportData) -> Drawing | None:
    """Draw accuracy against confidence.

    Each source of confidence has a panel, with one line per method. If there are more methods than colours, each method
    has a panel instead, with one line per source. Shown are cells outside grids, and the points of a grid that varies
    nothing but the source of confidence. Each dataset has its own rows of panels.
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
    by_method = len(methods) > len(PALETTE)
    series = {name: colour for name, (colour, _) in colours(kinds if by_method else methods).items()}

    def line(dataset: str, one: CellName, kind: str) -> _Line:
        place = (dataset, one.cell, kind)
        bins = tuple(row for row in data.bins if (row.dataset, row.cell, row.confidence) == place)
        return _Line(bins, series[kind if by_method else one.method], _DASHES[sources.get(one.cell, "stated")])

    def panels(dataset: str) -> list[_Panel]:
        if by_method:
            return [
                _Panel(
                    brief(method, _LETTERS),
                    tuple(line(dataset, one, kind) for one in names if one.method == method for kind in kinds),
                )
                for method in methods
            ]
        return [_Panel(kind.capitalize(), tuple(line(dataset, one, kind) for one in names)) for kind in kinds]

    rows = {dataset: panels(dataset) for dataset in datasets}
    count = len(methods) if by_method else len(kinds)

    def draw(canvas: Figure, sheet: Sheet) -> None:
        across = _abreast(count, sheet)
        deep = ceil(count / across)
        grid = canvas.subplots(len(datasets) * deep, across, sharex=True, sharey=True, squeeze=False)
        for block, (dataset, some) in enumerate(rows.items()):
            places = grid[block * deep : (block + 1) * deep].flat
            for axes in places[count:]:
                axes.axis("off")
            for axes, panel in zip(places, some, strict=False):
                _draw_panel(axes, panel)
                axes.set_title(f"{dataset}: {panel.title}" if len(datasets) > 1 else panel.title)
        for column in grid.T:
            last = [axes for axes in column if axes.axison][-1]
            last.set_xlabel("Confidence (%)")
            last.tick_params(labelbottom=True)
        for axes in grid[:, 0]:
            axes.set_ylabel("Right answers (%)")
        _legend(canvas, grid, list(series.items()), set(sources.values()), below=by_method)

    caption = (
        "How often an answer was right, by the confidence that came with it: as the agent stated it, "
        f"{'as it was measured, ' if sources else ''}and as the method used it. On the dashed line confidence is what "
        "it says; below it, agents are overconfident. The area of a mark is its share of answers."
    )
    if sources:
        caption += " A line is drawn after the source that its cell goes by: whole where that is what agents state."
    alt = "Right answers by confidence: " + "; ".join(
        f"{row.cell} {row.confidence} {estimate(row.mean_confidence, 'share')}: {estimate(row.accuracy, 'share')}"
        for row in data.bins
        if row.dataset == datasets[-1] and row.cell in shown
    )

    def height(sheet: Sheet) -> float:
        across = _abreast(count, sheet)
        each = sheet.width / across * (0.75 if across == 1 else 0.9 if across == 2 else 1.1)
        return len(datasets) * ceil(count / across) * each + (0.4 if by_method else 0.1)

    return draw_figure("confidence", caption, alt, height, draw)


def _draw_panel(axes: Axes, panel: _Panel) -> None:
    axes.plot([0, 100], [0, 100], color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)))
    for line in panel.lines:
        x = [100 * one.mean_confidence for one in line.bins]
        y = [100 * one.accuracy for one in line.bins]
        total = sum(one.answers for one in line.bins) or 1
        axes.plot(x, y, color=line.colour, linewidth=1.1, linestyle=line.dashes)
        axes.scatter(x, y, [6 + 180 * one.answers / total for one in line.bins], color=line.colour, alpha=0.75)
    axes.set(xlim=(-3, 103), ylim=(-3, 103))


def _abreast(panels: int, sheet: Sheet) -> int:
    """Return how many panels stand side by side."""
    if sheet.is_column:
        return 1 if panels <= 2 else 2
    return panels if panels <= 2 else 2 if panels == 4 else 3


def _varies_source(one: CellName) -> bool:
    """Return whether a grid point varies the source of confidences and nothing else."""
    return one.point.startswith("confidence=") and "," not in one.point


def _legend(
    canvas: Figure, grid: Any, series: Sequence[tuple[str, str]], sources: Collection[str], *, below: bool
) -> None:
    """Explain colours and dashes once: in an empty panel, in the first one, or below all panels."""
    lines = [Line2D([], [], color=colour, linewidth=1.1, label=brief(name, 20)) for name, colour in series]
    lines += [
        Line2D([], [], color=MUTED, linewidth=1.1, linestyle=_DASHES[source], label=f"goes by {source}")
        for source in _MEASURED
        if source in sources
    ]
    empty = next((axes for axes in grid.flat if not axes.axison), None)
    if empty is None and (below or sources):
        canvas.legend(
            handles=lines, loc="outside lower center", ncols=2, frameon=False, labelcolor="linecolor", handlelength=2.2
        )
    else:
        axes = grid[0][0] if empty is None else empty
        axes.legend(handles=lines, loc="upper left", frameon=False, labelcolor="linecolor", handlelength=2.2)

"""Reliability diagrams: how often answers were right, by how sure their agents were."""

from __future__ import annotations

from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cortexdsl.report.data import ReportData
from cortexdsl.report.figures.drawing import MUTED, Drawing, Sheet, colours, draw_figure, explain, legend_height
from cortexdsl.report.phrasing.names import CellName, brief, group_by_method

_MEASURED = ("logprob", "consistency", "verifier")


def confidence_figure(data: ReportData) -> Drawing | None:
    """Draw accuracy against confidence.

    Each source of confidence has a panel, with one line per cell. Shown are cells outside grids, and the points of a
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
    series = colours([one.cell for one in names])

    def panel(axes: Axes, dataset: str, kind: str) -> None:
        axes.plot([0, 100], [0, 100], color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)))
        for cell, (colour, marker) in series.items():
            bins = [row for row in data.bins if (row.dataset, row.cell, row.confidence) == (dataset, cell, kind)]
            x, y = [100 * one.mean_confidence for one in bins], [100 * one.accuracy for one in bins]
            total = sum(one.answers for one in bins) or 1
            axes.plot(x, y, color=colour, marker=marker, linewidth=1.1, markersize=3, label=brief(cell, 20))
            areas = [6 + 180 * one.answers / total for one in bins]
            axes.scatter(x, y, areas, color=colour, marker=marker, alpha=0.75)
        axes.set(xlim=(-3, 103), ylim=(-3, 103))

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
                panel(axes, dataset, kind)
                axes.set_title(f"{dataset}: {kind}" if len(datasets) > 1 else kind.capitalize())
        for column in grid.T:
            last = [axes for axes in column if axes.axison][-1]
            last.set_xlabel("Confidence (%)")
            last.tick_params(labelbottom=True)
        for axes in grid[:, 0]:
            axes.set_ylabel("Right answers (%)")
        explain(canvas, sheet, 2)

    measured = "measured, " if {*kinds} & {*_MEASURED} else ""
    caption = (
        f"How often an answer was right, by its confidence: stated, {measured}and as the method used it. "
        "Below the dashed line agents are overconfident. The area of a mark is its share of answers."
    )

    def height(sheet: Sheet) -> float:
        across = _abreast(count, sheet)
        each = sheet.width / across * (0.75 if across == 1 else 0.9 if across == 2 else 1.1)
        return len(datasets) * ceil(count / across) * each + legend_height(len(series), sheet, 2)

    return draw_figure("confidence", caption, height, draw)


def _abreast(panels: int, sheet: Sheet) -> int:
    """Return how many panels stand side by side."""
    return (panels + 2) // 3 if sheet.is_column else 2 if panels == 4 else min(panels, 3)


def _varies_source(one: CellName) -> bool:
    """Return whether a grid point varies the source of confidences and nothing else."""
    return one.point.startswith("confidence=") and "," not in one.point

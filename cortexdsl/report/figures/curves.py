"""Curves: how accuracy and consensus move from round to round, and how trainings went."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cortexdsl.metrics.rows import RoundRow
from cortexdsl.report.data import ReportData
from cortexdsl.report.figures.drawing import Drawing, Sheet, colours, draw_figure, explain, legend_height, percent_tick
from cortexdsl.report.phrasing.names import CellName, brief, shown_cells

MANY = 60  # lines that a panel has room for


def rounds_figure(data: ReportData) -> Drawing | None:
    """Draw accuracy and consensus after each round, a line for each method; a row of panels for each dataset."""
    if len({row.round for row in data.rounds}) < 2:
        return None
    datasets = [name for name in data.datasets if any(row.dataset == name for row in data.rounds)]
    known = {row.cell for row in data.rounds}
    names = shown_cells([cell for cell in data.cells if cell in known], MANY)
    series = colours(list(dict.fromkeys(one.method for one in names)))
    last = max(row.round for row in data.rounds)

    def draw(canvas: Figure, sheet: Sheet) -> None:
        across = 1 if sheet.is_column else 2
        grid = canvas.subplots(len(datasets) * 2 // across, across, sharex=True, squeeze=False)
        panels = [(dataset, measure) for dataset in datasets for measure in ("accuracy", "consensus")]
        for (dataset, measure), axes in zip(panels, grid.flat, strict=True):
            prefix = f"{'mean over datasets' if dataset == 'all' else dataset}: " if len(datasets) > 1 else ""
            for one in names:
                rows = [row for row in data.rounds if (row.dataset, row.cell) == (dataset, one.cell)]
                _line(axes, rows, measure, series[one.method], last, one)
            axes.set_title((prefix + measure).capitalize() if not prefix else prefix + measure)
            axes.yaxis.set_major_formatter(percent_tick)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.yaxis.set_major_locator(MaxNLocator(7, integer=True, steps=[1, 2, 5, 10]))
            axes.set_xlim(-0.15, last + 0.15)
            axes.margins(y=0.08)
        for axes in grid[-1]:
            axes.set_xlabel("Round (0 is the opening)")
        explain(canvas, sheet)

    caption = (
        "Accuracy of the vote, and share of debates whose agents all agree, after each round; a debate that has ended "
        "keeps its last state. Dashed: no rounds."
    )
    if any(one.point for one in names):
        caption += " Thin lines are grid points of the method in the same colour."

    def height(sheet: Sheet) -> float:
        return len(datasets) * (4.2 if sheet.is_column else 2.5) + legend_height(len(series), sheet)

    return draw_figure("rounds", caption, height, draw)


def _line(axes: Axes, rows: Sequence[RoundRow], measure: str, look: tuple[str, str], last: int, one: CellName) -> None:
    """Draw one cell's course; a method without rounds is a level line."""
    (colour, marker), is_thin = look, bool(one.point)
    values = [(row.round, row.accuracy if measure == "accuracy" else row.consensus) for row in rows]
    course = sorted((float(at), 100 * value) for at, value in values if value is not None)
    is_level = len(course) == 1
    if is_level:
        course = [(0.0, course[0][1]), (float(last), course[0][1])]
    x, y = [at for at, _ in course], [value for _, value in course]
    axes.plot(
        x, y, marker=None if is_level else marker, color=colour, linewidth=0.6 if is_thin else 1.0 if is_level else 1.6,
        markersize=0 if is_thin else 3.5, alpha=0.55 if is_thin else 1, zorder=1.5 if is_thin else 2.5,
        linestyle=(0, (4, 2)) if is_level else "-", label=None if is_thin else brief(one.method, 24),
    )  # fmt: skip

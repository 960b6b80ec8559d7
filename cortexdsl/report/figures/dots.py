"""Dots with intervals, one row a cell: accuracies, differences from references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cortexdsl.numbers import THIN, Kind, counted
from cortexdsl.report.data import ReportData
from cortexdsl.report.figures.drawing import INK, MUTED, PAPER, Drawing, Sheet, draw_figure, tick
from cortexdsl.report.phrasing.names import fold_name, shown_cells, wording
from cortexdsl.stats.tables.rows import ComparisonRow

PITCH = 0.21  # inches from row to row
ACROSS = 3  # panels side by side
MANY = 40  # rows that a figure has room for


@dataclass(frozen=True, slots=True)
class _Dot:
    """A row: an estimate with its interval; filled if it is significant."""

    row: str
    value: float
    low: float | None
    high: float | None
    is_filled: bool = True


def accuracy_figure(data: ReportData) -> Drawing | None:
    """Draw the primary metric of every cell with its interval, a panel for each dataset."""
    metric = data.primary
    if metric is None:
        return None
    words = wording(metric)
    names = shown_cells(data.cells, MANY)

    def dots(dataset: str) -> list[_Dot]:
        rows = ((one.cell, data.metric(dataset, one.cell, metric)) for one in names)
        return [
            _Dot(cell, row.estimate, row.ci_low, row.ci_high)
            for cell, row in rows
            if row is not None and row.estimate is not None
        ]

    panels = {dataset: found for dataset in data.datasets if (found := dots(dataset))}
    if not panels:
        return None
    plot = _Plot(panels, {one.cell: one.cell for one in names}, words.kind, words.title)
    caption = f"{words.title} of each cell, with its 95{THIN}% interval.{_left_out(len(data.cells) - len(names))}"
    return draw_figure("accuracy", caption, plot.height, plot.draw)


def differences_figure(data: ReportData) -> Drawing | None:
    """Draw each tested difference of the primary metric with its interval, family by family."""
    metric = data.primary
    rows = [row for row in data.comparisons if row.metric == metric and row.difference is not None]
    if metric is None or not rows:
        return None
    words = wording(metric)
    panels: dict[str, list[_Dot]] = {dataset: [] for dataset in data.datasets}
    for row in rows:
        if row.difference is not None:
            panels[row.dataset].append(_Dot(_key(row), row.difference, *_together(row), row.is_significant))
    order = {one.cell: rank for rank, one in enumerate(shown_cells(data.cells, MANY))}
    families = list(dict.fromkeys(row.family for row in rows))
    ranked = sorted(
        (row for row in rows if row.cell in order), key=lambda row: (families.index(row.family), order[row.cell])
    )
    labels = {_key(row): f"{row.cell} against {row.reference}" for row in ranked}
    shown = {dataset: dots for dataset, dots in panels.items() if dots}
    plot = _Plot(shown, labels, words.kind, f"{words.title}: difference", zero=True)
    unit = " in percentage points" if words.kind == "share" else ""
    caption = (
        f"Difference in {words.noun}{unit} of each cell from its reference, with its adjusted 95{THIN}% interval. "
        "Filled: significant after correction."
        + (" Exploratory comparisons are among them." if any(row.exploratory for row in rows) else "")
    ) + _left_out(len({_key(row) for row in rows} - labels.keys()))
    return draw_figure("differences", caption, plot.height, plot.draw)


def _left_out(number: int) -> str:
    return f" {counted(number, 'row of a grid is', 'rows of grids are')} only in the table." if number else ""


def _together(row: ComparisonRow) -> tuple[float | None, float | None]:
    """Return the interval that belongs to the adjusted p; in older results, the interval of the row alone."""
    if row.ci_low_simultaneous is None:
        return row.ci_low, row.ci_high
    return row.ci_low_simultaneous, row.ci_high_simultaneous


def _key(row: ComparisonRow) -> str:
    return "\n".join((row.family, row.cell, row.reference))


@dataclass(frozen=True, slots=True)
class _Plot:
    """A grid of panels with one row for each label that any panel uses."""

    panels: Mapping[str, Sequence[_Dot]]
    labels: Mapping[str, str]
    kind: Kind
    title: str
    zero: bool = False

    def height(self, sheet: Sheet) -> float:
        """Return the height in inches of all rows and of panels that are one above the other."""
        return self._down(sheet) * (self._pitch(sheet) * len(self._used) + 0.55) + 0.3

    def draw(self, canvas: Figure, sheet: Sheet) -> None:
        """Draw the panels."""
        used, down, across = self._used, self._down(sheet), self._across(sheet)
        height = {key: len(used) - 1 - rank for rank, key in enumerate(used)}
        grid = canvas.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        for axes, (dataset, dots) in zip(grid.flat, self.panels.items(), strict=False):
            shown = [dot for dot in dots if dot.row in height]
            _panel(axes, shown, height, 100.0 if self.kind == "share" else 1.0, zero=self.zero)
            if len(self.panels) > 1:
                axes.set_title("mean over datasets" if dataset == "all" else dataset)
        for place in range(len(self.panels), down * across):
            grid.flat[place].set_visible(False)
            grid.flat[place - across].tick_params(labelbottom=True)
        first = grid[0][0]
        first.set_ylim(-0.7, len(used) - 0.3)
        first.set_yticks([height[key] for key in used], self._names(sheet))
        first.xaxis.set_major_locator(MaxNLocator(6 if across == 1 and not sheet.is_column else 4))
        first.xaxis.set_major_formatter(tick)
        unit = {"share": "percentage points" if self.zero else "%"}.get(self.kind, "")
        canvas.supxlabel(f"{self.title} ({unit})" if unit else self.title, fontsize=sheet.letters + 0.5, color=INK)

    @property
    def _used(self) -> list[str]:
        drawn_ = {dot.row for dots in self.panels.values() for dot in dots}
        return [key for key in self.labels if key in drawn_]

    def _names(self, sheet: Sheet) -> list[str]:
        return [fold_name(self.labels[key], 22 if sheet.is_column else 44) for key in self._used]

    def _pitch(self, sheet: Sheet) -> float:
        lines = max((name.count("\n") + 1 for name in self._names(sheet)), default=1)
        return max(PITCH if not sheet.is_column else 0.2, (1.25 * lines + 0.3) * sheet.letters / 72)

    def _across(self, sheet: Sheet) -> int:
        return 1 if sheet.is_column else min(ACROSS, len(self.panels))

    def _down(self, sheet: Sheet) -> int:
        return -(-len(self.panels) // self._across(sheet))


def _panel(axes: Axes, dots: Sequence[_Dot], height: Mapping[str, int], scale: float, *, zero: bool) -> None:
    axes.grid(visible=False, axis="y")
    if zero:
        axes.axvline(0, color=MUTED, linewidth=0.9)
    for dot in dots:
        y = height[dot.row]
        if dot.low is not None and dot.high is not None:
            axes.plot([scale * dot.low, scale * dot.high], [y, y], color=INK, linewidth=1.3, solid_capstyle="round")
        axes.plot(
            [scale * dot.value], [y], "o", markersize=5.6, markeredgecolor=INK, markeredgewidth=1.3,
            markerfacecolor=INK if dot.is_filled else PAPER,
        )  # fmt: skip

"""Dots with intervals, one row a cell: accuracies, differences from references, axes of grids; ranks over datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from cortexdsl.metrics.axis_effects import AxisLevel
from cortexdsl.numbers import HARD, THIN, Kind, difference, estimate, interval
from cortexdsl.report.data import ReportData
from cortexdsl.report.figures.drawing import ACCENT, INK, MUTED, PAPER, Drawing, Sheet, draw_figure, tick
from cortexdsl.report.frames import ComparisonRow, MetricRow
from cortexdsl.report.phrasing.comparisons import Ranks
from cortexdsl.report.phrasing.names import CellName, brief, fold_name, group_by_method, wording
from cortexdsl.stats.inference.rankings import draw_ranks

PITCH = 0.21  # inches from row to row
ACROSS = 3  # panels side by side
MANY = 40  # rows that a figure has room for
_GRID_PITCH = 0.2


@dataclass(frozen=True, slots=True)
class _Dot:
    """A row: an estimate with its interval; filled if it is significant, a diamond if it is a reference.

    The reference that most cells are compared with is the main one: a line runs through all rows at its value.
    """

    row: str
    value: float
    low: float | None
    high: float | None
    is_filled: bool
    is_reference: bool = False
    is_main: bool = False


def accuracy_figure(data: ReportData) -> Drawing | None:
    """Draw the primary metric of every cell with its interval, a panel for each dataset."""
    metric = data.primary
    if metric is None:
        return None
    words = wording(metric)
    names = group_by_method(data.cells)
    tested = [row for row in data.comparisons if row.metric == metric]
    references = Counter(row.reference for row in tested)
    main = [cell for cell, _ in references.most_common(1)]

    def dots(dataset: str) -> list[_Dot]:
        significant = {row.cell for row in tested if row.dataset == dataset and row.is_significant}
        rows = ((one.cell, data.metric(dataset, one.cell, metric)) for one in names)
        return [
            _Dot(
                cell, row.estimate, row.ci_low, row.ci_high,
                not tested or cell in significant, cell in references, [cell] == main,
            )
            for cell, row in rows
            if row is not None and row.estimate is not None
        ]  # fmt: skip

    panels = {dataset: found for dataset in data.datasets if (found := dots(dataset))}
    if not panels:
        return None
    shown = _few([one.cell for one in names], {dot.row: dot.value for dots_ in panels.values() for dot in dots_})
    plot = _Plot(panels, {cell: cell for cell in shown}, words.kind, words.title)
    caption = f"{words.title} of each cell, with its 95{THIN}% interval."
    if tested:
        caption += (
            " Filled: differs significantly from its reference after correction. Ring: does not. Diamond: a reference."
        )
    caption += _left_out(len(names), len(shown))
    alt = _described(data, metric, words.kind, words.title, shown)
    return draw_figure("accuracy", caption, alt, plot.height, plot.draw)


def differences_figure(data: ReportData) -> Drawing | None:
    """Draw each tested difference of the primary metric with its interval, family by family."""
    metric = data.primary
    rows = [row for row in data.comparisons if row.metric == metric and row.difference is not None]
    if metric is None or not rows:
        return None
    words = wording(metric)
    datasets = [dataset for dataset in data.datasets if any(row.dataset == dataset for row in rows)]
    panels = {
        dataset: [
            _Dot(_key(row), row.difference, *_together(row), row.is_significant)
            for row in rows
            if row.dataset == dataset and row.difference is not None
        ]
        for dataset in datasets
    }
    order = {one.cell: rank for rank, one in enumerate(group_by_method(data.cells))}
    families = list(dict.fromkeys(row.family for row in rows))
    ranked = sorted(rows, key=lambda row: (families.index(row.family), order.get(row.cell, len(order))))
    labels = {_key(row): f"{row.cell} against {row.reference}" for row in ranked}
    shown = _few(list(labels), {_key(row): row.difference for row in ranked if row.difference is not None})
    plot = _Plot(panels, {key: labels[key] for key in shown}, words.kind, f"{words.title}: difference", zero=True)
    alt = f"Differences in {words.noun}: " + "; ".join(
        f"{row.cell} against {row.reference}{_on(row.dataset, datasets)} {difference(row.difference, words.kind)}"
        f" {interval(*_together(row), words.kind, signed=True)}{', significant' if row.is_significant else ''}"
        for row in rows
        if _key(row) in shown
    )
    unit = " in percentage points" if words.kind == "share" else ""
    caption = (
        f"Difference in {words.noun}{unit} of each cell from its reference, with its 95{THIN}% interval, adjusted as "
        "the p-values of its family are: to the right of the line the cell is higher. Filled: significant after "
        "correction within its family."
        + (" Exploratory comparisons are among them." if any(row.exploratory for row in rows) else "")
    ) + _left_out(len(labels), len(shown))
    return draw_figure("differences", caption, alt, plot.height, plot.draw)


def _few(rows: Sequence[str], values: Mapping[str, float]) -> list[str]:
    """Return the rows that a figure has room for: of very many the cells of no grid, the highest and the lowest."""
    if len(rows) <= MANY:
        return list(rows)
    ranked = sorted((row for row in rows if row in values), key=lambda row: values[row])
    base = {row for row in rows if not CellName.of(row.split("\n")[1] if "\n" in row else row).point}
    kept = {*ranked[: MANY // 4], *ranked[-MANY // 4 :], *(list(base)[: MANY // 2] if len(base) > MANY // 2 else base)}
    return [row for row in rows if row in kept]


def _left_out(every: int, shown: int) -> str:
    return f" Of {every} rows the highest and the lowest are drawn, and those of no grid." if shown < every else ""


def _together(row: ComparisonRow) -> tuple[float | None, float | None]:
    """Return the interval that belongs to the adjusted p; in older results, the interval of the row alone."""
    if row.ci_low_simultaneous is None:
        return row.ci_low, row.ci_high
    return row.ci_low_simultaneous, row.ci_high_simultaneous


def _key(row: ComparisonRow) -> str:
    return "\n".join((row.family, row.cell, row.reference))


def _on(dataset: str, datasets: Sequence[str]) -> str:
    return f" on {dataset}" if len(datasets) > 1 else ""


def _described(data: ReportData, metric: str, kind: Kind, title: str, shown: Collection[str]) -> str:
    last = data.datasets[-1]
    rows: list[MetricRow] = [row for row in data.metrics if (row.metric, row.dataset) == (metric, last)]
    rows = [row for row in rows if row.cell in shown]
    return f"{title} on {last}: " + "; ".join(
        f"{row.cell} {estimate(row.estimate, kind)} {interval(row.ci_low, row.ci_high, kind)}".strip() for row in rows
    )


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
        first.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
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
        y, colour = height[dot.row], ACCENT if dot.is_reference else INK
        if dot.is_main:
            axes.axvline(scale * dot.value, color=ACCENT, linewidth=0.8, linestyle=(0, (2, 2)))
        if dot.low is not None and dot.high is not None:
            axes.plot([scale * dot.low, scale * dot.high], [y, y], color=colour, linewidth=1.3, solid_capstyle="round")
        axes.plot(
            [scale * dot.value], [y], "D" if dot.is_reference else "o", markersize=5.2 if dot.is_reference else 5.6,
            markeredgecolor=colour, markeredgewidth=1.3,
            markerfacecolor=colour if dot.is_filled or dot.is_reference else PAPER,
        )  # fmt: skip


def grid_figure(data: ReportData, levels: Sequence[AxisLevel]) -> Drawing | None:
    """Draw the effect of every value of every axis with its interval; None if there is no grid."""
    if not levels or data.primary is None:
        return None
    how = wording(data.primary)
    scale = 100.0 if how.kind == "share" else 1.0
    panels: dict[tuple[str, str], list[AxisLevel]] = {}
    for level in levels:
        panels.setdefault((level.method, level.axis), []).append(level)
    several = len({method for method, _ in panels}) > 1
    tallest = max(map(len, panels.values()))

    def across(sheet: Sheet) -> int:
        return 1 if sheet.is_column else min(ACROSS, len(panels))

    def height(sheet: Sheet) -> float:
        return -(-len(panels) // across(sheet)) * (_GRID_PITCH * tallest + 0.5) + 0.3

    def draw(canvas: Figure, sheet: Sheet) -> None:
        grid = canvas.subplots(-(-len(panels) // across(sheet)), across(sheet), sharex=True, squeeze=False)
        for axes, ((method, axis), values) in zip(grid.flat, panels.items(), strict=False):
            _grid_panel(axes, values, scale)
            axes.set_title(brief(f"{method}: {axis}" if several else axis, 40))
        for place in range(len(panels), grid.size):
            grid.flat[place].set_visible(False)
            grid.flat[place - across(sheet)].tick_params(labelbottom=True)
        unit = " (percentage points)" if how.kind == "share" else ""
        canvas.supxlabel(f"{how.title}, against the axis's other values{unit}", fontsize=sheet.letters + 0.5, color=INK)

    caption = (
        f"What each axis of the grid does to {how.noun}: each value, averaged over all other axes, against the axis's "
        f"other values, with its 95{THIN}% interval (paired by question, not corrected)."
    )
    alt = f"Effects on {how.noun}: " + "; ".join(
        f"{level.method} {level.axis} {level.value} {difference(level.effect, how.kind)}" for level in levels
    )
    return draw_figure("grid", caption, alt, height, draw)


def _grid_panel(axes: Axes, values: Sequence[AxisLevel], scale: float) -> None:
    axes.grid(visible=False, axis="y")
    axes.axvline(0, color=MUTED, linewidth=0.9)
    places = range(len(values) - 1, -1, -1)
    for place, level in zip(places, values, strict=True):
        if isfinite(level.low) and isfinite(level.high):
            axes.plot([scale * level.low, scale * level.high], [place, place], color=INK, linewidth=1.2)
        axes.plot([scale * level.effect], [place], "o", color=INK, markersize=4.5)
    axes.set_yticks(list(places), [brief(level.value, 22) for level in values])
    axes.set_ylim(-0.6, len(values) - 0.4)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))


def ranks_figure(ranked: Sequence[Ranks]) -> Drawing | None:
    """Draw the ranks on the first metric; None if there are none."""
    if not ranked:
        return None
    first = ranked[0]
    noun, ranks = wording(first.metric).noun, pd.Series(dict(first.cells))

    def draw(canvas: Figure, sheet: Sheet) -> None:
        axes = canvas.subplots()
        axes.grid(visible=False)
        named = {cell: brief(cell, 20 if sheet.is_column else 36) for cell in ranks.index}
        draw_ranks(
            axes,
            ranks.rename(named) if len(set(named.values())) == len(named) else ranks,
            first.width,
            text_h_margin=0.06 * (ranks.max() - ranks.min() or 1.0),
            label_fmt_left=f"{{label}} {{rank:.2f}}{HARD}",
            label_fmt_right=f"{HARD}{{rank:.2f}} {{label}}",
            label_props={"fontsize": sheet.letters},
            marker_props={"color": ACCENT, "s": 18},
            crossbar_props={"color": INK},
            elbow_props={"color": INK, "linewidth": 0.8},
        )

    caption = (
        f"Mean rank of each cell by {noun} over {first.datasets} datasets; 1 is best, and the dataset is the unit. "
        f"Cells that a bar joins do not differ significantly: that takes more than {first.width:.2f} (Nemenyi)."
    )
    alt = f"Mean ranks by {noun} over {first.datasets} datasets, critical difference {first.width:.2f}: " + "; ".join(
        f"{cell} {rank:.2f}" for cell, rank in first.cells.items()
    )
    return draw_figure("ranks", caption, alt, lambda _: 1.1 + 0.16 * len(ranks), draw)

"""Dots with intervals, one row a cell: the accuracy of every cell, and the difference of each from its reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from cortexdsl.numbers import THIN, Kind, difference, estimate, interval
from cortexdsl.report.figures.drawing import ACCENT, INK, MUTED, PAPER, Drawing, Sheet, drawn, tick
from cortexdsl.report.inputs.results import Contrast, Metric, Results
from cortexdsl.report.words.names import Name, folded, grouped
from cortexdsl.report.words.numbers import wording

PITCH = 0.21  # inches from row to row
ACROSS = 3  # panels side by side
MANY = 40  # rows that a figure has room for


@dataclass(frozen=True, slots=True)
class _Dot:
    """A row: an estimate with its interval; filled where it is significant, a diamond where it is a reference.

    The reference that most cells are compared with is the main one: a line runs through all rows at its value.
    """

    row: str
    value: float
    low: float | None
    high: float | None
    is_filled: bool
    is_reference: bool = False
    is_main: bool = False


def accuracy_figure(results: Results) -> Drawing | None:
    """Draw the primary metric of every cell with its interval, a panel for each dataset."""
    metric = results.primary
    if metric is None:
        return None
    words = wording(metric)
    names = grouped(results.cells)
    tested = [row for row in results.contrasts if row.metric == metric]
    references = Counter(row.reference for row in tested)
    main = [cell for cell, _ in references.most_common(1)]

    def dots(dataset: str) -> list[_Dot]:
        significant = {row.cell for row in tested if row.dataset == dataset and row.is_significant}
        rows = ((one.cell, results.metric(dataset, one.cell, metric)) for one in names)
        return [
            _Dot(
                cell, row.estimate, row.low, row.high,
                not tested or cell in significant, cell in references, [cell] == main,
            )
            for cell, row in rows
            if row is not None and row.estimate is not None
        ]  # fmt: skip

    panels = {dataset: found for dataset in results.datasets if (found := dots(dataset))}
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
    alt = _heard(results, metric, words.kind, words.title, shown)
    return drawn("accuracy", caption, alt, plot.height, plot.draw)


def differences_figure(results: Results) -> Drawing | None:
    """Draw each tested difference of the primary metric with its interval, family by family."""
    metric = results.primary
    rows = [row for row in results.contrasts if row.metric == metric and row.difference is not None]
    if metric is None or not rows:
        return None
    words = wording(metric)
    datasets = [dataset for dataset in results.datasets if any(row.dataset == dataset for row in rows)]
    panels = {
        dataset: [
            _Dot(_key(row), row.difference, *_together(row), row.is_significant)
            for row in rows
            if row.dataset == dataset and row.difference is not None
        ]
        for dataset in datasets
    }
    order = {one.cell: rank for rank, one in enumerate(grouped(results.cells))}
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
        + (" Exploratory comparisons are among them." if any(row.is_exploratory for row in rows) else "")
    ) + _left_out(len(labels), len(shown))
    return drawn("differences", caption, alt, plot.height, plot.draw)


def _few(rows: Sequence[str], values: Mapping[str, float]) -> list[str]:
    """Return the rows that a figure has room for: of very many the cells of no grid, the highest and the lowest."""
    if len(rows) <= MANY:
        return list(rows)
    ranked = sorted((row for row in rows if row in values), key=lambda row: values[row])
    base = {row for row in rows if not Name.of(row.split("\n")[1] if "\n" in row else row).point}
    kept = {*ranked[: MANY // 4], *ranked[-MANY // 4 :], *(list(base)[: MANY // 2] if len(base) > MANY // 2 else base)}
    return [row for row in rows if row in kept]


def _left_out(every: int, shown: int) -> str:
    return f" Of {every} rows the highest and the lowest are drawn, and those of no grid." if shown < every else ""


def _together(row: Contrast) -> tuple[float | None, float | None]:
    """The interval that goes with the adjusted p; in results from before it was made, that of the row alone."""
    return (row.low, row.high) if row.low_together is None else (row.low_together, row.high_together)


def _key(row: Contrast) -> str:
    return "\n".join((row.family, row.cell, row.reference))


def _on(dataset: str, datasets: Sequence[str]) -> str:
    return f" on {dataset}" if len(datasets) > 1 else ""


def _heard(results: Results, metric: str, kind: Kind, title: str, shown: Collection[str]) -> str:
    last = results.datasets[-1]
    rows: list[Metric] = [row for row in results.metrics if (row.metric, row.dataset) == (metric, last)]
    rows = [row for row in rows if row.cell in shown]
    return f"{title} on {last}: " + "; ".join(
        f"{row.cell} {estimate(row.estimate, kind)} {interval(row.low, row.high, kind)}".strip() for row in rows
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
        """Inches: as many rows as there are, panel under panel as far as they do not stand side by side."""
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
        return [folded(self.labels[key], 22 if sheet.is_column else 44) for key in self._used]

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

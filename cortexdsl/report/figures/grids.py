"""Small multiples of a grid: a panel for each axis, what each of its values does."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from cortexdsl.analysis.metrics.tables.levels import Level
from cortexdsl.numbers import THIN, difference
from cortexdsl.report.figures.drawing import INK, MUTED, Drawing, Sheet, drawn, tick
from cortexdsl.report.inputs.results import Results
from cortexdsl.report.words.names import brief
from cortexdsl.report.words.numbers import wording

ACROSS = 3
_PITCH = 0.2


def grid_figure(results: Results, levels: Sequence[Level]) -> Drawing | None:
    """Draw the effect of every value of every axis with its interval; None where there is no grid."""
    if not levels or results.primary is None:
        return None
    how = wording(results.primary)
    scale = 100.0 if how.kind == "share" else 1.0
    panels: dict[tuple[str, str], list[Level]] = {}
    for level in levels:
        panels.setdefault((level.method, level.axis), []).append(level)
    several = len({method for method, _ in panels}) > 1
    tallest = max(map(len, panels.values()))

    def across(sheet: Sheet) -> int:
        return 1 if sheet.is_column else min(ACROSS, len(panels))

    def height(sheet: Sheet) -> float:
        return -(-len(panels) // across(sheet)) * (_PITCH * tallest + 0.5) + 0.3

    def draw(canvas: Figure, sheet: Sheet) -> None:
        grid = canvas.subplots(-(-len(panels) // across(sheet)), across(sheet), sharex=True, squeeze=False)
        for axes, ((method, axis), values) in zip(grid.flat, panels.items(), strict=False):
            _panel(axes, values, scale)
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
    return drawn("grid", caption, alt, height, draw)


def _panel(axes: Axes, values: Sequence[Level], scale: float) -> None:
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

"""How often answers were right, by how sure their agents were: a reliability diagram for each source of confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cortexdsl.report.figures.drawing import MUTED, Drawing, Sheet, colours, drawn
from cortexdsl.report.inputs.results import Results
from cortexdsl.report.words.names import Name, brief, grouped
from cortexdsl.report.words.numbers import estimate

_DASHES: Mapping[str, Literal["-"] | tuple[float, Sequence[float]]] = {
    "stated": "-", "logprob": (0, (5, 1.5)), "consistency": (0, (1.2, 1)), "verifier": (0, (5, 1.5, 1.2, 1.5)),
}  # fmt: skip
_MEASURED = tuple(_DASHES)[1:]


def confidence_figure(results: Results) -> Drawing | None:
    """Draw accuracy against confidence: a panel for each source that it came from, and one for what it was taken for.

    Cells of no grid, and those that vary where the confidence comes from. Each dataset has its own rows of panels.
    """
    sources = {row.cell: row.confidence for row in results.buckets if row.confidence in _MEASURED}
    known = {row.cell for row in results.buckets}
    names = [one for one in grouped(results.cells) if one.cell in known and (not one.point or _varies_source(one))]
    datasets = [name for name in results.datasets if any(row.dataset == name for row in results.buckets)]
    if not names or not datasets:
        return None
    shown = {one.cell for one in names}
    found = {row.confidence for row in results.buckets if row.cell in shown}
    kinds = [kind for kind in ("stated", *_MEASURED, "recalibrated") if kind in found]
    series = colours(list(dict.fromkeys(one.method for one in names)))

    def draw(canvas: Figure, sheet: Sheet) -> None:
        across = _abreast(len(kinds), sheet)
        deep = ceil(len(kinds) / across)
        grid = canvas.subplots(len(datasets) * deep, across, sharex=True, sharey=True, squeeze=False)
        for block, dataset in enumerate(datasets):
            panels = grid[block * deep : (block + 1) * deep].flat
            for axes in panels[len(kinds) :]:
                axes.axis("off")
            for axes, kind in zip(panels, kinds, strict=False):
                axes.plot([0, 100], [0, 100], color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)))
                for one in names:
                    place = (dataset, one.cell, kind)
                    rows = [row for row in results.buckets if (row.dataset, row.cell, row.confidence) == place]
                    if not rows:
                        continue
                    colour, _ = series[one.method]
                    x, y = [100 * row.mean_confidence for row in rows], [100 * row.accuracy for row in rows]
                    total = sum(row.answers for row in rows) or 1
                    dashes = _DASHES[sources.get(one.cell, "stated")]
                    axes.plot(x, y, color=colour, linewidth=1.1, linestyle=dashes, label=brief(one.method, 20))
                    axes.scatter(x, y, [6 + 180 * row.answers / total for row in rows], color=colour, alpha=0.75)
                axes.set_title(f"{dataset}: {kind}" if len(datasets) > 1 else kind.capitalize())
                axes.set(xlim=(-3, 103), ylim=(-3, 103))
        for column in grid.T:
            last = [axes for axes in column if axes.axison][-1]
            last.set_xlabel("Confidence (%)")
            last.tick_params(labelbottom=True)
        for axes in grid[:, 0]:
            axes.set_ylabel("Right answers (%)")
        room = next((axes for axes in grid.flat if not axes.axison), None)
        methods = [(method, series[method][0]) for method in series]
        _legend(canvas, grid[0][0] if room is None else room, methods, [*sources.values()], has_room=room is not None)

    caption = (
        "How often an answer was right, by the confidence that came with it: as the agent stated it, "
        f"{'as it was measured, ' if sources else ''}and as the method used it. On the dashed line confidence is what "
        "it says; below it, agents are overconfident. The area of a mark is its share of answers."
    )
    if sources:
        caption += " A line is drawn after the source that its cell goes by: whole where that is what agents state."
    alt = "Right answers by confidence: " + "; ".join(
        f"{row.cell} {row.confidence} {estimate(row.mean_confidence, 'share')}: {estimate(row.accuracy, 'share')}"
        for row in results.buckets
        if row.dataset == datasets[-1] and row.cell in shown
    )

    def height(sheet: Sheet) -> float:
        across = _abreast(len(kinds), sheet)
        each = sheet.width / across * (0.75 if across == 1 else 0.9 if across == 2 else 1.1)
        return len(datasets) * ceil(len(kinds) / across) * each + 0.1

    return drawn("confidence", caption, alt, height, draw)


def _abreast(panels: int, sheet: Sheet) -> int:
    """How many panels stand side by side."""
    if sheet.is_column:
        return 1 if panels <= 2 else 2
    return panels if panels <= 2 else 2 if panels == 4 else 3


def _varies_source(one: Name) -> bool:
    """Say whether a cell of a grid is a point of where confidences come from, and of nothing else."""
    return one.point.startswith("confidence=") and "," not in one.point


def _legend(
    canvas: Figure, axes: Axes, methods: Sequence[tuple[str, str]], sources: Sequence[str], *, has_room: bool
) -> None:
    """Name the colours of methods and the dashes of sources, once: in an empty panel, in the first, or below all."""
    lines = [Line2D([], [], color=colour, linewidth=1.1, label=brief(method, 20)) for method, colour in methods]
    lines += [
        Line2D([], [], color=MUTED, linewidth=1.1, linestyle=_DASHES[source], label=f"goes by {source}")
        for source in _MEASURED
        if source in sources
    ]
    if sources and not has_room:
        canvas.legend(
            handles=lines, loc="outside lower center", ncols=2, frameon=False, labelcolor="linecolor", handlelength=2.2
        )
    else:
        axes.legend(handles=lines, loc="upper left", frameon=False, labelcolor="linecolor", handlelength=2.2)

"""Learning curves: what trainings come to on questions that they do not learn from."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from cortexdsl.numbers import THIN, number
from cortexdsl.report.figures.drawing import Drawing, Sheet, colours, drawn, tick
from cortexdsl.report.inputs.learned import Learned
from cortexdsl.report.words.names import brief


def learning_figure(learned: Sequence[Learned]) -> Drawing | None:
    """Draw the loss on validation examples, and the share of pairs learned, over the epochs; a line for each phase."""
    shown = [phase for phase in learned if len(phase.looks) > 1]
    if not shown:
        return None
    series = colours([phase.name for phase in shown])

    def draw(canvas: Figure, sheet: Sheet) -> None:
        across = 1 if sheet.is_column else 2
        grid = canvas.subplots(2 // across, across, sharex=True, squeeze=False)
        for title, axes in zip(("Loss", "Pairs preferred"), grid.flat, strict=True):
            for phase in shown:
                colour, marker = series[phase.name]
                losses = [(look.epoch, look.loss) for look in phase.looks]
                shares = [(look.epoch, 100 * look.preferred) for look in phase.looks if look.preferred is not None]
                values = losses if title == "Loss" else shares
                if values:
                    x, y = zip(*values, strict=True)
                    axes.plot(x, y, marker, linestyle="-", color=colour, markersize=3, label=brief(phase.name, 24))
            axes.set_title(title)
            axes.margins(0.03, 0.1)
        grid.flat[1].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{tick(value)}{THIN}%"))
        grid.flat[0].legend(frameon=False, fontsize=7)
        for axes in grid[-1]:
            axes.set_xlabel("Epoch")

    caption = (
        "How trainings went on questions that are not learned from: the loss, and the share of pairs of which the "
        "better reply has gained more than the worse one. The first point is before the first step."
    )
    alt = "Loss on validation examples: " + "; ".join(
        f"{phase.name} from {number(phase.looks[0].loss, 3)} to {number(phase.looks[-1].loss, 3)}" for phase in shown
    )
    return drawn("learning", caption, alt, lambda sheet: 4.2 if sheet.is_column else 2.6, draw)

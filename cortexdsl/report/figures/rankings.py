"""The critical-difference diagram: cells by their mean rank over several datasets."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from cortexdsl.analysis.tests.datasets import draw_ranks
from cortexdsl.numbers import HARD
from cortexdsl.report.figures.drawing import ACCENT, INK, Drawing, Sheet, drawn
from cortexdsl.report.inputs.beside import Ranks
from cortexdsl.report.words.names import brief
from cortexdsl.report.words.numbers import wording


def ranks_figure(ranked: Sequence[Ranks]) -> Drawing | None:
    """Draw the ranks on the first metric; nothing where there are none."""
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
    return drawn("ranks", caption, alt, lambda _: 1.1 + 0.16 * len(ranks), draw)

"""Figures are laid out once and drawn once for each of their files."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cortexdsl.report.figures import drawing
from cortexdsl.report.figures.drawing import SHEETS, Sheet, draw_figure


def test_a_figure_is_drawn_once_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """SVG, PDF and PNG of each sheet; with a placeholder of a layout Matplotlib draws each file twice."""
    drawn, layouts = [], []
    draw, lay_out = Axes.draw, drawing.lay_out
    monkeypatch.setattr(Axes, "draw", lambda axes, renderer: (drawn.append(axes), draw(axes, renderer))[1])
    monkeypatch.setattr(drawing, "lay_out", lambda canvas: (layouts.append(canvas), lay_out(canvas))[1])

    def paint(canvas: Figure, sheet: Sheet) -> None:
        canvas.subplots().plot([1, 2], [1, 2])

    draw_figure("line", "A line", lambda sheet: 2.0, paint)
    assert len(drawn) == 3 * len(SHEETS)
    assert len(layouts) == len(SHEETS)

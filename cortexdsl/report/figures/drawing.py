"""Common style of all figures: one style, a palette that colour-blind readers can tell apart, files that never differ.

Each is drawn twice: for the width of a page, and for a column of a two-column paper, which is also what a telephone
shows. Both come as SVG, PDF and PNG.

Figures are drawn in a few named colours. A file keeps them; in the page each becomes a CSS variable, so that the
same drawing follows the reader's light or dark theme. Text stays text: it can be selected, searched and read aloud.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from xml.sax.saxutils import quoteattr

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cortexdsl.files import write_file
from cortexdsl.numbers import MINUS, THIN

INK, MUTED, FAINT, PAPER = "#1d2026", "#6a7079", "#dcdfe3", "#fefefe"
# Okabe and Ito's palette (2008) without its yellow, which is too faint for lines; dark enough on white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#b0579b", "#c48a00", "#3a9bd9", "#5b6068")
MARKERS = ("o", "s", "D", "^")
_VARIABLES = {
    INK: "--ink", MUTED: "--muted", FAINT: "--faint", PAPER: "--paper",
    **{colour: f"--series-{index}" for index, colour in enumerate(PALETTE)},
}  # fmt: skip
_STYLE: dict[str, Any] = {
    "axes.axisbelow": True, "axes.edgecolor": MUTED, "axes.facecolor": "none", "axes.grid": True,
    "axes.labelcolor": INK, "axes.linewidth": 0.6, "axes.spines.left": False,
    "axes.spines.right": False, "axes.spines.top": False, "axes.titlelocation": "left",
    "axes.titleweight": "bold", "axes.titlecolor": INK, "axes.unicode_minus": True, "figure.facecolor": PAPER,
    "font.family": "DejaVu Sans", "grid.color": FAINT, "grid.linewidth": 0.6, "lines.linewidth": 1.5,
    "pdf.fonttype": 42, "savefig.facecolor": PAPER, "svg.fonttype": "none", "text.color": INK, "text.parse_math": False,
    "xtick.color": MUTED, "xtick.labelcolor": INK, "xtick.major.size": 3, "ytick.color": MUTED,
    "ytick.labelcolor": INK, "ytick.major.size": 0,
}  # fmt: skip
_METADATA = {"svg": ("Date", "Creator"), "pdf": ("CreationDate", "Creator", "Producer"), "png": ("Software",)}
_LETTERS = ("font.size", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A target of figures: a folder of `figures/`, a width in inches, and the size of letters in points."""

    folder: str
    width: float
    letters: float

    @property
    def is_column(self) -> bool:
        """Whether panels stand one above the other."""
        return self.width < 4


PAGE = Sheet("", 6.3, 8.0)
"""16 cm, the width of the text of ACL's style."""
COLUMN = Sheet("column", 3.03, 7.0)
"""7.7 cm, a column of it."""
SHEETS = (PAGE, COLUMN)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A finished figure; `name` is that of its files and its anchor in the page. A table has its numbers.

    `files` are its SVG, PDF and PNG on each sheet, by the endings of their names.
    """

    name: str
    caption: str
    files: Mapping[Sheet, Mapping[str, bytes]]

    def save(self, folder: Path) -> None:
        """Write NAME.svg, NAME.pdf and NAME.png for the width of a page, and column/NAME.* for that of a column."""
        for sheet, files in self.files.items():
            place = folder / sheet.folder
            for ending, content in files.items():
                write_file(place / f"{self.name}.{ending}", (content,), durable=False)

    def inline(self, sheet: Sheet) -> str:
        """Return the drawing as an element of a page: themed, named for screen readers, its ids its own."""
        text = self.files[sheet]["svg"].decode("utf-8")
        text = text[text.index("<svg") :]
        text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
        own = f"{self.name}-{sheet.folder}" if sheet.folder else self.name
        text = re.sub(r'\bid="([^"]+)"', rf'id="{own}-\1"', text)
        text = re.sub(r'(url\(|href=")#([^")]+)', rf"\1#{own}-\2", text)
        for colour, variable in _VARIABLES.items():
            text = text.replace(colour, f"var({variable})")
        text = re.sub(r'\b(fill|stroke)="(var\([^"]+\))"', r'style="\1: \2"', text)
        return (
            f'<svg class="drawing {sheet.folder or "page"}" role="img" aria-label={quoteattr(self.caption)}'
            + text.removeprefix("<svg")
        )


Painter: TypeAlias = Callable[[Figure, Sheet], None]


def draw_figure(name: str, caption: str, height: Callable[[Sheet], float], draw: Painter) -> Drawing:
    """Draw a figure on every sheet, in the house style; the same figure gives the same bytes everywhere.

    `height` gives the inches on a sheet; name and caption are those of `Drawing`.
    """
    files = {}
    for sheet in SHEETS:
        letters = dict.fromkeys(_LETTERS, sheet.letters)
        titles = {"axes.titlesize": sheet.letters + 0.5, "axes.labelsize": sheet.letters + 0.5}
        with _style({"svg.hashsalt": f"{name}-{sheet.folder}", **letters, **titles}):
            canvas = Figure(figsize=(sheet.width, height(sheet)), layout="constrained")
            FigureCanvasAgg(canvas)
            draw(canvas, sheet)
            files[sheet] = _files(canvas)
    return Drawing(name, caption, files)


def _files(canvas: Figure) -> dict[str, bytes]:
    lay_out(canvas)  # once is enough for three files
    canvas.set_layout_engine(None)  # not "none": that leaves a placeholder, for which each file is drawn twice
    return {kind: _written(canvas, kind) for kind in _METADATA}


def lay_out(canvas: Figure) -> None:
    """Give the axes of a figure their places, without drawing anything."""
    layout = canvas.get_layout_engine()
    assert layout is not None
    layout.execute(canvas)


def _written(canvas: Figure, kind: str) -> bytes:
    """Return the file of a drawing, without anything that tells when and by what it was made."""
    target, metadata = io.BytesIO(), dict.fromkeys(_METADATA[kind])
    canvas.savefig(target, format=kind, dpi=300 if kind == "png" else "figure", metadata=metadata)
    return target.getvalue()


@contextmanager
def _style(more: Mapping[str, Any]) -> Iterator[None]:
    """Draw in the house style alone, whatever style the machine prefers."""
    with mpl.rc_context():
        mpl.rcdefaults()
        for key, value in {**_STYLE, **more}.items():
            mpl.rcParams[key] = value  # type: ignore[index]
        yield


def colours(names: Sequence[str]) -> Mapping[str, tuple[str, str]]:
    """Give each name a colour and a marker; pairs repeat only after 28 names."""
    count = len(PALETTE)
    return {name: (PALETTE[index % count], MARKERS[index // count % len(MARKERS)]) for index, name in enumerate(names)}


def explain(canvas: Figure, sheet: Sheet, names: int = 3) -> None:
    """Put one legend below all panels: each label of their lines once, `names` side by side on a page."""
    lines = {label: line for axes in canvas.axes for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    across = 2 if sheet.is_column else names
    canvas.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=across, frameon=False)


def legend_height(labels: int, sheet: Sheet, names: int = 3) -> float:
    """Return the inches that `explain` takes."""
    return 0.16 * -(-labels // (2 if sheet.is_column else names)) + 0.1


def tick(value: float, place: object = None) -> str:
    """Write a tick with the digits that it needs; Matplotlib also says which one it is."""
    if abs(value) >= 1e9:
        return f"{value:.3g}".replace("e+", "e").replace("-", MINUS)
    return f"{value:,.10g}".replace("-", MINUS)


def percent_tick(value: float, place: object = None) -> str:
    """Write a tick of a share in percent."""
    return f"{tick(value)}{THIN}%"

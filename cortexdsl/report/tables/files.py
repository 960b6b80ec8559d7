"""The files of a table: CSV with the numbers; Markdown and LaTeX with the words.

Tables for LaTeX fit where they are put: one column of a two-column paper, or the width of a page. The width of every
word is estimated from the letters' widths in Computer Modern (Times is narrower), and a table gets the largest size at
which it fits: as it is, with intervals under their estimates, or in panels one above the other that repeat the heads of
the rows. Only `booktabs` is needed; nothing is scaled.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import ceil
from pathlib import Path
from typing import TypeAlias

from cortexdsl.files import write_text
from cortexdsl.report.tables.table import Column, Table, TableEntry

COLUMN = 216.0
"""Points of TeX: a little less than a column of ACL's style (7.7 cm, 219 pt), the narrowest of common ones."""
PAGE = 342.0
"""Points of TeX: a little less than the text of `article` at 10 pt (345 pt); ACL's page has 455 pt."""
LINES = 40  # of a table before it is continued in the next one
FLOATS = 6  # one after the other, before LaTeX must set them: it holds no more than 18
_SIZES = (9.0, 8.0, 7.0)  # points: \\small and less are of another size in every class
_GAP = 8.0  # points between columns
_LEAST = 52.0  # points of a column of text that must wrap
_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "[": "{[}", "]": "{]}", "\u2212": "$-$", "\u202f": r"\,",
    "\u00a0": "~", "\u2013": "--", "\u2713": r"$\surd$", "\u00d7": r"$\times$", "\u2264": r"$\le$",
    "\u2265": r"$\ge$", "\u221e": r"$\infty$", "\u2026": r"\dots{}", "\u00b7": r"$\cdot$", "*": "{*}",
}  # fmt: skip
_WIDTHS = {"ijl.,;:|!'()[]": 0.30, "\u202f": 0.17, " \u00a0": 0.34, "frtsI-": 0.40, "mMW%": 0.88, "w@\u2212+<>=": 0.78}
_EMS = {letter: width for letters, width in _WIDTHS.items() for letter in letters}
_BREAKS = re.compile(r"(?<=[\[\]=,:/_\-(])(?=\S)")
_Rows: TypeAlias = Sequence[Sequence[TableEntry]]


def save_table(table: Table, folder: Path) -> None:
    """Write NAME.csv, NAME.md, and NAME.tex and NAME-wide.tex, for one column and for the width of a page."""
    files = {
        f"{table.name}.csv": as_csv(table),
        f"{table.name}.md": as_markdown(table),
        f"{table.name}.tex": latex(table, COLUMN),
        f"{table.name}-wide.tex": latex(table, PAGE),
    }
    for name, text in files.items():
        write_text(folder / name, text, durable=False)


def as_csv(table: Table) -> str:
    """Return the numbers, unrounded, one column for each."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow([name for column in table.columns for name in column.names])
    for row in table.rows:
        writer.writerow(["" if value is None else value for entry in row for value in entry.values])
    return lines.getvalue()


def as_markdown(table: Table) -> str:
    """Return the table in the Markdown of GitHub and Pandoc."""
    lines = [
        _markdown_row(escape_markdown(column.title) for column in table.columns),
        _markdown_row("---:" if column.is_numeric else ":---" for column in table.columns),
    ]
    for row in table.rows:
        texts = ((escape_markdown(entry.whole), entry.is_strong) for entry in row)
        lines.append(_markdown_row(f"**{text}**" if is_strong else text for text, is_strong in texts))
    below = [escape_markdown(text) for text in (table.caption, table.note) if text]
    return "\n".join([*lines, "", *below, ""])


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows as it is written here, on one line: no markup, no HTML, no new column."""
    flat = " ".join(re.split(r"[\r\n]+", text))
    return re.sub(r"([\\`*_{}\[\]<>#|~!&$])", r"\\\1", flat)


def _markdown_row(texts: Iterable[str]) -> str:
    return "| " + " | ".join(texts) + " |"


@dataclass(frozen=True, slots=True)
class _Shape:
    """Layout of a table: size, columns with their widths (None: natural), intervals next to or under estimates."""

    size: float
    places: tuple[int, ...]
    widths: tuple[float | None, ...]
    is_stacked: bool


def latex(table: Table, width: float) -> str:
    """Return floating tables with booktabs rules, none wider than `width` points of TeX.

    Parameters
    ----------
    table : Table
    width : float
        `COLUMN` makes `table`, which fits a column of a two-column page; anything wider `table*`.
    """
    columns = [table.columns[place] for place in table.shown]
    every = [row for _, group in table.groups() for row in group]
    floats = []
    for shapes in _abreast(_shapes(columns, every, width), columns):
        heads = sum(_head_lines(shape, columns) for shape in shapes)
        titled = partial(_title_lines, shapes, width)
        for part in _parts(table, LINES - heads, partial(_height, shapes), titled):
            floats.append([_tabular(columns, part, shape, width) for shape in shapes])
    lines = ["% needs \\usepackage{booktabs}"]
    for number, panels in enumerate(floats):
        if number and number % FLOATS == 0:
            lines += [r"\clearpage"]
        lines += _float(table, panels, width <= COLUMN, is_first=number == 0, is_last=number == len(floats) - 1)
    return "\n".join(lines) + "\n"


def _float(
    table: Table, panels: Sequence[Sequence[str]], is_column: bool, *, is_first: bool, is_last: bool
) -> Iterator[str]:
    """Write one float: its caption, its panels one above the other, and after the last one the note."""
    star = "" if is_column else "*"
    yield rf"\begin{{table{star}}}"
    yield r"\centering\setlength{\emergencystretch}{3em}\setlength{\tabcolsep}{4pt}"
    caption = table.caption if is_first else f"{table.caption.rstrip('.')} (continued)."
    yield rf"\caption{{{escape_tex(caption)}}}"
    if is_first:
        yield rf"\label{{tab:{re.sub('[^a-z0-9]+', '-', table.name.lower())}}}"
    for count, panel in enumerate(panels):
        yield from ([r"\par\medskip"] if count else [])
        yield from panel
    if table.note and is_last:
        yield r"\par\smallskip"
        yield r"\begin{minipage}{\linewidth}\footnotesize\raggedright"
        yield escape_tex(table.note)
        yield r"\end{minipage}"
    yield rf"\end{{table{star}}}"


def _abreast(shapes: Sequence[_Shape], columns: Sequence[Column]) -> Iterator[list[_Shape]]:
    """Share panels out among floats: as many in one as leave half of it to the rows."""
    some: list[_Shape] = []
    for shape in shapes:
        if some and sum(_head_lines(one, columns) for one in [*some, shape]) > LINES / 2:
            yield some
            some = []
        some.append(shape)
    yield some


def _head_lines(shape: _Shape, columns: Sequence[Column]) -> float:
    return 2.0 + max(len(_title(columns[place])) for place in shape.places)


def escape_tex(text: str) -> str:
    """Return text that LaTeX sets as it is written here, on one line; long names may break after their signs."""
    words = " ".join(re.split(r"[\r\n]+", text)).split(" ")
    broken = ("\x00".join(_broken(word)) for word in words)
    return "".join(_TEX.get(letter, letter) for letter in " ".join(broken)).replace("\x00", r"\allowbreak{}")


def _broken(word: str) -> list[str]:
    """Return the parts of a long name, between which it may break."""
    return _BREAKS.split(word) if len(word) > 12 else [word]


def _parts(
    table: Table, most: float, lines: Callable[[Sequence[TableEntry]], float], titled: Callable[[str], float]
) -> Iterator[list[tuple[str, _Rows]]]:
    """Cut a long table into pieces of at most `most` lines, each with the headings of its groups."""
    part: list[tuple[str, _Rows]] = []
    room = most
    for title, rows in table.groups():
        piece: list[Sequence[TableEntry]] = []
        room -= titled(title)
        for row in rows:
            if lines(row) > room and (part or piece):
                yield [*part, (title, piece)] if piece else part
                part, piece, room = [], [], most - titled(title)
            piece.append(row)
            room -= lines(row)
        part.append((title, piece))
    yield part


def _title_lines(shapes: Sequence[_Shape], width: float, title: str) -> float:
    """Return the lines that the heading of a group takes in all panels, with the space above it."""
    return sum(0.5 + ceil(_points(title, shape.size, bold=False) / width) for shape in shapes)


def _height(shapes: Sequence[_Shape], row: Sequence[TableEntry]) -> float:
    """Return the lines that a row takes in all panels."""
    return sum(_lines(row, shape) for shape in shapes)


def _lines(row: Sequence[TableEntry], shape: _Shape) -> float:
    high = [2.2 if shape.is_stacked and any(row[place].more for place in shape.places) else 1.0]
    for place, points in zip(shape.places, shape.widths, strict=True):
        if points is not None:
            high.append(ceil(1.2 * _points(row[place].whole, shape.size, bold=row[place].is_strong) / points))
    return max(high)


def _shapes(columns: Sequence[Column], rows: _Rows, width: float) -> list[_Shape]:
    """Choose how a table is set: whole at the largest size that fits, else in panels at the middle size."""
    every = tuple(range(len(columns)))
    for size in _SIZES:
        for stacked in (False, True):
            if (widths := _fit(columns, rows, every, size, width, stacked)) is not None:
                return [_Shape(size, every, widths, stacked)]
    size = _SIZES[-1] if len(columns) < 3 else _SIZES[1]
    shapes: list[_Shape] = []
    left = list(every[1:])
    while left:
        count = next((n for n in range(len(left), 1, -1) if _fit(columns, rows, (0, *left[:n]), size, width, True)), 1)
        places = (0, *left[:count])
        widths = _fit(columns, rows, places, size, width, True)
        if widths is None:  # one column that is too wide by itself wraps like text
            widths = (width / 2 - _GAP, width / 2)
        shapes.append(_Shape(size, places, widths, True))
        left = left[count:]
    return shapes


def _fit(
    columns: Sequence[Column], rows: _Rows, places: Sequence[int], size: float, width: float, stacked: bool
) -> tuple[float | None, ...] | None:
    """Return the widths of columns (None: natural) with which they fit; None if they do not."""
    texts = [place for place in places if not columns[place].is_numeric or place == places[0]]
    fixed = sum(_natural(columns[place], [row[place] for row in rows], size, stacked)
                for place in places if place not in texts)  # fmt: skip
    room = width - fixed - _GAP * (len(places) - 1)
    wanted = {place: _natural(columns[place], [row[place] for row in rows], size, stacked) for place in texts}
    least = {place: min(wanted[place], max(_LEAST, _longest(columns[place], rows, place, size))) for place in texts}
    if sum(least.values()) > room:
        return None
    if sum(wanted.values()) <= room:
        return (None,) * len(places)
    spare, want = room - sum(least.values()), sum(wanted[place] - least[place] for place in texts)
    given = {place: least[place] + spare * (wanted[place] - least[place]) / want for place in texts}
    return tuple(given.get(place) for place in places)


def _natural(column: Column, entries: Sequence[TableEntry], size: float, stacked: bool) -> float:
    """Points that a column takes on its own."""
    found = [_points(word, size, bold=False) for word in _title(column)] or [0.0]
    for entry in entries:
        pair = (entry.text, entry.more) if stacked else (entry.whole,)
        found += [_points(text, size, bold=entry.is_strong) for text in pair]
    return max(found)


def _longest(column: Column, rows: _Rows, place: int, size: float) -> float:
    """Points of the longest word of a column that cannot be broken."""
    texts = [column.title, *(row[place].whole for row in rows)]
    words = [part for text in texts for word in text.split(" ") for part in _broken(word)]
    return max(_points(word, size, bold=True) for word in words)


def _points(text: str, size: float, *, bold: bool) -> float:
    return _ems(text) * size * (1.32 if bold else 1.08)


@lru_cache(maxsize=1 << 16)  # each entry is measured at several sizes
def _ems(text: str) -> float:
    return sum(_EMS.get(letter, 0.75 if letter.isupper() else 0.53) for letter in text)


def _title(column: Column) -> list[str]:
    """Return the lines of a heading: one word a line above numbers."""
    return column.title.split(" ") if column.is_numeric else [column.title]


def _tabular(columns: Sequence[Column], groups: Sequence[tuple[str, _Rows]], shape: _Shape, width: float) -> list[str]:
    """Set one panel; the heading of a group that is wider than `width` goes on in a second line."""
    kinds = []
    for place, points in zip(shape.places, shape.widths, strict=True):
        natural = "r" if columns[place].is_numeric and place else "l"
        kinds.append(natural if points is None else rf"p{{{points:.1f}pt}}")
    heads = []
    for place, points in zip(shape.places, shape.widths, strict=True):
        lines = [escape_tex(word) for word in _title(columns[place])]
        heads.append(_ragged(" ".join(lines)) if points is not None else _stack(lines, columns[place].is_numeric))
    size = rf"{{\fontsize{{{shape.size:g}}}{{{1.2 * shape.size:g}}}\selectfont"
    lines = [size, rf"\begin{{tabular}}{{@{{}}{''.join(kinds)}@{{}}}}", r"\toprule", _line(heads), r"\midrule"]
    for number, (title, rows) in enumerate(groups):
        if title:
            lines += [r"\addlinespace"] if number else []
            is_long = _points(title, shape.size, bold=False) > width
            kind, ragged = (rf"p{{{width:g}pt}}", r"\raggedright ") if is_long else ("l", "")
            heading = rf"{{{ragged}\itshape {escape_tex(title)}}}"
            lines += [rf"\multicolumn{{{len(shape.places)}}}{{@{{}}{kind}@{{}}}}{heading} \tabularnewline"]
        for row in rows:
            entries = zip(shape.places, shape.widths, strict=True)
            lines.append(_line(_entry(row[place], points, shape.is_stacked) for place, points in entries))
    return [*lines, r"\bottomrule", r"\end{tabular}", "}"]


def _entry(entry: TableEntry, points: float | None, stacked: bool) -> str:
    def set_in(text: str) -> str:
        escaped = escape_tex(text)
        return rf"\textbf{{{escaped}}}" if entry.is_strong and escaped else escaped

    if points is not None:
        return _ragged(set_in(entry.whole))
    if stacked and entry.more:
        return _stack([set_in(entry.text), set_in(entry.more)], True)
    return set_in(entry.whole)


def _stack(lines: Sequence[str], is_numeric: bool) -> str:
    if len(lines) == 1:
        return lines[0]
    return rf"\shortstack[{'r' if is_numeric else 'l'}]" + "{" + r"\\".join(lines) + "}"


def _ragged(text: str) -> str:
    return rf"\raggedright {text}" if text else ""


def _line(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \tabularnewline"

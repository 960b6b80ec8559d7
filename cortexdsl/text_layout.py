"""Plain text on a terminal: paragraphs wrapped at words, tables aligned, both no wider than the terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

WIDEST = 96
"""The longest line where the terminal is wider, or where its width is unknown: a file, a pipe."""
NARROWEST = 40


def columns() -> int:
    """Return the length of the longest line."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))


def wrapped(text: str, first: int = 0, rest: int | None = None) -> list[str]:
    """Wrap a paragraph at words; paths and names stay whole, so that they can be copied.

    Parameters
    ----------
    text : str
        A no-break space holds two words together, and is printed as a space.
    first, rest : int
        Spaces before the first line, and before the others; `rest` is `first` by default.
    """
    lines = textwrap.wrap(
        text,
        columns(),
        initial_indent=" " * first,
        subsequent_indent=" " * (first if rest is None else rest),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\xa0", " ") for line in lines]


def aligned(rows: Sequence[Sequence[str]], *, right: bool = True, indent: int = 0) -> Iterator[str]:
    """Yield the lines of a table: names to the left, numbers (all other columns) to the right.

    Parameters
    ----------
    rows : sequence of sequence of str
        The first is the head. If they are wider than the terminal, names are cut in their middle, since cells of a
        grid differ at the end, but not below 12.
    right : bool
        Whether the other columns are numbers; otherwise they begin where their heads begin.
    indent : int
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if right:
        widths[0] = min(widths[0], max(12, columns() - indent - sum(widths[1:]) - 2 * (len(widths) - 1)))
    place = str.rjust if right else str.ljust
    for name, *others in rows:
        texts = map(place, others, widths[1:])
        yield "  ".join([" " * indent + shortened(name, widths[0]).ljust(widths[0]), *texts]).rstrip()


def shortened(name: str, width: int) -> str:
    """Shorten a name in its middle."""
    length = max(width - 1, 2)
    return name if cell_len(name) <= width else f"{name[: length - length // 2]}…{name[-(length // 2) :]}"

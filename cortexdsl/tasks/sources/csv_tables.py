"""Tables as CSV: the delimiter that divides a file into cells, and its rows."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from cortexdsl.errors import DataError

DELIMITERS = (",", ";", "\t", "|")
_SEP = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
_SAMPLE = 1_000  # rows that a delimiter must divide alike
csv.field_size_limit(min(sys.maxsize, 2**31 - 1))


def csv_delimiter(path: Path, text: str, delimiter: str | None = None) -> str:
    """Return what divides the cells of a table with a header.

    Parameters
    ----------
    path : Path
        For messages, and for its suffix: `.tsv` is divided by tabs.
    text : str
        The content of the file. Excel's first line `sep=;` says it.
    delimiter : str or None
        What the spec says.

    Raises
    ------
    DataError
        It is not certain, or what the spec says is not one character.
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise DataError(
            f'a delimiter is one character, and {delimiter!r} is not\n    write ",", ";" or "\\t"', word="delimiter"
        )
    if delimiter:
        return delimiter
    if stated := _SEP.match(text):
        return stated[1]
    return "\t" if path.suffix.lower() == ".tsv" else _found_out(path, text)


def csv_rows(
    path: Path, text: str, columns: Sequence[str] = (), delimiter: str | None = None
) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV table, without empty ones at its end.

    Parameters
    ----------
    path : Path
        For messages, and for its suffix: `.tsv` is divided by tabs.
    text : str
        The content of the file.
    columns : sequence of str
        The names of the columns of a table without a header.
    delimiter : str or None
        What divides the cells; None to find out.

    Raises
    ------
    DataError
        The delimiter is not certain, a row has too many or too few cells, or two columns have one name.
    """
    delimiter = "," if columns and delimiter is None else csv_delimiter(path, text, delimiter)
    stated = _SEP.match(text)
    text = text[stated.end() :] if stated else text
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = list(columns) or [name.strip() for name in next(reader, [])]
    _refuse_twins(path, header)
    first_line = 1 if stated else 0
    blank: list[dict[str, str]] = []
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(header):
            raise DataError(
                f"{path}:{reader.line_num + first_line}: {len(cells)} cells where {len(header)} are expected "
                f"(divided by {delimiter!r})\n    put a cell that holds {delimiter!r} or a quotation mark in quotes; "
                f"if something else divides the cells, name it: delimiter: {_other(delimiter)!r}"
            )
        row = {name: cell for name, cell in zip(header, cells, strict=True) if name}
        if not any(cell.strip() for cell in cells):
            blank.append(row)
            continue
        yield from blank  # an empty row amid others is told by whoever needs its cells
        blank = []
        yield row


def _found_out(path: Path, text: str) -> str:
    """Return the delimiter that divides the header and every row into equally many cells."""
    fits, most = [], {}
    for delimiter in DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        widths = [len(cells) for cells in islice(reader, _SAMPLE) if cells]
        most[delimiter] = widths[0] if widths else 0
        if most[delimiter] > 1 and set(widths) == {most[delimiter]}:
            fits.append(delimiter)
    if len(fits) > 1:
        raise DataError(
            f"{path}: its cells could be divided by {' or by '.join(map(repr, fits))}\n"
            f"    say which it is, such as delimiter: {fits[-1]!r}",
            word="delimiter",
        )
    # Where none fits, a row is wrong: it is told of the delimiter that divides the header most.
    return fits[0] if fits else max(DELIMITERS, key=lambda delimiter: most[delimiter])


def _other(delimiter: str) -> str:
    return ";" if delimiter == "," else ","


def _refuse_twins(path: Path, header: Sequence[str]) -> None:
    twin = next((name for name, count in Counter(header).items() if name and count > 1), None)
    if twin is not None:
        raise DataError(f"{path}: two columns are called {twin!r}\n    rename one of them")

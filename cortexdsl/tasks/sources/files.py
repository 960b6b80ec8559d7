"""Rows of files: JSON Lines, JSON, CSV and Parquet; the encoding of a text, the delimiter of a table."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.numbers import counted

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SHOWN = {"utf-8-sig": "UTF-8", "utf-16": "UTF-16"}
_SAMPLE_BYTES = 4_096  # bytes that are looked at for UTF-16 without a byte order mark


def check_encoding(name: str) -> None:
    """Reject an encoding that Python does not know, or that is not one for text.

    Raises
    ------
    DataError
    """
    try:
        is_text = codecs.lookup(name)._is_text_encoding
    except LookupError:
        is_text = False
    if not is_text:
        raise DataError(
            f"unknown encoding {name!r}\n    such as utf-8, windows-1252, utf-16 or iso-8859-1", word="table"
        )


def read_text(path: Path, encoding: str | None = None) -> str:
    """Read a file as text: UTF-8, or UTF-16 if it begins with a byte order mark, or as the spec says.

    Parameters
    ----------
    path : Path
    encoding : str or None
        The encoding that the spec names; None to take the file's own.

    Raises
    ------
    DataError
        The bytes do not fit the encoding, or contradict the one that the spec names; says where and what to write.
    """
    content = path.read_bytes()
    marked = next((name for mark, name in _MARKS.items() if content.startswith(mark)), None)
    if encoding is not None:
        check_encoding(encoding)
        if marked and codecs.lookup(encoding).name not in (_plain(marked), codecs.lookup(marked).name):
            raise DataError(
                f"{path}: it begins with the mark of {_SHOWN[marked]}, and the encoding is said to be {encoding}\n"
                "    remove the encoding",
                word="table",
            )
    elif marked is None and _looks_like_utf_16(content):
        order = "le" if content[1:2] == b"\0" else "be"
        raise DataError(f"{path}: it looks like UTF-16 without a byte order mark\n    write table: utf-16-{order}")
    try:
        return content.decode(marked or encoding or "utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        said = encoding or _SHOWN.get(marked or "", "UTF-8")
        remedy = (
            "name another encoding, or save the file as UTF-8"
            if encoding
            else (
                "save it as UTF-8 (Excel: `CSV UTF-8`), or name its encoding: Excel's plain CSV is often "
                "table: windows-1252"
            )
        )
        raise DataError(
            f"{path}:{line}: byte 0x{content[error.start]:02x} is not {said}\n    {remedy}", word="table"
        ) from None


def _plain(marked: str) -> str:
    """Return the encoding that a byte order mark names, without the mark."""
    return codecs.lookup(marked.removesuffix("-sig")).name


def _looks_like_utf_16(content: bytes) -> bool:
    """Tell whether every second byte of a beginning is 0, as it is for Latin letters in UTF-16."""
    sample = content[:_SAMPLE_BYTES]
    return len(sample) > 1 and any(
        sample[first::2].count(0) > len(sample) * 0.4 and 0 not in sample[1 - first :: 2] for first in (0, 1)
    )


DELIMITERS = (",", ";", "\t", "|")
_SEP = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
_SAMPLE_ROWS = 1_000  # rows that a delimiter must divide alike
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
        The delimiter of the spec.

    Raises
    ------
    DataError
        It is not certain, or what the spec says is not one character.
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise DataError(
            f'a delimiter is one character, and {delimiter!r} is not\n    write ",", ";" or "\\t"', word="table"
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
        The delimiter of the cells; None to detect it.

    Raises
    ------
    DataError
        The delimiter is not certain, a row has too many or too few cells, or two columns have one name.
    """
    usual = "\t" if path.suffix == ".tsv" else ","
    delimiter = usual if columns and delimiter is None else csv_delimiter(path, text, delimiter)
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
                f"{path}:{reader.line_num + first_line}: {counted(len(cells), 'cell')} "
                f"where {len(header)} {'is' if len(header) == 1 else 'are'} expected "
                f"(divided by {delimiter!r})\n    put a cell that holds {delimiter!r} or a quotation mark in quotes; "
                f"if something else divides the cells, name it: table: {_other(delimiter)!r}"
            )
        row = {name: cell for name, cell in zip(header, cells, strict=True) if name}
        if not any(cell.strip() for cell in cells):
            blank.append(row)
            continue
        yield from blank  # an empty row between others is reported by the code that needs its cells
        blank = []
        yield row


def _found_out(path: Path, text: str) -> str:
    """Return the delimiter that divides the header and every row into equally many cells."""
    fits, most = [], {}
    for delimiter in DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        widths = [len(cells) for cells in islice(reader, _SAMPLE_ROWS) if cells]
        most[delimiter] = widths[0] if widths else 0
        if most[delimiter] > 1 and set(widths) == {most[delimiter]}:
            fits.append(delimiter)
    if len(fits) > 1:
        raise DataError(
            f"{path}: its cells could be divided by {' or by '.join(map(repr, fits))}\n"
            f"    say which it is, such as table: {fits[-1]!r}",
            word="table",
        )
    # If none fits, a row is wrong: report it for the delimiter that divides the header most.
    return fits[0] if fits else max(DELIMITERS, key=lambda delimiter: most[delimiter])


def _other(delimiter: str) -> str:
    return ";" if delimiter == "," else ","


def _refuse_twins(path: Path, header: Sequence[str]) -> None:
    twin = next((name for name, count in Counter(header).items() if name and count > 1), None)
    if twin is not None:
        raise DataError(f"{path}: two columns are called {twin!r}\n    rename one of them")


Row = dict[str, Any]
CSV = (".csv", ".tsv")
SUFFIXES = (".jsonl", ".json", *CSV, ".parquet")
_FROM = "give the path of the dataset's file or folder; in a spec, paths start at the folder of the spec"


def _elsewhere(path: Path) -> str:
    """Return where a missing file lies if it is named by its path from the current folder; empty if it is not there."""
    tails = (Path(*path.parts[-count:]) for count in range(1, len(path.parts)))
    here = next((tail for tail in tails if tail.exists()), None)
    if here is None:
        return ""
    return f"{here} is in the current folder, and in a spec paths start at the folder of the spec: write it from there"


def rows_of(
    path: Path,
    records: str = "",
    columns: Sequence[str] = (),
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Iterator[Row]:
    """Yield the rows of one file.

    Parameters
    ----------
    path : Path
    records : str
        For JSON: where the rows are, as a dotted path of lists and objects (`data.paragraphs.qas`); each row inherits
        the plain fields of what it is nested in. Empty: the file is a list, or a single row.
    columns : sequence of str
        For a CSV without a header: the names of its columns.
    delimiter, encoding : str or None
        The delimiter of a CSV, and the encoding of any text file; None to detect them.

    Raises
    ------
    DataError
        If the file is missing, of another format, or broken; says where.
    """
    if path.is_dir():
        raise DataError(f"{path}: this is a folder\n    name one of the files in it")
    if not path.is_file():
        raise DataError(f"{path}: no such file\n    {_elsewhere(path) or _FROM}")
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(f"{path}: unknown kind of file\n    known: {', '.join(SUFFIXES)}")
    try:
        if suffix in CSV:
            yield from csv_rows(path, read_text(path, encoding), columns, delimiter)
            return
        if suffix == ".parquet":
            rows = _parquet(path)
        else:
            rows = (_json_lines if suffix == ".jsonl" else _json)(path, read_text(path, encoding))
        for number, row in enumerate(rows, 1):
            yield from _nested(row, records.split(".") if records else [], {}, f"{path}, row {number}")
    except (OSError, csv.Error, RecursionError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def delimiter_of(path: Path, delimiter: str | None = None, encoding: str | None = None) -> str | None:
    """Return what divides the cells of a file: as named, or else found out; None for a file that is not CSV.

    Raises
    ------
    DataError
        It is not certain, or a delimiter is named for a file that has none.
    """
    if path.suffix.lower() not in CSV or not path.is_file():
        if delimiter is not None:
            raise DataError(f"{path}: a delimiter is for CSV files\n    remove it", word="table")
        return None
    try:
        return csv_delimiter(path, read_text(path, encoding), delimiter)
    except (OSError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def files_of(folder: Path, patterns: Sequence[str]) -> list[tuple[Path, dict[str, str]]]:
    """Return the files that match one of the patterns, with the values of their `{name}` parts.

    Parameters
    ----------
    folder : Path
        A folder, or one file (then only the file name is matched, and a file that matches nothing is taken).
    patterns : sequence of str
        `test/{subject}_test.csv`: names within a folder; `{name}` is any text without a slash.
    """
    if folder.is_file():
        for pattern in patterns:
            named = _regex(pattern.rsplit("/", 1)[-1]).fullmatch(folder.name)
            if named:
                return [(folder, named.groupdict())]
        return [(folder, {})]
    if not folder.is_dir():
        raise DataError(f"{folder}: no such file or folder\n    {_elsewhere(folder) or _FROM}")
    for pattern in patterns:
        glob = re.sub(r"\{\w+\}", "*", pattern)
        found = []
        for path in sorted(folder.glob(glob)):
            named = _regex(pattern).fullmatch(path.relative_to(folder).as_posix())
            if named and path.is_file():
                found.append((path, named.groupdict()))
        if found:
            return found
    raise DataError(f"{folder}: none of the dataset's files is there\n    looked for: {', '.join(patterns)}")


def _regex(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", pattern)
    return re.compile(
        "".join(
            f"(?P<{part}>[^/]+?)" if index % 2 else re.escape(part).replace(r"\*", "[^/]*")
            for index, part in enumerate(parts)
        )
    )


def _nested(row: Any, levels: list[str], outer: Row, place: str) -> Iterator[Row]:
    if not isinstance(row, dict):
        raise DataError(f"{place}: a row is not an object but {type(row).__name__}\n    rows must be JSON objects")
    if not levels:
        yield {**outer, **row}
        return
    inner = list(row.values()) if levels[0] == "*" else row.get(levels[0])
    if isinstance(inner, dict) and len(levels) > 1:  # the lists are in an object
        inner = [inner]
    if not isinstance(inner, list):
        raise DataError(f"{place}: no list {levels[0]!r}\n    there is: {', '.join(map(str, row))}")
    plain = {key: value for key, value in row.items() if isinstance(value, str | int | float | bool)}
    for part in inner:
        yield from _nested(part, levels[1:], {**outer, **plain}, place)


def _json_lines(path: Path, text: str) -> Iterator[Any]:
    for number, line in enumerate(io.StringIO(text), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise DataError(f"{path}:{number}: not JSON: {error}\n    one JSON object a line") from None


def _json(path: Path, text: str) -> Iterator[Any]:
    try:
        content = json.loads(text)
    except ValueError as error:
        lines = text.splitlines()
        if len(lines) > 1 and lines[0].startswith("{") and lines[0].rstrip().endswith("}"):
            yield from _json_lines(path, text)  # JSON Lines under another name
            return
        raise DataError(f"{path}: not JSON: {error}\n    is the file whole?") from None
    yield from content if isinstance(content, list) else [content]


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise DataError(
            f"{path}: Parquet needs the extra `data`\n    pip install 'cortexdsl[data]', or convert the file to JSONL"
        ) from None
    try:
        yield from parquet.read_table(path).to_pylist()
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not Parquet: {error}\n    is the file whole?") from None

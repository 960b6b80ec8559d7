"""Rows from files on disk: JSON Lines, JSON, CSV, Parquet, one file or the files of a folder."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError

Row = dict[str, Any]
SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
_FROM = "give the path of the dataset's file or folder; in a spec, paths start at the folder of the spec"
csv.field_size_limit(min(sys.maxsize, 2**31 - 1))


def rows_of(path: Path, records: str = "", columns: Sequence[str] = ()) -> Iterator[Row]:
    """Yield the rows of one file.

    Parameters
    ----------
    path : Path
    records : str
        For JSON: where the rows are, as a dotted path of lists (`data.paragraphs.qas`); each row inherits the
        plain fields of what it is nested in. Empty: the file is a list, or a single row.
    columns : sequence of str
        For a CSV without a header: the names of its columns.

    Raises
    ------
    DataError
        If the file is missing, of another format, or broken; says where.
    """
    if path.is_dir():
        raise DataError(f"{path}: this is a folder\n    name one of the files in it")
    if not path.is_file():
        raise DataError(f"{path}: no such file\n    {_FROM}")
    readers = {".jsonl": _json_lines, ".json": _json, ".csv": _csv, ".tsv": _csv, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: unknown kind of file\n    known: {', '.join(SUFFIXES)}")
    try:
        if reader is _csv:
            yield from _csv(path, columns)
            return
        for number, row in enumerate(reader(path), 1):
            yield from _nested(row, records.split(".") if records else [], {}, f"{path}, row {number}")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte 0x{error.object[error.start]:02x} is not UTF-8\n    save it as UTF-8") from None
    except (OSError, csv.Error, RecursionError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def files_of(folder: Path, patterns: Sequence[str]) -> list[tuple[Path, dict[str, str]]]:
    """Return the files that match one of the patterns, with what their `{name}` parts stand for.

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
        raise DataError(f"{folder}: no such file or folder\n    {_FROM}")
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
        raise DataError(f"{place}: a row is no object but {type(row).__name__}\n    rows must be JSON objects")
    if not levels:
        yield {**outer, **row}
        return
    inner = row.get(levels[0])
    if not isinstance(inner, list):
        raise DataError(f"{place}: no list {levels[0]!r}\n    is this the dataset's official file?")
    plain = {key: value for key, value in row.items() if isinstance(value, str | int | float | bool)}
    for part in inner:
        yield from _nested(part, levels[1:], {**outer, **plain}, place)


def _json_lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise DataError(f"{path}:{number}: not JSON: {error}\n    one JSON object a line") from None


def _json(path: Path) -> Iterator[Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        if len(lines) > 1 and lines[0].startswith("{") and lines[0].rstrip().endswith("}"):
            yield from _json_lines(path)  # JSON Lines under another name
            return
        raise DataError(f"{path}: not JSON: {error}\n    is the file whole?") from None
    yield from content if isinstance(content, list) else [content]


def _csv(path: Path, columns: Sequence[str] = ()) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        header = list(columns) or next(reader, [])
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise DataError(
                    f"{path}:{reader.line_num}: {len(cells)} cells where {len(header)} are expected\n"
                    "    is a comma or a quotation mark in a cell not quoted?"
                )
            yield dict(zip(header, cells, strict=True))


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise DataError(
            f"{path}: Parquet needs the extra `data`\n    pip install -e '.[data]', or convert the file to JSONL"
        ) from None
    try:
        yield from parquet.read_table(path).to_pylist()
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not Parquet: {error}\n    is the file whole?") from None

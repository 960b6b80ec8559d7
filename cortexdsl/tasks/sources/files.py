"""Rows from files on disk: JSON Lines, JSON, CSV, Parquet, one file or the files of a folder."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.tasks.sources.csv_tables import csv_delimiter, csv_rows
from cortexdsl.tasks.sources.text_files import read_text

Row = dict[str, Any]
CSV = (".csv", ".tsv")
SUFFIXES = (".jsonl", ".json", *CSV, ".parquet")
_FROM = "give the path of the dataset's file or folder; in a spec, paths start at the folder of the spec"


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
        For JSON: where the rows are, as a dotted path of lists (`data.paragraphs.qas`); each row inherits the
        plain fields of what it is nested in. Empty: the file is a list, or a single row.
    columns : sequence of str
        For a CSV without a header: the names of its columns.
    delimiter, encoding : str or None
        Of a CSV, and of any file of text; None to find out.

    Raises
    ------
    DataError
        If the file is missing, of another format, or broken; says where.
    """
    if path.is_dir():
        raise DataError(f"{path}: this is a folder\n    name one of the files in it")
    if not path.is_file():
        raise DataError(f"{path}: no such file\n    {_FROM}")
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
            raise DataError(f"{path}: a delimiter is for CSV files\n    remove it", word="delimiter")
        return None
    try:
        return csv_delimiter(path, read_text(path, encoding), delimiter)
    except (OSError, csv.Error) as error:
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
            f"{path}: Parquet needs the extra `data`\n    pip install -e '.[data]', or convert the file to JSONL"
        ) from None
    try:
        yield from parquet.read_table(path).to_pylist()
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not Parquet: {error}\n    is the file whole?") from None

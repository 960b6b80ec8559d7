"""Tables of the analysis as typed rows: a CSV file is read once, and each column is a field of its row.

A row type is a frozen dataclass. Its fields have the names of the columns, and their annotations say how a column is
read. A text field without a default needs its column; any other column may be absent, as in older results.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cortexdsl.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

RowType = TypeVar("RowType")


def _number(text: str) -> float | None:
    return None if text.lower() in ("", "nan", "none") else float(text)


def _whole(text: str) -> int | None:
    value = _number(text)
    return None if value is None else round(value)


_READERS: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "float | None": _number,
    "float": lambda text: math.nan if (value := _number(text)) is None else value,
    "int | None": _whole,
    "int": lambda text: int(text) if text.isdecimal() else _whole(text) or 0,
    "bool": lambda text: text.lower() in ("true", "1", "1.0", "yes"),
}
"""Functions that read the text of a cell, by the annotation of its field."""


def read_frame(path: Path, kind: type[RowType], *, needed: bool = False, **given: Any) -> tuple[RowType, ...]:
    """Read a CSV file as rows of a dataclass.

    Parameters
    ----------
    path : Path
        Lines that begin with `#` are comments.
    kind : dataclass type
        What a row becomes.
    needed : bool
        Whether the file must exist; if not, a missing file gives no rows.
    **given
        Values of the fields that are not columns.

    Raises
    ------
    DataError
        A needed file or column is missing, or a cell is not a number: names file, line and column.
    """
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = csv.reader(line for line in lines if not line.startswith("#"))
            head = next(rows, [])
            places = {name: place for place, name in enumerate(head)}
            used = [(name, places[name]) for name, *_ in _columns(kind) if name in places]  # type: ignore[arg-type]
            return tuple(
                _row(kind, {name: row[i] if i < len(row) else "" for name, i in used}, path, line, head, given)
                for line, row in enumerate(filter(None, rows), 2)
            )
    except FileNotFoundError:
        if needed:
            raise DataError(f"{path} is missing\n    run the experiment: cortexdsl run SPEC") from None
        return ()


def read_row(kind: type[RowType], cells: Mapping[str, str], path: Path, line: int = 0, **given: Any) -> RowType:
    """Read the cells of one row, by column; `path` and `line` are named in errors."""
    return _row(kind, cells, path, line, cells, given)


def rows_of(table: pd.DataFrame, kind: type[RowType], **given: Any) -> list[RowType]:
    """Return the rows of a computed table, as if they had been read from its file."""
    cells = (
        {str(name): "" if value != value else str(value) for name, value in row.items()}
        for row in table.to_dict("records")
    )
    return [read_row(kind, row, Path("computed"), **given) for row in cells]


def _row(
    kind: type[RowType], cells: Mapping[str, str], path: Path, line: int, head: Iterable[str], given: Mapping[str, Any]
) -> RowType:
    values = dict(given)
    for name, read, is_required, has_default in _columns(kind):  # type: ignore[arg-type]
        text = cells.get(name)
        if name in given or (not text and has_default):
            continue
        if text is None and is_required and name not in cells:
            raise DataError(f"{path}: no column {name}; it has {', '.join(head)}")
        try:
            values[name] = read(text or "")
        except ValueError:
            raise DataError(f"{path}:{line}: {name} is {text!r}, not a number") from None
    return kind(**values)


@cache
def _columns(kind: Any) -> tuple[tuple[str, Callable[[str], Any], bool, bool], ...]:
    """Return (name, reader, whether the column must be there, whether it has a default) of each field."""
    defaults = {field.name: field.default is not MISSING for field in fields(kind)}
    return tuple(
        (field.name, _READERS[str(field.type)], field.type == "str" and not defaults[field.name], defaults[field.name])
        for field in fields(kind)
    )

"""Tables of the analysis as typed rows: a CSV file is read once, and each column is a field of its row.

A row type is a frozen dataclass. Its fields have the names of the columns, and their annotations say how a column is
read. A text field without a default needs its column; any other column may be absent, as in older results.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cortexdsl.core import EMPTY
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


def read_frame(
    path: Path, kind: type[RowType], *, needed: bool = False, columns: Mapping[str, str] = EMPTY, **given: Any
) -> tuple[RowType, ...]:
    """Read a CSV file as rows of a dataclass.

    Parameters
    ----------
    path : Path
        Lines that begin with `#` are comments.
    kind : dataclass type
        What a row becomes.
    needed : bool
        Whether the file must exist; if not, a missing file gives no rows.
    columns : mapping of field to column
        For fields whose column has another name.
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
            names = {name: columns.get(name, name) for name, *_ in _columns(kind)}  # type: ignore[arg-type]
            used = [(name, places[column]) for name, column in names.items() if column in places]
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


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A row of comparisons.csv: a cell against its reference; `difference` is cell minus reference.

    The simultaneous interval holds for all differences of the family at once; older results have none. `exploratory`
    means that the comparison was not declared before the first call as it now is. `alpha` is the experiment's.
    """

    family: str
    dataset: str
    metric: str
    cell: str
    reference: str
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    test: str
    p: float | None
    p_adjusted: float | None
    correction: str
    alpha: float
    effect: str = ""
    effect_size: float | None = None
    ci_low_simultaneous: float | None = None
    ci_high_simultaneous: float | None = None
    note: str = ""
    exploratory: bool = False

    @property
    def is_significant(self) -> bool:
        """Whether the difference is significant after the correction of its family."""
        return self.p_adjusted is not None and self.p_adjusted <= self.alpha


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A row of hypotheses.csv: a claim and its verdict."""

    claim: str
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    p: float | None
    p_adjusted: float | None
    verdict: str
    exploratory: bool = False
    note: str = ""
    test: str = ""
    null: str = ""
    leans: str = ""
    questions_needed: int | None = None
    replicates_needed: int | None = None
    ci_low_simultaneous: float | None = None
    ci_high_simultaneous: float | None = None
    ledger: str = ""


@dataclass(frozen=True, slots=True)
class BoundRow:
    """A row of bounds.csv: whether missing and unreadable answers could change a comparison."""

    cell: str
    reference: str
    metric: str
    dataset: str
    changes: bool


@dataclass(frozen=True, slots=True)
class FrontRow:
    """A row of fronts.csv: a cell's accuracy and budget, and the share of resamples in which it is on their front."""

    dataset: str
    metric: str
    budget: str
    cell: str
    estimate: float | None
    cost: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A row of matches.csv: what a matched cell spent, as a share of its budget."""

    dataset: str
    cell: str
    metric: str
    reference: str
    spent: float | None
    budget: float | None
    ratio: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True)
class EffectRow:
    """A row of whatif/effects.csv: what leaving something out changes."""

    cell: str
    dataset: str
    without: str
    whole: float | None
    left_out: float | None
    effect: float | None
    ci_low: float | None
    ci_high: float | None
    p_adjusted: float | None
    correction: str
    changed: float | None
    asked: int | None
    declared: bool
    metric: str = "accuracy"

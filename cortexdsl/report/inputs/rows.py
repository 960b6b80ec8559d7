"""The analysis's CSV files, read row by row; an error names the file, the line and the column."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from cortexdsl.errors import DataError


class Row:
    """A row of a CSV file whose cells are asked for by name and kind; errors name file, line and column."""

    def __init__(self, path: Path, line: int, cells: Mapping[str, str]) -> None:
        self._path, self._line, self._cells = path, line, cells

    def __getitem__(self, column: str) -> str:
        if column not in self._cells:
            raise DataError(f"{self._path}: no column {column}; it has {', '.join(map(str, self._cells))}")
        return self.get(column)

    def get(self, column: str) -> str:
        """Return a cell as text; the empty text where there is none."""
        return self._cells.get(column) or ""

    def number(self, column: str) -> float | None:
        """Return a cell as a number; None where it is empty."""
        text = self.get(column)
        if text.lower() in ("", "nan", "none"):
            return None
        try:
            return float(text)
        except ValueError:
            raise DataError(f"{self._path}:{self._line}: {column} is {text!r}, not a number") from None

    def whole(self, column: str) -> int | None:
        """Return a cell as a whole number."""
        value = self.number(column)
        return None if value is None else round(value)

    def truth(self, column: str) -> bool:
        """Return whether a cell says yes."""
        return self.get(column).lower() in ("true", "1", "1.0", "yes")


def read_rows(path: Path, *, needed: bool = False) -> Iterator[Row]:
    """Read a CSV file; one that may be absent is then empty. Comment lines carry the schema's version."""
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            text = (line for line in lines if not line.startswith("#"))
            for line, cells in enumerate(csv.DictReader(text), 2):
                yield Row(path, line, cells)
    except FileNotFoundError:
        if needed:
            raise DataError(f"{path}: not there; run the experiment first: cortexdsl run SPEC") from None

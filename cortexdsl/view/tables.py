"""Tables of results, read as text: the explorer shows them, and asks nothing of them that needs a data frame."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table; none where it is not there (yet) or cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            return [{name: value or "" for name, value in row.items() if name} for row in csv.DictReader(stream)]
    except (OSError, csv.Error):
        return []


def number(row: Mapping[str, str], column: str) -> float | None:
    """Return a number of a row; None where there is none, or none that is finite."""
    try:
        value = float(row[column])
    except (KeyError, ValueError):
        return None
    return value if value == value and abs(value) != float("inf") else None

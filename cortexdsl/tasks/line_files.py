"""Files with one checked JSON object a line: judgements, ballots, pools of passages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from cortexdsl.errors import RecordError

T = TypeVar("T")


def read_lines(path: Path, what: str, version: int, remedy: str, read: Callable[[Mapping[str, Any]], T]) -> list[T]:
    """Return what a function reads from each line of a file.

    Parameters
    ----------
    path : Path
    what : str
        What the lines are, in messages.
    version : int
        The schema version that each line must have.
    remedy : str
    read : function
        From the object of a line; it may raise ValueError, KeyError or TypeError.

    Raises
    ------
    RecordError
        The file is missing, of another version, or a line cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: the {what} cannot be read ({error})\n    {remedy}") from None
    found = []
    for number, line in enumerate(filter(None, lines), 1):
        try:
            row = json.loads(line)
            if row["schema_version"] != version:
                raise ValueError(f"schema_version is {row['schema_version']!r}, not {version}")
            found.append(read(row))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RecordError(f"{path}:{number}: not a line of {what} ({error})\n    {remedy}") from None
    return found

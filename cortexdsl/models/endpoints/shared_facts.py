"""Facts about servers that the jobs of an experiment tell each other, in a small JSON file each."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from cortexdsl.files import write_file


class SharedFacts:
    """A JSON object in a file that every job may replace; a file that cannot be read is empty.

    Of two simultaneous writers one may lose a fact. The facts are such that the next job then finds it out itself.

    Parameters
    ----------
    folder : Path or None
        `spent/` of the experiment; None keeps the facts within this process.
    name : str
        Of the file.
    """

    def __init__(self, folder: Path | None, name: str) -> None:
        self._path = None if folder is None else folder / name
        self._own: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """Return the facts."""
        if self._path is None:
            return dict(self._own)
        try:
            content: Any = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return content if isinstance(content, dict) else {}

    def write(self, facts: dict[str, Any]) -> None:
        """Replace the facts."""
        self._own = facts
        if self._path is not None:
            with suppress(OSError):  # on a full disk each job finds the facts out itself
                write_file(self._path, (json.dumps(facts).encode("ascii"),), durable=False)

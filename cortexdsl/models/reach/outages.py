"""Outages: a server that was found dead is found so once a run, and not by each job anew with all its patience.

What is down stands in one small file beside the ledger, which every job of the experiment reads when an attempt of
its own has failed, and only then.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

NAME = ".down"
REMEMBERED = 60.0
"""Seconds that an outage is taken for granted after somebody last met it."""


class Outages:
    """The addresses that are known to be down.

    Parameters
    ----------
    folder : Path or None
        Where the file lies; None keeps the knowledge to this process.
    now : callable
        Seconds since the epoch.
    """

    def __init__(self, folder: Path | None, now: Callable[[], float] = time.time) -> None:
        self._path = folder / NAME if folder is not None else None
        self._now = now
        self._known: dict[str, float] = {}

    def is_known(self, where: str) -> bool:
        """Say whether somebody found an address down within the last minute."""
        since = self._now() - self._read().get(where, 0.0)
        return 0.0 <= since < REMEMBERED

    def met(self, where: str) -> None:
        """Note that an address is down."""
        self._write({**self._read(), where: self._now()})

    def over(self, where: str) -> None:
        """Note that an address answers again."""
        known = self._read()
        if known.pop(where, None) is not None:
            self._write(known)

    def _read(self) -> dict[str, float]:
        if self._path is None:
            return dict(self._known)
        try:
            said: Any = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        pairs = said.items() if isinstance(said, dict) else ()
        return {where: at for where, at in pairs if isinstance(at, float)}

    def _write(self, known: dict[str, float]) -> None:
        # Two that write at once may lose an address for one another: it is then found once more.
        if self._path is None:
            self._known = known
            return
        part = self._path.with_name(f"{NAME}.{os.getpid()}.part")
        with suppress(OSError):  # on a full disk each job finds out for itself
            part.write_text(json.dumps(known), encoding="ascii")
            part.replace(self._path)

"""Looks at a model server while a run asks it, and writes down what it has done: one small file for each start.

The file has one writer, is replaced whole, and no result depends on it: the report says from it what the server did.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cortexdsl.models.servers.counters import Counters, read_counters

SCHEMA_VERSION = 1
EVERY = 1.0
_TOTALS = ("requests", "prompt_tokens", "completion_tokens", "looked_up_tokens", "cached_tokens")
_say = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """A model as a server was found to serve it, before the first job.

    Attributes
    ----------
    entry, model : str
        As the spec calls it.
    seed : str
        Of `cortexdsl.models.probe.Probe`.
    """

    entry: str
    model: str
    seed: str


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a server.

    Attributes
    ----------
    server : str
        Its name in the spec.
    engine : str
        With its version; empty where it does not tell.
    is_own : bool
        Whether this run started it; else it runs elsewhere, and may have worked for others, too.
    seconds : float
        From its start, or the first look, until it answered.
    models : tuple of Asked
    """

    server: str
    engine: str = ""
    is_own: bool = True
    seconds: float = 0.0
    models: tuple[Asked, ...] = ()


@dataclass(slots=True)
class _Seen:
    """What looks have added up to."""

    first: Counters
    last: Counters
    busy: float = 0.0
    in_work: float = 0.0  # requests in work, times seconds
    peak: int = 0
    at: float = field(default=0.0)


class Watch:
    """Looks at a server every second, in a thread of its own, until it is stopped.

    Parameters
    ----------
    start : Start
    address : str
    files : sequence of Path
        Where to write; one for each experiment that asks the server. A server that counts nothing is written down, too.
    every : float
        Seconds between two looks.
    read : callable
        Of the address: what the server counts.
    now, clock : callable
        Seconds since the epoch, and seconds.
    """

    def __init__(
        self,
        start: Start,
        address: str,
        files: Sequence[Path],
        *,
        every: float = EVERY,
        read: Callable[[str], Counters | None] = read_counters,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._start, self._address, self._files = start, address, tuple(files)
        self._read, self._now, self._clock = read, now, clock
        self._began = now()
        counted = read(address)
        self._seen = None if counted is None else _Seen(counted, counted, at=clock())
        self._written: dict[str, Any] = {}
        self._over = threading.Event()
        self._write()
        self._thread = threading.Thread(target=self._go_on, args=(every,), name=f"watch {start.server}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look a last time; may be called twice."""
        if self._over.is_set():
            return
        self._over.set()
        self._thread.join()
        self.look()
        self._write()

    def look(self) -> None:
        """Look once, and write what is new."""
        seen, counted = self._seen, self._read(self._address)
        if seen is None or counted is None:
            return
        at = self._clock()
        if counted.is_busy or counted.completion_tokens != seen.last.completion_tokens:
            seen.busy += at - seen.at
            seen.in_work += (at - seen.at) * (counted.running or 0)
        seen.peak = max(seen.peak, counted.running or 0)
        seen.at = at
        seen.last = counted
        self._write()

    def _go_on(self, every: float) -> None:
        while not self._over.wait(every):
            self.look()

    def value(self) -> dict[str, Any]:
        """Return what is written."""
        seen = self._seen
        found = {
            "schema_version": SCHEMA_VERSION,
            **asdict(self._start),
            "began": self._began,
            "updated": self._now(),
            "state": "ended" if self._over.is_set() else "running",
        }
        if seen is None:
            return {**found, "counted": None}
        counted = {name: _difference(getattr(seen.first, name), getattr(seen.last, name)) for name in _TOTALS}
        mean = round(seen.in_work / seen.busy, 2) if seen.busy and seen.last.running is not None else None
        return {**found, "counted": counted, "busy": round(seen.busy, 2), "in_work": mean, "peak": seen.peak}

    def _write(self) -> None:
        text = json.dumps(self.value(), indent=1) + "\n"
        for path in self._files:
            part = path.with_name(f".{path.name}.part")
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                part.write_text(text, encoding="ascii")
                part.replace(path)
            except OSError as error:  # a full disk: the jobs say so, and nothing depends on this file
                _say.warning("%s: what the server did cannot be written: %s", path, error.strerror)


def _difference(first: int | None, last: int | None) -> int | None:
    """Return what was added; a server that began anew meanwhile counts from zero again."""
    if first is None or last is None:
        return None
    return last - first if last >= first else last

"""Observes a model server while a run uses it, and writes what it did into a small file for each start.

The figures come from its `/metrics` (the text format of Prometheus); vLLM and llama.cpp's server (with `--metrics`)
are understood. The file has one writer and is replaced atomically; no result depends on it, only the report reads it.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cortexdsl.files import write_file
from cortexdsl.models.servers.pages import read_page, root_of

_LINE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{[^}]*\})? (\S+)")
_WORKED_OUT, _FOUND = "llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"
_NAMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "requests": (("vllm:request_success_total",),),
    "prompt_tokens": (("vllm:prompt_tokens_total",), (_WORKED_OUT, _FOUND)),
    "completion_tokens": (("vllm:generation_tokens_total",), ("llamacpp:tokens_predicted_total",)),
    "looked_up_tokens": (("vllm:prefix_cache_queries_total",), (_WORKED_OUT, _FOUND)),
    "cached_tokens": (("vllm:prefix_cache_hits_total",), (_FOUND,)),
    "running": (("vllm:num_requests_running",), ("llamacpp:requests_processing",)),
    "waiting": (("vllm:num_requests_waiting",), ("llamacpp:requests_deferred",)),
}
"""Metric names of each kind of server. Several names are summed, and all of them must be present."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of a server since its start; None if it does not count a thing.

    Attributes
    ----------
    requests : int or None
        Answered.
    prompt_tokens, completion_tokens : int or None
        Prompt tokens include those that were in the cache.
    looked_up_tokens, cached_tokens : int or None
        Prompt tokens that were looked up in the prefix cache, and those of them that were in it.
    running, waiting : int or None
        Requests in work and in its queue at this moment.
    """

    requests: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    looked_up_tokens: int | None = None
    cached_tokens: int | None = None
    running: int | None = None
    waiting: int | None = None

    @property
    def is_busy(self) -> bool:
        """Whether it has something to do."""
        return bool(self.running or self.waiting)


def read_counters(address: str, timeout: float = 2.0) -> Counters | None:
    """Return the counters of a server; None if it has none.

    Parameters
    ----------
    address : str
        In the form of `api_base`; the page is at the root of the server, outside of `/v1`.
    """
    return parse_counters(read_page(f"{root_of(address)}/metrics", timeout).text)


def parse_counters(text: str) -> Counters | None:
    """Read a page of metrics: values of one name are added up; None if no name is known."""
    sums: dict[str, float] = {}
    for line in text.splitlines():
        matched = _LINE.match(line)
        if matched is not None:
            sums[matched[1]] = sums.get(matched[1], 0.0) + _number(matched[2])
    known = {
        field: int(total)
        for field, ways in _NAMES.items()
        for names in ways
        if all(name in sums for name in names) and 0 <= (total := sum(sums[name] for name in names)) < 10**18
    }
    return Counters(**known) if known else None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


SCHEMA_VERSION = 1
EVERY = 1.0
_TOTALS = ("requests", "prompt_tokens", "completion_tokens", "looked_up_tokens", "cached_tokens")
_say = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServedModel:
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
class ServerStart:
    """One start of a server.

    Attributes
    ----------
    server : str
        Its name in the spec.
    engine : str
        With its version; empty if unknown.
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
    models: tuple[ServedModel, ...] = ()


@dataclass(slots=True)
class _Seen:
    """Sums over the samples of a server's counters."""

    first: Counters
    last: Counters
    busy: float = 0.0
    in_work: float = 0.0  # requests in work, times seconds
    peak: int = 0
    at: float = field(default=0.0)


class ServerMonitor:
    """Looks at a server every second, in a thread of its own, until it is stopped.

    Parameters
    ----------
    start : ServerStart
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
        start: ServerStart,
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
            try:
                write_file(path, (text.encode("ascii"),), durable=False)
            except OSError as error:  # a full disk: the jobs say so, and nothing depends on this file
                _say.warning("%s: what the server did cannot be written: %s", path, error.strerror)


def _difference(first: int | None, last: int | None) -> int | None:
    """Return the increase; a server that was restarted in the meantime counts from zero again."""
    if first is None or last is None:
        return None
    return last - first if last >= first else last

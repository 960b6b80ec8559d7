"""The log of waves: what was sent in batches, written before anything follows from it.

`<cell>.waves` lies beside the call log of a job, which alone writes it; the waves of all jobs of the folder are read,
because another job may need the same call. Each line is an event of one wave and is on disk (fdatasync) before the
next request is sent, but for `failed`:

| event | fields | written |
|---|---|---|
| prepared | place, model, calls: [key, tokens, dollars, has_seed] | before the provider hears of the wave |
| reserved | | after the wave was booked in the ledger |
| uploaded | file | with the id of the uploaded file |
| created | batch | with the id of the batch, before anything waits for it |
| dropped | reason | the provider has no such batch, or refused it |
| returned | | before the booking of a dropped wave is given back |
| failed | calls: [key] | these calls failed in the wave: they are not looked for there again |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, NamedTuple, TypeAlias

from cortexdsl.core import EMPTY, Usage
from cortexdsl.models.call_log.append_log import SCHEMA_VERSION, AppendLog, parse, whole_lines
from cortexdsl.models.call_log.records import is_amount, is_count
from cortexdsl.models.transports.interface import MOST_TOKENS

SUFFIX = ".waves"
Event: TypeAlias = Literal["reserved", "uploaded", "created", "dropped", "returned", "failed"]


class WaveCall(NamedTuple):
    """A call of a wave: its key, what was booked for it, and whether its request has a seed."""

    key: str
    tokens: int
    dollars: float
    has_seed: bool

    @property
    def booking(self) -> Usage:
        """The usage that was booked."""
        return Usage(attempts=1, input_tokens=self.tokens, dollars=self.dollars)


@dataclass(slots=True)
class Wave:
    """A wave, as the events of the logs tell.

    Attributes
    ----------
    id : str
        Made here, and known to the provider.
    place : str
        The address and the variable of the key; other jobs ask there for the wave.
    calls : mapping of key to WaveCall
    at : float
        Of the last event before the batch was made, in seconds since the epoch.
    file, batch : str or None
        Their ids at the provider.
    is_own : bool
        This job's own log has it.
    events : set of str
        Those that its logs tell.
    failed : set of str
        Keys of calls that failed in it.
    """

    id: str
    place: str = ""
    calls: Mapping[str, WaveCall] = field(default_factory=lambda: EMPTY)
    at: float = 0.0
    file: str | None = None
    batch: str | None = None
    is_own: bool = False
    events: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    @property
    def is_dropped(self) -> bool:
        """Whether no reply will come from it."""
        return "dropped" in self.events

    @property
    def is_booked(self) -> bool:
        """Whether the ledger has a booking of it that this job may give back."""
        return self.is_own and "reserved" in self.events and "returned" not in self.events


class WaveLog:
    """The waves of a folder of call logs.

    Parameters
    ----------
    folder : Path
    own : Path
        The log of this job; made when the first wave is prepared.
    now : callable
        Seconds since the epoch.
    """

    def __init__(self, folder: Path, own: Path, now: Callable[[], float]) -> None:
        self._folder, self._own, self._now = folder, own, now
        self._log: AppendLog | None = None
        self._read: dict[Path, int] = {}
        self._waves: dict[str, Wave] = {}
        self._by_key: dict[str, list[str]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read what was written since the last look."""
        try:
            with os.scandir(self._folder) as entries:
                sizes = {Path(e.path): e.stat().st_size for e in entries if e.name.endswith(SUFFIX)}
        except FileNotFoundError:
            return
        for path in sorted(sizes):
            if sizes[path] <= self._read.get(path, 0) or (path == self._own and self._log is not None):
                continue
            for start, line in whole_lines(path, self._read.get(path, 0)):
                self._read[path] = start + len(line) + 1
                event = parse(line)
                if event is not None:
                    self._learn(event, is_own=path == self._own)

    def on_its_way(self, key: str) -> Wave | None:
        """Return the latest wave in which a call may still have its reply."""
        self.refresh()
        for name in reversed(self._by_key.get(key, ())):
            wave = self._waves[name]
            if not wave.is_dropped and key not in wave.failed:
                return wave
        return None

    def batches(self) -> set[str]:
        """Return the ids of all batches that are known."""
        return {wave.batch for wave in self._waves.values() if wave.batch is not None}

    def unreturned(self) -> list[Wave]:
        """Return the dropped waves of this job whose booking has not been given back."""
        return [wave for wave in self._waves.values() if wave.is_dropped and wave.is_booked]

    def prepare(self, place: str, model: str, calls: Iterable[WaveCall]) -> Wave:
        """Write down a wave that is about to be sent, and return it."""
        wave = token_hex(8)
        self._write(wave, "prepared", place=place, model=model, calls=[list(call) for call in calls])
        return self._waves[wave]

    def note(self, wave: Wave, event: Event, **fields: Any) -> None:
        """Write down an event of a wave with its fields."""
        self._write(wave.id, event, **fields)

    def _write(self, wave: str, event: str, **fields: Any) -> None:
        if self._log is None:
            self._log = AppendLog(self._own)
        record = {"schema_version": SCHEMA_VERSION, "key": wave, "event": event, "at": round(self._now(), 3), **fields}
        self._log.append(record)
        if event != "failed":  # may come thousandfold; without it a power cut has the same failure read again
            self._log.sync()
        self._learn(record, is_own=True)

    def _learn(self, event: Mapping[str, Any], *, is_own: bool) -> None:
        # Another job may have continued the wave, and its log be read before that of the job that prepared it.
        wave, word = self._waves.setdefault(event["key"], Wave(event["key"])), event.get("event")
        wave.events.add(str(word))
        match word:
            case "prepared":
                wave.place, wave.is_own, wave.at = str(event.get("place")), is_own, max(wave.at, _at(event))
                calls = [WaveCall(*row) for row in event.get("calls") or () if _is_call(row)]
                wave.calls = {call.key: call for call in calls}
                for key in wave.calls:
                    self._by_key.setdefault(key, []).append(wave.id)
            case "uploaded":
                wave.file, wave.at = str(event.get("file")), _at(event)
            case "created":
                wave.batch = str(event.get("batch"))
            case "failed":
                wave.failed.update(map(str, event.get("calls") or ()))

    def close(self) -> None:
        """Close the own log. May be called twice."""
        if self._log is not None:
            self._log.close()


def _is_call(row: Any) -> bool:
    if not isinstance(row, list) or len(row) != len(WaveCall._fields):
        return False
    key, tokens, dollars, has_seed = row
    return isinstance(key, str) and is_count(tokens, MOST_TOKENS) and is_amount(dollars) and isinstance(has_seed, bool)


def _at(event: Mapping[str, Any]) -> float:
    at = event.get("at")
    return float(at) if is_amount(at) and at is not None else 0.0

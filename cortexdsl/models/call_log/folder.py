"""The call logs of a folder: all calls to models with their replies. They are the only checkpoint of a run.

A folder holds the logs of the cells that share their questions. Each has one writer, and all are read by all. A call
that is in any of them is not sent again.
"""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cortexdsl.core import NO_USAGE, Reply, Usage
from cortexdsl.models.call_log.append_log import AppendLog, line_number
from cortexdsl.models.call_log.index import LogIndex, name_of
from cortexdsl.models.call_log.records import read_call, reply_of, usage_of

_HANDLES = 32
_ROW_BITS = 40
_say = logging.getLogger(__name__)


class LogFolder:
    """All call logs of a folder as one map from key to places; the texts stay on disk.

    The jobs of one process share it, each with a `CallLogs` of its own. About 200 bytes of memory a call.

    Parameters
    ----------
    folder : Path
        Its `*.jsonl` files are the logs. May be absent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._logs: list[LogIndex] = []
        self._numbers: dict[str, int] = {}
        self._ours: set[str] = set()  # logs that this process is writing: no other process can
        self._learned: list[int] = []
        self._first: dict[bytes, int] = {}  # a place is the number of a log and of a row, in one integer
        self._more: dict[bytes, list[int]] = {}
        self._broken: set[int] = set()
        self._synced: dict[Path, int] = {}
        self._handles: OrderedDict[int, int] = OrderedDict()
        self.replies = ReplyCache()

    def __len__(self) -> int:
        return len(self._first)

    def log(self, path: Path, *, is_writer: bool = False) -> int:
        """Return the number of a log, opened if it is not yet open."""
        number = self._numbers.get(str(path))
        if number is None:
            number = self._numbers[str(path)] = len(self._logs)
            self._logs.append(LogIndex(path))
            self._learned.append(0)
            self._logs[number].catch_up()
            self._learn(number)
        if is_writer:
            self._logs[number].become_writer()
            self._learn(number)
            self._ours.add(str(path))
        return number

    def refresh(self) -> None:
        """Read what other processes have written since the last look."""
        try:
            with os.scandir(self.folder) as entries:
                logs = [entry for entry in entries if entry.name.endswith(".jsonl") and entry.path not in self._ours]
                sizes = {entry.path: entry.stat().st_size for entry in logs}
        except FileNotFoundError:
            return
        for name in sorted(sizes):
            number = self._numbers.get(name)
            if number is None:
                self.log(Path(name))
            elif sizes[name] > self._logs[number].covered:
                self._logs[number].catch_up()
                self._learn(number)

    def _learn(self, number: int) -> None:
        """Put the entries of a log that are new into the map."""
        start, end = self._learned[number], len(self._logs[number])
        names = self._logs[number].names(start, end)
        base = number << _ROW_BITS
        self._learned[number] = end
        if not self._first:  # the usual case by far, a hundred times as fast: no key comes twice
            self._first = dict(zip(names, range(base + start, base + end), strict=True))
            if len(self._first) == len(names):
                return
            self._first = {}
        for place, name in enumerate(names, base + start):
            self._remember(name, place)

    def _remember(self, name: bytes, place: int) -> None:
        if self._first.setdefault(name, place) != place:
            self._more.setdefault(name, []).append(place)

    def add(self, number: int, key: str, usage: Usage, offset: int, length: int) -> int:
        """Add a line that a writer of this process has just written; return its place."""
        row = len(self._logs[number])
        place = (number << _ROW_BITS) | row
        self._logs[number].append(key, usage, offset, length)
        self._remember(name_of(key), place)
        self._learned[number] = row + 1
        return place

    def find(self, key: str, own: int | None, *, errors_again: bool) -> dict[str, Any] | None:
        """Return the record of a key: the job's own first, replies before failures; None if there is none."""
        records = map(self._take, self._places(key, own, errors_again=errors_again))
        return next((record for record in records if record is not None and record["key"] == key), None)

    def reply(self, key: str, own: int | None, *, errors_again: bool) -> Reply | None:
        """Return the reply to a key, which `find` has the record of."""
        for place in self._places(key, own, errors_again=errors_again):
            reply = self.replies.get(place)
            if reply is None:
                record = self._take(place)
                if record is None:
                    continue
                reply = reply_of(record)
                self.replies.keep(place, reply)
            if reply.key == key:
                return reply
        return None

    def _places(self, key: str, own: int | None, *, errors_again: bool) -> list[int]:
        """Return the positions of a key, in order of precedence."""
        name = name_of(key)
        first = self._first.get(name)
        if first is None:
            return []
        places = [first, *self._more[name]] if name in self._more else [first]
        if len(places) > 1:
            places.sort(key=lambda place: (self._entry(place).is_error, place >> _ROW_BITS != own))
        if errors_again:
            places = [place for place in places if not self._entry(place).is_error]
        return [place for place in places if place not in self._broken] if self._broken else places

    def _entry(self, place: int) -> Any:
        return self._logs[place >> _ROW_BITS].entry(place & ((1 << _ROW_BITS) - 1))

    def _take(self, place: int) -> dict[str, Any] | None:
        """Read the line at a place; a line that has changed is reported once and then skipped."""
        entry, path = self._entry(place), self._logs[place >> _ROW_BITS].path
        record = read_call(os.pread(self._handle(place >> _ROW_BITS), entry.length, entry.offset))
        if record is None:
            self._broken.add(place)
            _say.warning(
                "%s:%d: a corrupt line of the call log is skipped, and its call asked again",
                path, line_number(path, entry.offset),
            )  # fmt: skip
        return record

    def _handle(self, number: int) -> int:
        """Return an open file of a log; a few are kept open."""
        handle = self._handles.get(number)
        if handle is None:
            handle = os.open(self._logs[number].path, os.O_RDONLY | os.O_CLOEXEC)
            self._handles[number] = handle
            if len(self._handles) > _HANDLES:
                os.close(self._handles.popitem(last=False)[1])
        self._handles.move_to_end(number)
        return handle

    def grown(self) -> list[tuple[Path, int]]:
        """Return the logs that were not brought to disk since they grew, with their sizes."""
        sizes = ((log.path, log.covered) for log in self._logs)
        return [(path, size) for path, size in sizes if size > self._synced.get(path, 0)]

    def note_synced(self, logs: Iterable[tuple[Path, int]]) -> None:
        """Note that logs were brought to disk when they had these sizes."""
        self._synced.update(logs)

    def totals(self, number: int) -> Usage:
        """Add up one log."""
        return self._logs[number].totals()

    def has(self, key: str, number: int) -> bool:
        """Return whether a log has a line for a key."""
        return any(place >> _ROW_BITS == number for place in self._places(key, number, errors_again=False))

    def has_error(self, key: str) -> bool:
        """Return whether the logs have nothing but failures for a key."""
        places = self._places(key, None, errors_again=False)
        return bool(places) and bool(self._entry(places[0]).is_error)

    def leave(self, number: int) -> None:
        """Stop keeping the index of a log that this process has written, and look for what others write there."""
        self._logs[number].close()
        self._ours.discard(str(self._logs[number].path))

    def close(self) -> None:
        """Close all files."""
        for log in self._logs:
            log.close()
        while self._handles:
            os.close(self._handles.popitem()[1])


class CallLogs:
    """The call logs of a folder as one job uses them: it writes one, and reads all.

    Parameters
    ----------
    folder : Path
        Its `*.jsonl` files are the logs. May be absent.
    own : Path or None
        The log that this job writes; None to read only. Its lines come first: if two logs answer one key
        differently (two machines sent it at once), each job uses the reply that it received itself.
    errors_again : bool
        Failures that are data (content filter ...) do not count as replies, so that they are sent again.
    shared : LogFolder or None
        The folder as the jobs of this process share it; by default this job's own.

    Attributes
    ----------
    folder, own
        As given, absolute.
    writer : AppendLog or None
        Of `own`.
    """

    def __init__(
        self,
        folder: Path,
        own: Path | None = None,
        *,
        errors_again: bool = False,
        shared: LogFolder | None = None,
    ) -> None:
        self.folder = folder.absolute()
        self.own = own = own.absolute() if own is not None else None
        self._errors_again = errors_again
        self._folder = LogFolder(folder) if shared is None else shared  # an empty one is false
        self._is_shared = shared is not None
        self.writer = AppendLog(own) if own is not None else None
        self._number = self._folder.log(own, is_writer=True) if own is not None else None
        self.refresh()

    def refresh(self) -> None:
        """Read what other jobs have written since the last look."""
        self._folder.refresh()

    def get(self, key: str) -> Reply | None:
        """Return the reply to a key, or None if no log has one."""
        return self._folder.reply(key, self._number, errors_again=self._errors_again)

    def record(self, key: str) -> dict[str, Any] | None:
        """Return the log line of a key, or None if no log has one."""
        return self._folder.find(key, self._number, errors_again=self._errors_again)

    def is_own(self, key: str) -> bool:
        """Say whether the own log has a line for a key."""
        return self._number is not None and self._folder.has(key, self._number)

    def failure(self, key: str) -> str | None:
        """Return the error of a key, if the logs hold a failure for it and no reply."""
        if not self._folder.has_error(key):
            return None
        record = self._folder.find(key, self._number, errors_again=False)
        return None if record is None else str(record["error"])

    def write(self, record: Mapping[str, Any], reply: Reply | None = None) -> Usage:
        """Append a line to the own log and to the index, and keep its reply in memory; return its usage."""
        if self.writer is None or self._number is None:
            raise RuntimeError("these logs were opened to be read only")
        offset, length = self.writer.append(record)
        usage = usage_of(record)
        place = self._folder.add(self._number, record["key"], usage, offset, length - 1)
        if reply is not None:
            self._folder.replies.keep(place, reply)
        return usage

    def grown(self) -> list[tuple[Path, int]]:
        """Return the logs of other jobs that were not brought to disk since they grew, with their sizes."""
        return [(path, size) for path, size in self._folder.grown() if path != self.own]

    def note_synced(self, logs: Iterable[tuple[Path, int]]) -> None:
        """Note that logs were brought to disk when they had these sizes."""
        self._folder.note_synced(logs)

    def totals(self, log: Path | None = None) -> Usage:
        """Add up a log of the folder, which may be absent; by default the own one."""
        number = self._number if log is None else self._folder.log(log.absolute()) if log.exists() else None
        return NO_USAGE if number is None else self._folder.totals(number)

    def __len__(self) -> int:
        return len(self._folder)

    def close(self) -> None:
        """Close the own log. May be called twice."""
        try:
            if self.writer is not None and self._number is not None:
                self._folder.leave(self._number)
                self.writer.close()
        finally:
            if not self._is_shared:
                self._folder.close()


MOST_CHARACTERS = 1 << 25
SIZE = 500
"""Approximate bytes of a reply besides its text."""


class ReplyCache:
    """Replies by their positions in the logs; the oldest are dropped when they take too much memory."""

    def __init__(self) -> None:
        self._replies: dict[int, Reply] = {}
        self._length = 0

    def get(self, place: int) -> Reply | None:
        """Return the reply of a place."""
        return self._replies.get(place)

    def keep(self, place: int, reply: Reply) -> None:
        """Keep a reply."""
        if place in self._replies:
            return
        self._replies[place] = reply
        self._length += SIZE + len(reply.text)
        while self._length > MOST_CHARACTERS:
            oldest = next(iter(self._replies))
            self._length -= SIZE + len(self._replies.pop(oldest).text)

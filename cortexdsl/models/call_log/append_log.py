"""An append-only file of JSON lines with checksums and one writer: the format of every log of calls.

A line is one `os.write` to a file opened for appending, so `kill -9` of the process loses no acknowledged line.
`sync` brings the file to disk (fdatasync) against power cuts; the client calls it within `SYNC_EVERY` seconds of a
line and before a record of the replies is written, and closing the log does, too. A line that was cut in the middle is
the last one, and the next writer removes it.

Disk space for the next lines is reserved ahead. The disk is full for the log as soon as the reserve cannot be renewed:
no further call is sent then, and the replies on their way still fit.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from cortexdsl.checksums import LineState, line_state, with_checksum
from cortexdsl.errors import RecordError
from cortexdsl.files import append, cannot_write, open_to_write, release, reserve, sync, truncate
from cortexdsl.typed_json import parse_json

SCHEMA_VERSION = 2
SEALED_SINCE = 2
SYNC_EVERY = 5.0
RESERVE = 1 << 20
"""Bytes that are reserved on disk for the next lines of a log; half of it at least is always left."""
_BEGINNING = b'{"schema_version": '
_CHUNK = 1 << 20
_say = logging.getLogger(__name__)


class AppendLog:
    """The one writer of a log file.

    Parameters
    ----------
    path : Path
        Created with its folders if absent. A torn last line is repaired: completed if only its end is missing,
        removed otherwise.

    Attributes
    ----------
    fault : RecordError or None
        Why nothing more should be sent: the disk is full or has failed. The log still takes lines until writing them
        fails, so that replies on their way are kept.

    Raises
    ------
    RecordError
        If another process writes the file at this moment, it cannot be opened, it is a link, or it ends in an
        unfinished line that no log has begun.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fault: RecordError | None = None
        self._sync_fault: RecordError | None = None
        try:
            self._file = open_to_write(path, append=True)
        except OSError as error:
            raise cannot_write(path, "the log cannot be opened", error) from error
        self._is_synced = True
        self._reserved = 0
        self._syncing = threading.Lock()  # a file that is being brought to disk is not closed meanwhile
        try:
            self._lock()
            self.end = _mend(self._file, path)
            self._reserve()
        except OSError as error:
            os.close(self._file)
            raise cannot_write(path, "the log cannot be written", error) from error
        except BaseException:
            os.close(self._file)
            raise

    def _lock(self) -> None:
        # flock and not lockf: a lockf lock is lost as soon as this process closes any other handle of the file,
        # which reading it does.
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RecordError(
                f"{self.path}: another process writes this log; wait for it or stop it (a log has one writer)"
            ) from None
        except OSError as error:
            _say.warning("%s: this file system has no locks (%s); see that one job alone writes it", self.path, error)

    def _reserve(self) -> None:
        """Keep at least half of the reserve ahead of the end."""
        if self._reserved - self.end < RESERVE // 2:
            reserve(self._file, self.end, RESERVE)
            self._reserved = self.end + RESERVE

    def append(self, record: Mapping[str, Any]) -> tuple[int, int]:
        """Write one record and its seal; return the line's offset and length in bytes.

        Raises
        ------
        RecordError
            If the disk is full or fails; the file is left without a half line.
        """
        line = with_checksum(json.dumps(record)).encode("ascii") + b"\n"
        start = self.end
        try:
            append(self._file, line, start)
        except OSError as error:
            raise self._note(error) from error
        self.end = start + len(line)
        self._is_synced = False
        try:
            self._reserve()
        except OSError as error:
            self._note(error)
        return start, len(line)

    def _note(self, error: OSError) -> RecordError:
        self.fault = self.fault or cannot_write(self.path, "the log cannot be written", error)
        return self.fault

    def sync(self) -> None:
        """Bring what was written to disk; may be called from another thread.

        Raises
        ------
        RecordError
            If the disk fails or has failed: what it did not take then may be lost, even if it works again.
        """
        with self._syncing:
            if self._file >= 0 and not self._is_synced:
                self._is_synced = True
                try:
                    sync(self._file)
                except OSError as error:
                    self._sync_fault = self.fault = cannot_write(self.path, "the log cannot be brought to disk", error)
            if self._sync_fault is not None:
                raise self._sync_fault

    def close(self) -> None:
        """Bring the file to disk and give up the lock. May be called twice.

        Raises
        ------
        RecordError
            As `sync`.
        """
        if self._file < 0:
            return
        try:
            with suppress(OSError):
                release(self._file)
            self.sync()
        finally:
            with self._syncing:
                os.close(self._file)
                self._file = -1

    def __enter__(self) -> AppendLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _mend(file: int, path: Path) -> int:
    """Make the file end in a whole line; return its size."""
    size = os.fstat(file).st_size
    start = size
    tail = b""
    while start > 0 and b"\n" not in tail:
        step = min(_CHUNK, start)
        start -= step
        tail = os.pread(file, step, start) + tail
    whole = start + tail.rfind(b"\n") + 1
    torn = tail[tail.rfind(b"\n") + 1 :]
    if not torn:
        return size
    if line_state(torn) is LineState.WHOLE or parse_json(torn) is not None:
        append(file, b"\n", size)
        return size + 1
    # A power cut may leave zeros instead of data; no line of text holds any.
    if b"\0" not in torn and torn[: len(_BEGINNING)] != _BEGINNING[: len(torn)]:
        raise RecordError(
            f"{path}: its last line is unfinished, and no call log has begun it\n"
            "    this file is not ours alone: move it away, or end that line by hand"
        )
    truncate(file, whole)
    return whole


def whole_lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line without its end) of every whole line from byte `start` on.

    A last line without its end is still being written, or was torn: it is not yielded.
    """
    with path.open("rb", buffering=_CHUNK) as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield start, line[:-1]
            start += len(line)


def line_number(path: Path, offset: int) -> int:
    """Return the number, from 1, of the line that begins at an offset."""
    number = 1
    with path.open("rb") as file:
        while offset > 0 and (block := file.read(min(_CHUNK, offset))):
            number += block.count(b"\n")
            offset -= len(block)
    return number


def parse(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, or None if it is corrupt: not JSON, or with a wrong checksum.

    Raises
    ------
    RecordError
        If a newer version wrote it.
    """
    seal = line_state(line)
    if seal is LineState.BROKEN:
        return None
    record = parse_json(line)
    if not isinstance(record, dict) or not isinstance(record.get("key"), str):
        return None
    version = record.get("schema_version", 1)
    if not isinstance(version, int):
        return None
    if version > SCHEMA_VERSION:
        raise RecordError(
            f"a log line has schema_version {version}; this cortexdsl reads up to {SCHEMA_VERSION}: update it"
        )
    if version >= SEALED_SINCE and seal is LineState.ABSENT:
        return None
    return record

"""An append-only file of JSON lines with one writer: the ground that every log of calls stands on.

A line is one `os.write` to a file opened for appending, so that what was acknowledged belongs to the operating
system: `kill -9` of the process loses nothing that was written. Only a power cut can take the last seconds; the
file is brought to disk (fsync) when it is closed. A line that was cut in the middle is the last one, and the
next writer cuts it off.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from cortexdsl.errors import RecordError

SCHEMA_VERSION = 1
_CHUNK = 1 << 20
_say = logging.getLogger(__name__)


class AppendLog:
    """The one writer of a log file.

    Parameters
    ----------
    path : Path
        Created with its folders if absent. A torn last line is mended: completed where it is whole but for its
        end, cut off otherwise.

    Raises
    ------
    RecordError
        If another process writes the file at this moment, or it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RecordError(f"{path}: the log cannot be opened: {error.strerror}") from error
        try:
            self._lock()
            self._end = _mend(self._file)
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

    def append(self, record: Mapping[str, Any]) -> tuple[int, int]:
        """Write one record; return its offset and length in bytes.

        Raises
        ------
        RecordError
            If the disk is full or fails; the file is left without a half line.
        """
        line = json.dumps(record, separators=(", ", ": ")).encode("ascii") + b"\n"
        start, left = self._end, line
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            os.ftruncate(self._file, start)
            raise RecordError(f"{self.path}: the log cannot be written: {error.strerror}") from error
        self._end = start + len(line)
        return start, len(line)

    def close(self) -> None:
        """Bring the file to disk and give up the lock. May be called twice."""
        if self._file >= 0:
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> AppendLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _mend(file: int) -> int:
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
    try:
        json.loads(torn)
    except ValueError:
        os.ftruncate(file, whole)
        return whole
    os.write(file, b"\n")
    return size + 1


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


def parse(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, or None where it is corrupt.

    Raises
    ------
    RecordError
        If a newer version wrote it.
    """
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or not isinstance(record.get("key"), str):
        return None
    version = record.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise RecordError(
            f"a log line has schema_version {version}; this cortexdsl reads up to {SCHEMA_VERSION}: update it"
        )
    return record

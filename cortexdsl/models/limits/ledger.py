"""The ledger of an experiment: one small file with what all its jobs have spent and reserved, changed under a lock.

The lock is a record lock (`fcntl`), which shared file systems have too, held for a read and a write of 60 bytes; the
operating system gives up the locks of a process that dies. Everything that a job books is added before its call is
sent, so that a killed job leaves its reservations standing: those calls were sent.
"""

from __future__ import annotations

import fcntl
import logging
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import add, sub
from pathlib import Path
from typing import NamedTuple

from cortexdsl.errors import RecordError

NAME = ".ledger"
_MARK = b"ledger 2"
_LINE, _CRC = struct.Struct("<8sQQddQQ"), struct.Struct("<I")
_LENGTH = _LINE.size + _CRC.size
_say = logging.getLogger(__name__)


class Spent(NamedTuple):
    """What was spent.

    Attributes
    ----------
    calls : int
        Attempts: every request that was sent, also one that failed and was sent again.
    tokens : int
        In and out; of calls in flight the estimate that they are reserved with.
    dollars : float
    seconds : float
        That jobs ran, summed over jobs.
    replies, failed : int
        Calls that ended with a reply or as a failure that is data; those of them that are failures.
    """

    calls: int = 0
    tokens: int = 0
    dollars: float = 0.0
    seconds: float = 0.0
    replies: int = 0
    failed: int = 0

    def plus(self, other: Spent) -> Spent:
        """Return the sum of two."""
        return Spent._make(map(add, self, other))

    def minus(self, other: Spent) -> Spent:
        """Return the difference of two."""
        return Spent._make(map(sub, self, other))


class Ledger:
    """What the jobs of an experiment have spent together.

    Parameters
    ----------
    folder : Path or None
        Where the file lies; None keeps the sum to this process.
    earlier : callable
        What was spent before there was a ledger: asked once, by whoever makes the file, or finds it unreadable.
    """

    def __init__(self, folder: Path | None, earlier: Callable[[], Spent] = Spent) -> None:
        self._path = folder / NAME if folder is not None else None
        self._earlier = earlier
        self._sum = Spent() if folder is not None else earlier()
        self._file = -1
        self._has_locks = True
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            except OSError as error:
                raise self._error(error) from error

    @property
    def sum(self) -> Spent:
        """The sum at the last look."""
        return self._sum

    @contextmanager
    def entry(self) -> Iterator[Callable[[Spent], None]]:
        """Hold the lock: `sum` is then exact, and the function that is given adds to it."""
        if self._file < 0:
            yield self._add
            return
        self._lock(fcntl.LOCK_EX)
        try:
            self._sum = self._read()
            yield self._write
        finally:
            self._lock(fcntl.LOCK_UN)

    def _add(self, cost: Spent) -> None:
        # Rounding, and a ledger that was made anew meanwhile, may leave a little below zero.
        self._sum = Spent._make(max(0, value) for value in self._sum.plus(cost))

    def _write(self, cost: Spent) -> None:
        self._add(cost)
        line = _LINE.pack(_MARK, *self._sum)
        try:
            os.pwrite(self._file, line + _CRC.pack(zlib.crc32(line)), 0)
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: OSError) -> RecordError:
        return RecordError(f"{self._path}: the ledger of what is spent cannot be written: {error.strerror}")

    def _read(self) -> Spent:
        kept = os.pread(self._file, _LENGTH, 0)
        found = read_spent(kept)
        if found is None:
            if kept:
                _say.warning("%s: the ledger cannot be read; it is made anew from the call logs", self._path)
            found = self._earlier()
        return found

    def _lock(self, operation: int) -> None:
        try:
            if self._has_locks:
                fcntl.lockf(self._file, operation, 1)
        except OSError as error:
            self._has_locks = False
            _say.warning(
                "%s: this file system has no locks (%s); with several jobs at once limits hold only nearly",
                self._path, error.strerror,
            )  # fmt: skip

    def close(self) -> None:
        """Close the file. May be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read_spent(kept: bytes) -> Spent | None:
    """Return the sum that a ledger holds, or None where it is not to be believed."""
    line = kept[: _LINE.size]
    if len(kept) != _LENGTH or _CRC.pack(zlib.crc32(line)) != kept[_LINE.size :]:
        return None
    mark, *values = _LINE.unpack(line)
    return Spent(*values) if mark == _MARK else None


def spent_so_far(folder: Path) -> Spent:
    """Return what the ledger in a folder says; an absent or unreadable one says that nothing was spent."""
    try:
        return read_spent((folder / NAME).read_bytes()) or Spent()
    except OSError:
        return Spent()

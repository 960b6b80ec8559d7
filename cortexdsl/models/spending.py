"""The ledger of what an experiment has spent: one small file that all its jobs change under a lock.

The lock is a record lock (`fcntl`), which shared file systems have too; the operating system releases the locks of a
process that dies. The sum is changed with every attempt, and brought to disk when it is closed: it is exact unless the
computer itself stops. If the call logs know of more calls than the ledger, the ledger has lost some, and they count.
"""

from __future__ import annotations

import fcntl
import logging
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cortexdsl.core import NO_USAGE, Usage
from cortexdsl.errors import RecordError
from cortexdsl.files import cannot_write, open_to_write, overwrite, reserve, sync

LEDGER_FILE = ".ledger"
_SUMS = struct.Struct("<8sQQddQQ24x")
_CRC = struct.Struct("<I")
_MARK = b"ledger 3"
_LENGTH = _SUMS.size + _CRC.size
_MARGIN = Usage(attempts=10)
"""What other processes may have booked since this one last looked, if the file is lost."""
_say = logging.getLogger(__name__)


def limited_amounts(usage: Usage) -> dict[str, float]:
    """Return what each limit counts: every attempt is a call."""
    return {
        "calls": usage.attempts, "tokens": usage.tokens, "dollars": usage.dollars, "seconds": usage.seconds,
    }  # fmt: skip


class SpendingLedger:
    """Total spending of all jobs of an experiment.

    Parameters
    ----------
    folder : Path or None
        The folder of the file; None keeps the sum to this process.
    logged : callable
        What the call logs know to be spent; called at the start, and after damage.

    Attributes
    ----------
    fault : RecordError or None
        Why it could not be written: nothing is booked any more.

    Raises
    ------
    RecordError
        If the file cannot be written.
    """

    def __init__(self, folder: Path | None, logged: Callable[[], Usage] = Usage) -> None:
        self._path = folder / LEDGER_FILE if folder is not None else None
        self._logged = logged
        self.fault: RecordError | None = None
        self._file = -1
        self._has_locks = True
        # The logs are read before the ledger: a call is booked before it is logged, so that they never know more.
        self._sum = _as_stored(logged())
        if self._path is not None:
            try:
                self._file = open_to_write(self._path)
                reserve(self._file, 0, _LENGTH)
                self._open(self._sum)
            except OSError as error:
                self._shut()
                raise self._error(error) from error
            except BaseException:
                self._shut()
                raise

    @property
    def sum(self) -> Usage:
        """The sum at the last look; its tokens are all in `input_tokens`."""
        return self._sum

    @contextmanager
    def entry(self) -> Iterator[Callable[[Usage], None]]:
        """Hold the lock: `sum` is then exact, and the function that is given adds to it.

        Raises
        ------
        RecordError
            If the disk is full or fails, or has failed before.
        """
        if self._file < 0:
            yield self._add
            return
        self._lock(fcntl.LOCK_EX)
        try:
            try:
                self._reopen()
                self._read()
            except OSError as error:
                raise self._error(error) from error
            yield self._write
        finally:
            self._lock(fcntl.LOCK_UN)

    def _reopen(self) -> None:
        """Open the file again if its name is gone or names another file; the sum in the old file still counts."""
        assert self._path is not None
        while not _is_named(self._file, self._path):
            if (known := self._entry()) is not None:
                self._sum = _larger(self._sum, known)
            file = open_to_write(self._path)
            os.close(self._file)
            self._file = file
            self._lock(fcntl.LOCK_EX)

    def _add(self, cost: Usage) -> None:
        # Rounding, and a ledger that was rebuilt in the meantime, may leave a little below zero.
        self._sum = _as_stored(self._sum + cost).at_least(NO_USAGE)

    def _write(self, cost: Usage) -> None:
        if self.fault is not None:
            raise RecordError(str(self.fault))
        self._add(cost)
        try:
            self._put_sum()
        except OSError as error:
            raise self._error(error) from error

    def _put_sum(self) -> None:
        assert self._file >= 0
        one = self._sum
        line = _SUMS.pack(_MARK, one.attempts, one.tokens, one.dollars, one.seconds, one.calls, one.failed)
        overwrite(self._file, line + _CRC.pack(zlib.crc32(line)), 0)

    def _error(self, error: OSError) -> RecordError:
        assert self._path is not None
        self.fault = cannot_write(self._path, "the ledger of what is spent cannot be written", error)
        return self.fault

    def _open(self, logged: Usage) -> None:
        """Find out what was spent, although the file may have lost something."""
        self._lock(fcntl.LOCK_EX)
        try:
            is_new, known = not os.pread(self._file, 1, 0), self._entry()
            self._sum = known or NO_USAGE
            if logged.attempts > self._sum.attempts:
                if not is_new:
                    _say.warning("%s: the ledger had lost what the call logs know; it now has their sum", self._path)
                self._sum = _larger(self._sum, logged)
            if self._sum != known:
                self._put_sum()
        finally:
            self._lock(fcntl.LOCK_UN)

    def _read(self) -> None:
        known = self._entry()
        # Only a batch that was not sent lowers the sum: the few calls of one in another process may count twice.
        if known is None or known.attempts < self._sum.attempts:
            self._sum = _larger(self._sum + _MARGIN, _as_stored(self._logged()))
            _say.warning(
                "%s: deleted, damaged or replaced by an earlier copy; %d calls count", self._path, self._sum.attempts
            )
        else:
            self._sum = known

    def _entry(self) -> Usage | None:
        return _read_entry(os.pread(self._file, _LENGTH, 0))

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
        """Bring the exact sum to disk and close the file. May be called twice.

        Raises
        ------
        RecordError
            If the disk is full or fails.
        """
        if self._file < 0:
            return
        try:
            with self.entry():
                if self.fault is None:
                    self._put_sum()
                    sync(self._file)
        except OSError as error:
            raise self._error(error) from error
        finally:
            self._shut()

    def _shut(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _is_named(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False


def _as_stored(usage: Usage) -> Usage:
    """Return a sum as a ledger has it: with what limits count, and all tokens in one field."""
    if not usage.output_tokens:
        return usage
    return Usage(
        attempts=usage.attempts, input_tokens=usage.tokens, dollars=usage.dollars, seconds=usage.seconds,
        calls=usage.calls, failed=usage.failed,
    )  # fmt: skip


def _larger(total: Usage, other: Usage) -> Usage:
    return total.at_least(other) if other.attempts > total.attempts else total


def _read_entry(content: bytes) -> Usage | None:
    line = content[: _SUMS.size]
    if len(content) < _LENGTH or not line.startswith(_MARK) or _CRC.pack(zlib.crc32(line)) != content[len(line) :]:
        return None
    _, attempts, tokens, dollars, seconds, calls, failed = _SUMS.unpack(line)
    return Usage(calls, tokens, 0, dollars, seconds, attempts, failed)


def spent_so_far(folder: Path) -> Usage:
    """Return the sum in the ledger of a folder; zero if it is absent or unreadable."""
    try:
        known = _read_entry((folder / LEDGER_FILE).read_bytes()[:_LENGTH])
    except OSError:
        return NO_USAGE
    return known or NO_USAGE

"""The ledger of what an experiment has spent: one small file that all its jobs change under a lock.

The lock is a record lock (`fcntl`), which shared file systems have too; the operating system releases the locks of a
process that dies. Bringing every change to disk would bound a run by the disk, so the file has two parts:

- The sum, changed with every attempt and not brought to disk. It is exact unless the computer itself stops.
- The promise: a sum that the experiment will not exceed before the promise is renewed. It is on disk before the
  attempts that it covers are sent, as a database reserves numbers of a sequence ahead.

If the computer has restarted since the last change, the promise counts: what it covers may have been sent. The call
logs count as well: if they know of more calls than the ledger, the ledger has lost some.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cortexdsl.core import NO_USAGE, Usage
from cortexdsl.errors import RecordError
from cortexdsl.files import cannot_write, open_to_write, overwrite, reserve, sync

LEDGER_FILE = ".ledger"
_SUMS = struct.Struct("<8sQQddQQ")
_REST = struct.Struct("<Q8s8s")  # of the sum: calls of the promise, host, start of the system; of a promise: its number
_CRC = struct.Struct("<I")
_SUM, _PROMISE = b"ledger 3", b"promise3"
_LENGTH = _SUMS.size + _REST.size + _CRC.size
_PLACES = (4096, 8192)  # of promises, in turn: a torn one leaves the one before it
_FEWEST, _MOST = 10, 1000
_say = logging.getLogger(__name__)


def limited_amounts(usage: Usage) -> dict[str, float]:
    """Return what each limit counts: every attempt is a call."""
    return {
        "calls": usage.attempts, "tokens": usage.tokens, "dollars": usage.dollars, "seconds": usage.seconds,
    }  # fmt: skip


def ahead_of(total: Usage, attempts: int | None) -> Usage:
    """Return the promise for a sum: a tenth more attempts (10 at least, 1,000 at most), each at the mean cost.

    Parameters
    ----------
    total : Usage
        With the attempt that is about to be sent.
    attempts : int or None
        The limit of attempts, which the promise does not exceed.
    """
    more = min(_MOST, max(_FEWEST, total.attempts // 10))
    if attempts is not None:
        more = max(0, min(more, attempts - total.attempts))
    done = max(1, total.attempts)
    return total + Usage(attempts=more, input_tokens=more * total.tokens // done, dollars=more * total.dollars / done)


class SpendingLedger:
    """Total spending of all jobs of an experiment.

    Parameters
    ----------
    folder : Path or None
        The folder of the file; None keeps the sum to this process.
    logged : callable
        What the call logs know to be spent; called at the start, and after damage.
    ahead : callable or None
        The promise for a sum; None if the spending has no limit.

    Attributes
    ----------
    fault : RecordError or None
        Why it could not be written: nothing is booked any more.

    Raises
    ------
    RecordError
        If the file cannot be written.
    """

    def __init__(
        self,
        folder: Path | None,
        logged: Callable[[], Usage] = Usage,
        ahead: Callable[[Usage], Usage] | None = None,
    ) -> None:
        self._path = folder / LEDGER_FILE if folder is not None else None
        self._ahead = ahead
        self._logged = logged
        self._promised = 0
        self.fault: RecordError | None = None
        self._file = -1
        self._has_locks = True
        self._origin = _digest(socket.gethostname()), _digest(last_start())
        # The logs are read before the ledger: a call is booked before it is logged, so that they never know more.
        self._sum = _as_stored(logged())
        if self._path is not None:
            try:
                self._file = open_to_write(self._path)
                reserve(self._file, 0, _PLACES[-1] + _LENGTH)
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
                self._sum = _larger(self._sum, known.usage)
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
            if self._ahead is not None and self._sum.attempts > self._promised:
                self._promise(self._ahead(self._sum))
            self._put_sum()
        except OSError as error:
            raise self._error(error) from error

    def _put_sum(self) -> None:
        assert self._file >= 0
        _put(self._file, _SUM, self._sum, _REST.pack(self._promised, *self._origin), 0)

    def _promise(self, spending: Usage) -> None:
        """Bring a promise to disk."""
        number = 1 + max((promise.number for promise in self._promises()), default=0)
        _put(self._file, _PROMISE, spending, _REST.pack(number, *self._origin), _PLACES[number % 2])
        sync(self._file)
        self._promised = spending.attempts

    def _error(self, error: OSError) -> RecordError:
        assert self._path is not None
        self.fault = cannot_write(self._path, "the ledger of what is spent cannot be written", error)
        return self.fault

    def _open(self, logged: Usage) -> None:
        """Find out what was spent, although the file may have lost something."""
        self._lock(fcntl.LOCK_EX)
        try:
            is_new, entry = not os.pread(self._file, 1, 0), self._entry()
            known = None if entry is None else entry.usage
            was_cut = entry is not None and entry.host == self._origin[0] and entry.start != self._origin[1]
            total = known or NO_USAGE
            promises = sorted(self._promises(), key=lambda promise: promise.number)
            if promises and (known is None or was_cut):
                total = _larger(total, promises[-1].usage)
            if known is not None and total.attempts > known.attempts:
                _say.warning(
                    "%s: the computer stopped during the run; %d calls that may have been sent count as spent",
                    self._path, total.attempts - known.attempts,
                )  # fmt: skip
            if logged.attempts > total.attempts:
                if not is_new:
                    _say.warning("%s: the ledger had lost what the call logs know; it now has their sum", self._path)
                total = _larger(total, logged)
            elif known is None and not is_new:
                _say.warning("%s: the ledger could not be read; its copy was used", self._path)
            self._sum, self._promised = total, 0 if was_cut or entry is None else entry.number
            if total != known or was_cut:
                self._put_sum()
        finally:
            self._lock(fcntl.LOCK_UN)

    def _read(self) -> None:
        entry = self._entry()
        # Only a batch that was not sent lowers the sum: the few calls of one in another process may count twice.
        if entry is None or entry.usage.attempts < self._sum.attempts:
            self._sum, self._promised = self._restored(), 0
            _say.warning(
                "%s: deleted, damaged or replaced by an earlier copy; %d calls count", self._path, self._sum.attempts
            )
        else:
            self._sum, self._promised = entry.usage, entry.number

    def _entry(self) -> _Entry | None:
        return _read_entry(os.pread(self._file, _LENGTH, 0))

    def _promises(self) -> list[_Entry]:
        """Return the promises on disk with their numbers."""
        entries = (_read_entry(os.pread(self._file, _LENGTH, place), _PROMISE) for place in _PLACES)
        return [entry for entry in entries if entry is not None]

    def _restored(self) -> Usage:
        """Return the most that may be spent: what was promised ahead of this process's last look, or is logged."""
        seen = self._ahead(self._sum) if self._ahead is not None else self._sum
        return _larger(seen, _as_stored(self._logged()))

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
                if self.fault is None and (self._ahead is None or self._promised != self._sum.attempts):
                    self._promise(self._sum)
                    self._put_sum()
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


def _put(file: int, mark: bytes, sums: Usage, rest: bytes, place: int) -> None:
    values = sums.attempts, sums.tokens, sums.dollars, sums.seconds, sums.calls, sums.failed
    line = _SUMS.pack(mark, *values) + rest
    overwrite(file, line + _CRC.pack(zlib.crc32(line)), place)


def _larger(total: Usage, other: Usage) -> Usage:
    return total.at_least(other) if other.attempts > total.attempts else total


class _Entry(NamedTuple):
    """A sum with the calls that its promise covers, or a promise with its number; and who wrote it."""

    usage: Usage
    number: int
    host: bytes
    start: bytes


def _read_entry(content: bytes, mark: bytes = _SUM) -> _Entry | None:
    line = content[: _LENGTH - _CRC.size]
    if len(content) < _LENGTH or not line.startswith(mark) or _CRC.pack(zlib.crc32(line)) != content[len(line) :]:
        return None
    _, attempts, tokens, dollars, seconds, calls, failed = _SUMS.unpack_from(content)
    usage = Usage(calls, tokens, 0, dollars, seconds, attempts, failed)
    return _Entry(usage, *_REST.unpack_from(content, _SUMS.size))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest()


@cache
def last_start() -> str:
    """Return what identifies the last start of this computer; empty if the system does not tell it."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def spent_so_far(folder: Path) -> Usage:
    """Return the sum in the ledger of a folder; zero if it is absent or unreadable."""
    try:
        entry = _read_entry((folder / LEDGER_FILE).read_bytes()[:_LENGTH])
    except OSError:
        return NO_USAGE
    return NO_USAGE if entry is None else entry.usage

"""Locks on calls: of two jobs that need the same call at the same moment, one sends it.

All processes append to one file, in entries of eight bytes: the name of a call that is wanted, or a mark that a call
was logged. The lock of a call covers one byte, at the number of the first entry with its name. Calls that a process
asks for together get adjacent bytes, which the operating system keeps as one range: 50,000 calls holds a few
ranges, and not 50,000 locks that are all compared with each other. The operating system releases the locks
of a process that dies.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from types import TracebackType

from cortexdsl.files import cannot_write, open_to_write
from cortexdsl.models.call_log.index import name_of

_ENTRY = 8
_LOGGED = bytes(_ENTRY)
_OPEN = 2**62
"""The byte that every process which has the file open holds a shared lock on."""
_FIRST_WAIT, _LONGEST_WAIT = 0.02, 0.5


class CallLocks:
    """The locks of one process in one folder.

    If the file system has no record locks, every lock is granted at once: calls may then be sent twice, and each job
    uses the reply that it received itself.
    """

    def __init__(self, folder: Path, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        path = folder / ".claims"
        try:
            self._file = open_to_write(path, append=True, durable=False)
        except OSError as error:
            raise cannot_write(path, "the locks on calls cannot be opened", error) from error
        self._sleep = sleep
        self._forget()
        self._written = 0
        self._seen = -1
        with suppress(OSError):
            if _is_granted(self._file, _OPEN):  # no other process has it open: entries of earlier runs are not needed
                os.ftruncate(self._file, 0)
            fcntl.lockf(self._file, fcntl.LOCK_SH, 1, _OPEN)

    def on(self, key: str) -> AbstractAsyncContextManager[None]:
        """Return a context that holds the lock on a key, and waits while another process holds it."""
        return _Lock(self._file, self._position(name_of(key)[-_ENTRY:]), self._sleep)

    def _position(self, name: bytes) -> int | None:
        """Return the byte of a call; None if the file cannot be written."""
        if name not in self._positions:
            self._catch_up()
        if name not in self._positions:
            with suppress(OSError):  # a full disk: then logging fails as well, and the log reports it
                os.write(self._file, name)
            self._catch_up()
        return self._positions.get(name)

    def _forget(self) -> None:
        self._positions: dict[bytes, int] = {}
        self._entries = self._logged = 0

    def _catch_up(self) -> None:
        """Read the entries that are new."""
        size = os.fstat(self._file).st_size
        if size < self._entries * _ENTRY:  # opened again by this process, which was alone
            self._forget()
        start = self._entries * _ENTRY
        content = os.pread(self._file, size - start, start) if size > start else b""
        for at in range(0, len(content) - _ENTRY + 1, _ENTRY):
            name = content[at : at + _ENTRY]
            if name == _LOGGED:
                self._logged += 1
            else:
                self._positions.setdefault(name, self._entries)
            self._entries += 1

    def tell(self) -> None:
        """Tell other processes that a call was logged here; to be called while its lock is held."""
        with suppress(OSError):  # a full disk: then logging fails as well, and the log reports it
            self._written += os.write(self._file, _LOGGED) == _ENTRY

    def has_news(self) -> bool:
        """Say whether another process has logged a call since the last check."""
        self._catch_up()
        others = self._logged - self._written
        is_new, self._seen = others != self._seen, others
        return is_new

    def close(self) -> None:
        """Release all locks. May be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _is_granted(file: int, position: int) -> bool:
    """Take the lock on a byte if no other process holds it.

    Raises
    ------
    OSError
        If the file system has no record locks.
    """
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, position)
    except (BlockingIOError, PermissionError):  # POSIX allows EAGAIN and EACCES for a lock that is held
        return False
    return True


class _Lock(AbstractAsyncContextManager[None]):
    def __init__(self, file: int, position: int | None, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._file, self._position, self._sleep = file, position, sleep

    async def __aenter__(self) -> None:
        wait = _FIRST_WAIT
        with suppress(OSError):
            while self._position is not None and not _is_granted(self._file, self._position):
                await self._sleep(wait)
                wait = min(_LONGEST_WAIT, 2 * wait)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._position is not None:
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._position)

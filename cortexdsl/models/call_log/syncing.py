"""The logs that one job writes, brought to disk together: in time, before a record is written, and at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from cortexdsl.errors import RecordError
from cortexdsl.files import cannot_write, sync_path
from cortexdsl.models.call_log.append_log import SYNC_EVERY, AppendLog
from cortexdsl.models.call_log.folder import CallLogs


class LogSyncs:
    """Brings the logs of a job to disk, and notices if the disk is full or fails.

    Parameters
    ----------
    logs : CallLogs
        Of the job.
    clock : callable
        Seconds.
    """

    def __init__(self, logs: CallLogs, clock: Callable[[], float]) -> None:
        self._logs, self._clock = [logs], clock
        self._running: asyncio.Future[None] | None = None
        self._synced_at = clock()

    def add(self, logs: CallLogs) -> None:
        """Sync and close other logs together with the call logs."""
        self._logs.append(logs)

    @property
    def _writers(self) -> list[AppendLog]:
        return [logs.writer for logs in self._logs if logs.writer is not None]

    def check(self) -> None:
        """Raise an error if nothing more should be sent, because its reply might not be kept.

        Raises
        ------
        RecordError
        """
        for log in self._writers:
            if log.fault is not None:
                raise RecordError(str(log.fault))

    def sync_if_due(self, within: float) -> None:
        """Start a sync, unless the last one is recent enough to wait for another `within` seconds."""
        is_due = self._clock() - self._synced_at >= SYNC_EVERY - within
        if self._writers and is_due and (self._running is None or self._running.done()):
            self._synced_at = self._clock()
            self._running = asyncio.get_running_loop().run_in_executor(None, self._sync, ())
            self._running.add_done_callback(lambda done: done.exception())  # the log keeps it as its fault

    async def sync(self) -> None:
        """Bring to disk all that this job's results come from: its own logs, and the logs of other jobs that it reads.

        Raises
        ------
        RecordError
            If the disk fails or has failed: no result may be written.
        """
        if not self._writers:
            return
        self._synced_at = self._clock()
        grown = self._logs[0].grown()
        await asyncio.get_running_loop().run_in_executor(None, self._sync, [path for path, _ in grown])
        self._logs[0].note_synced(grown)

    def _sync(self, others: Sequence[Path]) -> None:
        for log in self._writers:
            log.sync()
        for path in others:
            try:
                with suppress(FileNotFoundError):
                    sync_path(path)
            except OSError as error:
                raise cannot_write(path, "the log cannot be brought to disk", error) from error

    async def close(self) -> RecordError | None:
        """Sync and close all logs; return the first error."""
        if self._running is not None:
            await asyncio.wait([self._running])
        faults: list[RecordError] = []
        for logs in self._logs:
            try:
                logs.close()
            except RecordError as error:
                faults.append(error)
        return faults[0] if faults else None

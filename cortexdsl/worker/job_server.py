"""The worker's second process: a job server, which runs all jobs that wait for model servers in one event loop.

These jobs share the connections, the budget, and the replies to equal calls. The fork server sends each job with the
connection of its client; the job ends when the client ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass

from cortexdsl.worker.client import DECLINED, receive, send

Attend = Callable[[Sequence[str]], Awaitable[tuple[int, str]]]


class DeclinedError(Exception):
    """The job is not run here: it runs itself."""


@dataclass(slots=True)
class _ErrorFile:
    """The error output of a job; None once the job has ended, because tasks that it started may outlive it."""

    file: int | None


_ERRORS: ContextVar[_ErrorFile] = ContextVar("_ERRORS")
STDERR = 2


class JobLogHandler(logging.Handler):
    """Writes a warning into the log of its job; into the worker's own log if it has no job."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a warning."""
        errors = _ERRORS.get(None)
        file = STDERR if errors is None or errors.file is None else errors.file
        try:
            os.write(file, f"{self.format(record)}\n".encode(errors="backslashreplace"))
        except OSError:  # the client has ended, or the disk is full
            return


def log_to_jobs() -> None:
    """Write warnings of this process where the job itself would have written them."""
    logging.captureWarnings(True)
    logging.getLogger().addHandler(JobLogHandler(logging.WARNING))


async def serve_jobs(channel: socket.socket, attend: Attend) -> None:
    """Run each job that arrives, all at the same time, until the channel ends; then stop the remaining ones.

    Parameters
    ----------
    channel : socket
        Messages of the arguments of a job, with the files (connection, errors).
    attend : callable
        Runs a job: from its arguments to its exit status and its message.
    """
    loop, ended, jobs = asyncio.get_running_loop(), asyncio.Event(), set[asyncio.Task[None]]()

    def arrived() -> None:
        message = receive(channel)
        if message is None:
            loop.remove_reader(channel)
            ended.set()
            return
        arguments, (connection, errors) = message
        job = loop.create_task(_attend(socket.socket(fileno=connection), errors, arguments, attend))
        jobs.add(job)
        job.add_done_callback(jobs.discard)

    loop.add_reader(channel, arrived)
    await ended.wait()
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)


async def _attend(connection: socket.socket, errors: int, arguments: Sequence[str], attend: Attend) -> None:
    loop, me, error_file = asyncio.get_running_loop(), asyncio.current_task(), _ErrorFile(errors)
    assert me is not None
    _ERRORS.set(error_file)  # for this task and those that it starts
    try:
        answer = DECLINED
        loop.add_reader(connection, me.cancel)  # readable means ended: a client sends nothing more
        with suppress(DeclinedError):
            status, text = await attend(arguments)
            if text:
                os.write(errors, f"{text}\n".encode(errors="backslashreplace"))
            answer = str(status)
        loop.remove_reader(connection)
        send(connection, [answer])
    except OSError:
        return  # the client has ended
    finally:
        loop.remove_reader(connection)
        error_file.file = None
        os.close(errors)
        connection.close()

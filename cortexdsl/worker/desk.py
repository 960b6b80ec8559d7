"""The worker's second process: it attends to all jobs that wait for model servers, in one event loop.

What these jobs need is not processors but patience: one loop has one gate for each endpoint, one set of connections,
one budget, and sees that two jobs ask the same. It is handed each job with the connection of the job's client, whose
end is the end of the job.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass

from cortexdsl.worker.client import DECLINED
from cortexdsl.worker.wire import receive, send

Attend = Callable[[Sequence[str]], Awaitable[tuple[int, str]]]
OF_ONE_JOB = {"_", "SHLVL", "PWD", "OLDPWD", "PATH", "TMPDIR", "TMP", "TEMP", "TEMPDIR", "LINES", "COLUMNS"}
OF_PROGRAMS = ("BASH_FUNC_", "CORTEXDSL_", "SNAKEMAKE_")
"""What a shell and Snakemake set anew for each job, and no call to a model depends on."""


class DeclinedError(Exception):
    """A job is not attended to here: it runs itself."""


@dataclass(slots=True)
class Errors:
    """Where a job's errors go while it is attended to; what it began may outlive it, and the file is then gone."""

    file: int | None


_ERRORS: ContextVar[Errors] = ContextVar("_ERRORS")
STDERR = 2


class ToTheJob(logging.Handler):
    """Writes a warning into the log of the job that it is about; into the worker's own where it is about none."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a warning."""
        errors = _ERRORS.get(None)
        file = STDERR if errors is None or errors.file is None else errors.file
        try:
            os.write(file, f"{self.format(record)}\n".encode(errors="backslashreplace"))
        except OSError:  # the client has gone, or the disk is full
            return


def warn_jobs() -> None:
    """Have what this process warns of stand where the job itself would have written it."""
    logging.captureWarnings(True)
    logging.getLogger().addHandler(ToTheJob(logging.WARNING))


async def attend_all(channel: socket.socket, attend: Attend) -> None:
    """Attend to each job that arrives, at the same time, until the channel ends; then stop those that are left.

    Parameters
    ----------
    channel : socket
        Brings (folder, length of the arguments, arguments, environment) with the files (connection, errors).
    attend : callable
        From a job's arguments to its exit status and what it says.
    """
    loop, ended, jobs = asyncio.get_running_loop(), asyncio.Event(), set[asyncio.Task[None]]()
    home = os.getcwd()  # noqa: PTH109 (as clients say it)

    def arrived() -> None:
        asked = receive(channel)
        if asked is None:
            loop.remove_reader(channel)
            ended.set()
            return
        (folder, length, *said), (connection, errors) = asked
        arguments, environment = said[: int(length)], said[int(length) :]
        named = (each.partition("=")[::2] for each in environment)
        is_at_home = folder == home and is_known(dict(named))
        job = loop.create_task(_attend(socket.socket(fileno=connection), errors, arguments, attend, is_at_home))
        jobs.add(job)
        job.add_done_callback(jobs.discard)

    loop.add_reader(channel, arrived)
    await ended.wait()
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)


def is_known(environment: Mapping[str, str]) -> bool:
    """Say whether this process has each variable of a job's environment on which a call to a model may depend.

    It may have more: libraries that it has imported set some for themselves.
    """
    own = {name for name in environment if name.startswith(OF_PROGRAMS) or name.endswith("_THREADS")} | OF_ONE_JOB
    return all(os.environ.get(name) == value for name, value in environment.items() if name not in own)


async def _attend(
    connection: socket.socket, errors: int, arguments: Sequence[str], attend: Attend, is_at_home: bool
) -> None:
    loop, me, told = asyncio.get_running_loop(), asyncio.current_task(), Errors(errors)
    assert me is not None
    _ERRORS.set(told)  # of this task and of those that it starts
    try:
        answer = DECLINED
        if is_at_home:
            loop.add_reader(connection, me.cancel)  # the client says no more: it has gone
            with suppress(DeclinedError):
                status, said = await attend(arguments)
                if said:
                    os.write(errors, f"{said}\n".encode(errors="backslashreplace"))
                answer = str(status)
        loop.remove_reader(connection)
        send(connection, [answer])
    except OSError:
        return  # the client has gone at the last moment
    finally:
        loop.remove_reader(connection)
        told.file = None
        os.close(errors)
        connection.close()

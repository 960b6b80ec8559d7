"""A job's side: hand the job to the worker of this run, and pass on how it ended."""

import os
import select
import socket
from collections.abc import Sequence

from cortexdsl import __file__ as package
from cortexdsl import __version__
from cortexdsl.worker.holder import watched_run
from cortexdsl.worker.wire import ADDRESS, receive, send

RUN_ENDED = 75  # as sysexits.h has it: try again later


DECLINED = "declined"
"""The answer where a job is not taken; otherwise it is the exit status."""


def edition() -> str:
    """What this program is, so that a worker of another installation is not asked."""
    return f"{__version__} {package}"


def hand_over(arguments: Sequence[str]) -> int | None:
    """Have the worker run a verb with this process's folder, environment and open files.

    Returns
    -------
    int or None
        The exit status; None where there is no worker, it does not take the job, or it was lost before it said how
        the job ended: run the verb here. A lost worker's job has ended before None is returned.
    """
    address = os.environ.get(ADDRESS)
    if not address:
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(address)
            environment = (f"{name}={value}" for name, value in os.environ.items())
            folder = os.getcwd()  # noqa: PTH109 (pathlib would be most of this module's imports)
            send(connection, [edition(), folder, str(len(arguments)), *arguments, *environment], [0, 1, 2])
        except OSError:
            return None
        if not _waited(connection):
            return RUN_ENDED
        answer = receive(connection)
    return int(answer[0][0]) if answer is not None and answer[0][0].isdigit() else None


def _waited(connection: socket.socket) -> bool:
    """Wait for an answer; say whether the run still goes on."""
    watched = watched_run()
    files = [connection.fileno(), *([watched] if watched is not None else [])]
    ready, _, _ = select.select(files, [], [])
    return watched not in ready

"""A job's side of the worker: hand the job over, and pass on its exit status; and the messages of both sides.

A message is a list of texts (arguments, folder, environment: none can contain a NUL), sent over a Unix socket together
with open files. Every job imports this module first, so it imports little: `_socket`, because `socket` and the
modules that it imports take as long as all else that a job does before it is handed over.
"""

from __future__ import annotations

import _socket
import os
import select
import struct

from cortexdsl import __file__ as package
from cortexdsl import __version__
from cortexdsl.worker.process import watched_run

TYPE_CHECKING = False  # that of typing takes some milliseconds, too
if TYPE_CHECKING:
    from collections.abc import Sequence

ADDRESS = "CORTEXDSL_WORKER"
"""The environment variable with the path of the worker's socket."""
DECLINED = "declined"
"""The answer if the worker does not run the job; otherwise the answer is the exit status."""
RUN_ENDED = 75  # EX_TEMPFAIL of sysexits.h

_LENGTH = 8
_MOST_FILES = 3
_FILE = struct.Struct("i")


def send(connection: _socket.socket, texts: Sequence[str], files: Sequence[int] = ()) -> None:
    """Send a message, and open files with it.

    Raises
    ------
    OSError
        The other end is closed.
    """
    body = b"\0".join(map(os.fsencode, texts))
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack(f"{len(files)}i", *files))] if files else []
    connection.sendmsg([len(body).to_bytes(_LENGTH, "big")], rights)
    connection.sendall(body)


def receive(connection: _socket.socket) -> tuple[list[str], list[int]] | None:
    """Return the next message and the files sent with it, or None if the other end is closed."""
    try:
        head, rights, _, _ = connection.recvmsg(_LENGTH, _socket.CMSG_LEN(_MOST_FILES * _FILE.size))
        length = int.from_bytes(head + _exactly(connection, _LENGTH - len(head)), "big")
        body = _exactly(connection, length)
    except (OSError, EOFError):
        return None
    files = [
        file
        for level, kind, data in rights
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS)
        for (file,) in _FILE.iter_unpack(data[: len(data) - len(data) % _FILE.size])
    ]
    return list(map(os.fsdecode, body.split(b"\0"))), files


def _exactly(connection: _socket.socket, length: int) -> bytes:
    body = bytearray()
    while len(body) < length:
        more = connection.recv(length - len(body))
        if not more:
            raise EOFError
        body += more
    return bytes(body)


def edition() -> str:
    """Return the version and place of this program; a worker declines jobs of another one."""
    return f"{__version__} {package}"


def hand_over(arguments: Sequence[str]) -> int | None:
    """Have the worker run a verb with this process's folder, environment and open files.

    Returns
    -------
    int or None
        The exit status. None if the caller must run the verb itself: there is no worker, it declines, or it was lost
        before it reported the exit status. A lost worker's process for this job has ended before None is returned.
    """
    address = os.environ.get(ADDRESS)
    if not address:
        return None
    connection = _socket.socket(_socket.AF_UNIX)
    try:
        try:
            connection.connect(address)
            environment = (f"{name}={value}" for name, value in os.environ.items())
            folder = os.getcwd()  # noqa: PTH109 (importing pathlib would take most of this module's time)
            send(connection, [edition(), folder, str(len(arguments)), *arguments, *environment], [0, 1, 2])
        except OSError:
            return None
        if not _wait(connection):
            return RUN_ENDED
        answer = receive(connection)
    finally:
        connection.close()
    return int(answer[0][0]) if answer is not None and answer[0][0].isdigit() else None


def _wait(connection: _socket.socket) -> bool:
    """Wait for an answer; return False if the run ended instead."""
    watched = watched_run()
    files = [connection.fileno(), *([watched] if watched is not None else [])]
    ready, _, _ = select.select(files, [], [])
    return watched not in ready

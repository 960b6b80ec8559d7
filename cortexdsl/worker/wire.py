"""How a job and the worker talk: one message each way over a Unix socket, open files handed along with it.

A message is a list of texts: what a command line, a folder and an environment are made of, none of which can hold a
NUL. Every job pays for the imports of this module, so that they are few.
"""

import os
import socket
from collections.abc import Sequence

ADDRESS = "CORTEXDSL_WORKER"
"""The environment variable that names the worker's socket to jobs."""

_LENGTH = 8
_MOST_FILES = 3


def send(connection: socket.socket, texts: Sequence[str], files: Sequence[int] = ()) -> None:
    """Send a message, and open files with it.

    Raises
    ------
    OSError
        The other end has gone.
    """
    said = b"\0".join(map(os.fsencode, texts))
    socket.send_fds(connection, [len(said).to_bytes(_LENGTH, "big")], files)
    connection.sendall(said)


def receive(connection: socket.socket) -> tuple[list[str], list[int]] | None:
    """Return the next message and the files handed along, or None where the other end has gone."""
    try:
        head, files, _, _ = socket.recv_fds(connection, _LENGTH, _MOST_FILES)
        length = int.from_bytes(head + _exactly(connection, _LENGTH - len(head)), "big")
        said = _exactly(connection, length)
    except (OSError, EOFError):
        return None
    return list(map(os.fsdecode, said.split(b"\0"))), files


def _exactly(connection: socket.socket, length: int) -> bytes:
    said = bytearray()
    while len(said) < length:
        more = connection.recv(length - len(said))
        if not more:
            raise EOFError
        said += more
    return bytes(said)

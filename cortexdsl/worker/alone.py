"""One run at a time on an experiment: a lock that dies with its holder, in place of files that stay."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

from cortexdsl.errors import RecordError

NAME = ".run"


def hold(folder: Path) -> int | None:
    """Take the lock of an experiment's folder, for as long as this process lives.

    Returns
    -------
    int or None
        The open file that is the lock; None where the file system has no locks.

    Raises
    ------
    RecordError
        Another run holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(file, 200, 0).decode(errors="replace").strip()
        os.close(file)
        raise RecordError(
            f"{folder}: another run is at work on this experiment ({holder or 'it has not said who it is'})\n"
            "    wait for its end, or stop it: what is finished is kept"
        ) from None
    except OSError:
        os.close(file)
        return None
    os.ftruncate(file, 0)
    os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    return file

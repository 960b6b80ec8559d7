"""One run at a time on an experiment: a lock that dies with its holder, in place of files that stay."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from cortexdsl.errors import RecordError

NAME = ".run"
TRIES, PAUSE = 5, 0.1  # `is_at_work` takes the lock for a moment, which is not another run


def hold(folder: Path, sleep: Callable[[float], None] = time.sleep) -> int | None:
    """Take the lock of an experiment's folder, for as long as this process lives.

    Returns
    -------
    int or None
        The open file that is the lock; None where the file system has no locks.

    Raises
    ------
    RecordError
        Another run holds it, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _unwritable(folder, error) from None
    for tries_left in reversed(range(TRIES)):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if tries_left:
                sleep(PAUSE)
                continue
            holder = os.pread(file, 200, 0).decode(errors="replace").strip()
            os.close(file)
            raise RecordError(
                f"{folder}: another run is at work on this experiment ({holder or 'its process is unknown'})\n"
                "    wait for its end, or stop it: what is finished is kept"
            ) from None
        except OSError:
            os.close(file)
            return None
    try:
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    except OSError as error:
        os.close(file)
        raise _unwritable(folder, error) from None
    return file


def is_at_work(folder: Path) -> bool:
    """Return whether a run holds the lock of an experiment's folder; False if the file system has no locks."""
    try:
        file = os.open(folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(file)
    return False


def _unwritable(folder: Path, error: OSError) -> RecordError:
    return RecordError(
        f"{folder}: cannot be written ({error.strerror})\n"
        "    give yourself the right to write there and free some space, or run in another folder"
    )

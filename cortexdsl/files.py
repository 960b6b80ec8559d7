"""Writing files so that they survive a power cut: every file that results depend on is written by these functions.

Three facts about file systems shape them. Data is on disk only after a sync of its file. A new name is on disk only
after a sync of its folder. And a sync that failed must not be repeated: the system may have dropped the data that it
could not write, and the second sync would succeed without it. So an error of a sync ends the job.

No function here writes through a symbolic link: a results folder from somebody else may hold links to your files.
Every change is a call of `os.NAME` (none of `pathlib`), so that tests can record it, lose it in a power cut, or make it
fail.
"""

# ruff: noqa: PTH102, PTH105, PTH108

from __future__ import annotations

import ctypes
import errno
import os
import re
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from cortexdsl.errors import RecordError

UNKEPT = "could not be kept"
"""In the error of a job that received replies which it could not write."""
_SMALL = 1 << 14
_BUFFER = 1 << 20
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE of Linux
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EROFS, errno.EACCES, errno.EPERM})
_PART = re.compile(r"\..+\.\d+\.part")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def cannot_write(path: Path, what: str, error: OSError) -> RecordError:
    """Return the error that tells the user which file could not be written, why, and what to do.

    Parameters
    ----------
    path : Path
    what : str
        What the file is, and what failed: `the log cannot be written`.
    error : OSError
    """
    if error.errno == errno.ELOOP:
        return RecordError(f"{path}: {what}: it is a link, and results are not written through links\n    remove it")
    if is_full(error):
        remedy = "free some space, then run again: what is finished is kept"
    elif error.errno == errno.EIO:
        remedy = "the disk fails: see the system's log (dmesg), then run again: what is on disk is kept"
    else:
        remedy = "give yourself the right to write there, then run again: what is finished is kept"
    return RecordError(f"{path}: {what}: {error.strerror}\n    {remedy}")


def is_full(error: OSError) -> bool:
    """Say whether an error means that the disk, the quota or the largest size of a file is reached."""
    return error.errno in _FULL


def is_disk_full(path: Path) -> bool:
    """Say whether the disk of a file has no space for one more small file."""
    try:
        state = os.statvfs(path.parent)
    except OSError:
        return False
    return state.f_bavail * state.f_frsize < _SMALL


def make_folders(folder: Path) -> None:
    """Create a folder and its missing parents, and bring their names to disk."""
    if folder.is_dir():
        return
    make_folders(folder.parent)
    with suppress(FileExistsError):
        os.mkdir(folder)
        sync_folder(folder.parent)


def open_to_write(path: Path, *, append: bool = False, durable: bool = True) -> int:
    """Open a file for reading and writing; return its descriptor.

    Parameters
    ----------
    path : Path
        Created with its folders if absent. If it is a link, opening fails with ELOOP.
    append : bool
        Every write goes to the end.
    durable : bool
        Whether the name of a new file is brought to disk.
    """
    make_folders(path.parent)
    is_new = durable and not path.exists()
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_APPEND if append else 0)
    file = os.open(path, flags, 0o644)
    if is_new:
        try:
            sync_folder(path.parent)
        except OSError:
            os.close(file)
            raise
    return file


def append(file: int, data: bytes, end: int) -> None:
    """Append data to a file that ends at byte `end`: all of it, or nothing if the disk is full or fails."""
    try:
        _write(file, data)
    except OSError:
        with suppress(OSError):  # the next writer removes the half line
            os.ftruncate(file, end)
        raise


def _write(file: int, data: bytes) -> None:
    while data:  # a disk that is nearly full takes a part
        data = data[os.write(file, data) :]


def overwrite(file: int, data: bytes, offset: int) -> None:
    """Write data at a position of a file."""
    while data:
        written = os.pwrite(file, data, offset)
        data, offset = data[written:], offset + written


def truncate(file: int, size: int) -> None:
    """Cut a file to a size."""
    os.ftruncate(file, size)


def sync(file: int) -> None:
    """Bring the data of a file to disk. After an error nothing is known of the data: never repeat the call."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(file)


def sync_path(path: Path) -> None:
    """Bring the data of a file to disk that another process or another part of this one writes."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync(file)
    finally:
        os.close(file)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk, if the file system can."""
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(file)


def write_file(path: Path, chunks: Iterable[bytes | memoryview], *, durable: bool = True) -> None:
    """Write a whole file atomically: readers see the old or the new content, also after a power cut.

    Parameters
    ----------
    path : Path
        A missing folder is created. A link is replaced, not followed.
    chunks : iterable of bytes or memoryview
    durable : bool
        Whether the new content is on disk at the end. If not, a power cut may leave the file empty: for files that
        only show what happens at the moment.
    """
    make_folders(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        file = _open_part(part)
        try:
            for block in _blocks(chunks):
                _write(file, block)
            if durable:
                sync(file)
        finally:
            os.close(file)
        os.replace(part, path)
        if durable:
            sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def write_text(path: Path, text: str, *, durable: bool = True) -> None:
    """Write a whole text file in UTF-8, as `write_file` does.

    Raises
    ------
    RecordError
        If the disk is full or fails, or the folder cannot be written.
    """
    try:
        write_file(path, (text.encode("utf-8"),), durable=durable)
    except OSError as error:
        raise cannot_write(path, "the file cannot be written", error) from error


def _open_part(part: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(part, flags, 0o666)
    except FileExistsError:  # left by a process that was killed and had this number; or put there by somebody
        os.unlink(part)
        return os.open(part, flags, 0o666)


def remove_left_parts(folder: Path, age: float = 3600.0) -> None:
    """Remove parts of files that killed processes have left anywhere in a folder, if they are so many seconds old."""
    for part in folder.rglob(".*.part"):
        with suppress(OSError):
            if _PART.fullmatch(part.name) and time.time() - part.lstat().st_mtime > age:
                os.unlink(part)


def _blocks(chunks: Iterable[bytes | memoryview]) -> Iterable[bytes]:
    """Yield the chunks in blocks of `_BUFFER` to twice as many bytes, so that a large file is not copied in memory."""
    block = bytearray()
    for chunk in chunks:
        for start in range(0, len(chunk), _BUFFER):
            block += chunk[start : start + _BUFFER]
            if len(block) >= _BUFFER:
                yield bytes(block)
                block.clear()
    if block:
        yield bytes(block)


def reserve(file: int, start: int, length: int) -> None:
    """Reserve disk space for bytes that will be appended; nothing happens if the system cannot.

    The file's size stays, and so does the time of its last change, by which an index knows whether it is complete.

    Raises
    ------
    OSError
        If the disk is full.
    """
    allocate = _allocate()
    if allocate is None:
        return
    before = os.fstat(file)
    if allocate(file, _KEEP_SIZE, start, length) == 0:
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif is_full(error := OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))):
        raise error


def release(file: int) -> None:
    """Free the space that `reserve` has taken."""
    before = os.fstat(file)
    os.ftruncate(file, before.st_size)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@cache
def _allocate() -> Any:
    """Return `fallocate` of Linux: `os.posix_fallocate` would enlarge the file."""
    if sys.platform != "linux":
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).fallocate
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong)
    return function

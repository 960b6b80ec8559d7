"""Entries of files: what a job wrote, and what is wrong with the file now."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

PAGES = ("report.html", "view.html", "figures", "tables")
"""What the report writes: files and folders."""
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class FileEntry:
    """What a job wrote to a file; the names are those of the manifest.

    Attributes
    ----------
    size : int
        In bytes; of a call log the bytes that it had when its job ended.
    sha256 : str
        Of these bytes.
    modified : int
        Time of the last change in nanoseconds, so that unchanged files need not be read; -1 if it is not known.
    program : str
        Version of the program that wrote it; empty if it is not known. No seal covers it: no verdict depends on it.
    """

    size: int
    sha256: str
    modified: int = -1
    program: str = ""


def is_page(path: str) -> bool:
    """Return whether a path below an experiment's folder is of the report."""
    return path.partition("/")[0] in PAGES


def is_log(path: str) -> bool:
    """Return whether a path below an experiment's folder is a log of calls or searches, which only grows."""
    return not {"calls", "searches"}.isdisjoint(PurePosixPath(path).parts[:-1])


def is_sealed(path: str) -> bool:
    """Return whether a path belongs to what a seal covers."""
    return not (is_page(path) or is_log(path))


def below_root(path: str | Path, root: Path) -> str:
    """Return the path of a file below the folder of its experiment, as entries name it; `results` may be a link."""
    place, folder = (Path(os.path.realpath(each)) for each in (path, root))
    return place.relative_to(folder).as_posix() if place.is_relative_to(folder) else Path(path).as_posix()


def entry_of(path: Path, program: str = "") -> FileEntry:
    """Return the entry of a file as it is now."""
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        return FileEntry(state.st_size, _digest(file, state.st_size), state.st_mtime_ns, program)


def _digest(file: Any, size: int) -> str:
    """Digest the first `size` bytes of an open file."""
    digest, left = sha256(), size
    while left > 0 and (block := file.read(min(_BLOCK, left))):
        digest.update(block)
        left -= len(block)
    return digest.hexdigest()


def damage_of(root: Path, path: str, entry: FileEntry, *, is_quick: bool = False) -> str | None:
    """Return what is wrong with a file, in words; None if it is as it was written.

    Parameters
    ----------
    root : Path
        The experiment's folder.
    path : str
    entry : FileEntry
    is_quick : bool
        Whether a file with the size and time of its entry is believed without being read.
    """
    place = root / path
    try:
        with place.open("rb") as file:
            state = os.fstat(file.fileno())
            if state.st_size < entry.size:
                return "empty" if state.st_size == 0 else f"cut: {state.st_size:,} of {entry.size:,} bytes"
            is_whole = is_log(path) or state.st_size == entry.size
            if is_whole and is_quick and state.st_mtime_ns == entry.modified:
                return None
            if is_whole and _digest(file, entry.size) == entry.sha256:
                return None
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return _change(place) if is_sealed(path) else "changed"


def _change(place: Path) -> str:
    lines = Counter(line for line in place.read_bytes().splitlines() if len(line) > 1)
    return "a line is repeated" if place.suffix == ".jsonl" and max(lines.values(), default=1) > 1 else "changed"

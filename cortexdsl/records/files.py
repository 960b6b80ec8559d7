"""Whole files or nothing: what is written appears at once, and a crash leaves what was there before."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from cortexdsl.seals import sync_folder


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file atomically: a temporary file beside it, fsync, rename, fsync of the folder.

    Parameters
    ----------
    path : Path
        Its folder is made where it is missing.
    lines : iterable of str
        Without their line ends; encoded in UTF-8, lone surrogates as `\\udc80`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            for line in lines:
                stream.write(line + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
        sync_folder(path.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise

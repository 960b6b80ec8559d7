"""Checksums of lines, and files that are whole or not there at all.

A line of JSON with a checksum ends with `,"checksum":"xxxxxxxx"}`, the CRC-32 (of zlib, eight hexadecimal digits) of
all bytes before that comma. It detects every error of up to 32 neighbouring bits and every single bit. It does not
protect from deliberate forgery.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from cortexdsl.files import append, cannot_write, open_to_write, sync, write_file

_SEAL = re.compile(rb',"checksum":"([0-9a-f]{8})"\}$')
_LENGTH = len(b',"checksum":"00000000"}')


class LineState(Enum):
    """The check of a line: its checksum fits, does not fit, or is absent."""

    WHOLE = "whole"
    BROKEN = "broken"
    ABSENT = "absent"


def with_checksum(text: str) -> str:
    """Return a line of JSON, an object in ASCII with at least one field, with its checksum as the last field."""
    body = text[:-1]
    return f'{body},"checksum":"{zlib.crc32(body.encode("ascii")):08x}"}}'


def line_state(line: bytes) -> LineState:
    """Check the checksum of a line, which may end in a line break."""
    if line.endswith((b"\n", b"\r")):
        line = line.rstrip(b"\r\n")
    if line.endswith(b',"checksum":"%08x"}' % zlib.crc32(line[:-_LENGTH])):
        return LineState.WHOLE
    return LineState.ABSENT if _SEAL.search(line, max(0, len(line) - _LENGTH)) is None else LineState.BROKEN


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file atomically; it is on disk at the end.

    Parameters
    ----------
    path : Path
        A missing folder is created.
    lines : iterable of str
        Without their line ends; encoded in UTF-8, lone surrogates as `\\udc80`.

    Raises
    ------
    RecordError
        If the disk is full or fails, or the folder cannot be written.
    """
    try:
        write_file(path, ((line + "\n").encode("utf-8", "backslashreplace") for line in lines))
    except OSError as error:
        raise cannot_write(path, "the file cannot be written", error) from error


def append_lines(path: Path, lines: Iterable[str], *, durable: bool = False) -> None:
    """Append lines in ASCII in one write, below a line that a crash may have cut off.

    Parameters
    ----------
    path : Path
        Created if absent.
    lines : iterable of str
        Without their line ends; the caller keeps other writers away.
    durable : bool
        Whether they are on disk at the end.

    Raises
    ------
    RecordError
        If the disk is full or fails, or the file cannot be written.
    """
    data = "".join(f"{line}\n" for line in lines).encode("ascii")
    if not data:
        return
    try:
        file = open_to_write(path, append=True)
        try:
            size = os.fstat(file).st_size
            torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            append(file, b"\n" * torn + data, size)
            if durable:
                sync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise cannot_write(path, "the file cannot be written", error) from error

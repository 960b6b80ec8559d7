"""What keeps a file as it was written: seals, and the way to disk.

A seal is the checksum that ends every line of JSON that is kept, so that no flipped bit is taken for what was said.
A sealed line ends with `,"checksum":"xxxxxxxx"}`, the CRC-32 (zlib's, eight hexadecimal digits) of all bytes before
that comma. It finds every flip of up to 32 neighbouring bits and every single flip wherever it is; it is no defence
against somebody who means to forge.
"""

from __future__ import annotations

import os
import re
import zlib
from enum import Enum
from pathlib import Path

_SEAL = re.compile(rb',"checksum":"([0-9a-f]{8})"\}$')
_LENGTH = len(b',"checksum":"00000000"}')


class Seal(Enum):
    """What a line's seal says: the line is as it was written; it is not; or it was written without one."""

    WHOLE = "whole"
    BROKEN = "broken"
    ABSENT = "absent"


def sealed(text: str) -> str:
    """Return one line of JSON, an object in ASCII with at least one field, with its seal as the last field."""
    body = text[:-1]
    return f'{body},"checksum":"{zlib.crc32(body.encode("ascii")):08x}"}}'


def seal_of(line: bytes) -> Seal:
    """Return what the seal of a line says; the line may end in a line break."""
    line = line.rstrip(b"\r\n")
    found = _SEAL.search(line, max(0, len(line) - _LENGTH))
    if found is None:
        return Seal.ABSENT
    return Seal.WHOLE if zlib.crc32(line[: found.start()]) == int(found[1], 16) else Seal.BROKEN


def sync_folder(folder: Path) -> None:
    """Bring a folder's list of names to disk, where the file system can."""
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(file)
    except OSError:
        return
    finally:
        os.close(file)

"""The index of one call log: position, key and cost of each line, in 60 bytes a line.

The log's writer stores it next to the log as `.NAME.index` when it closes the log. Every reader may use it, so that a
log of a million lines opens without being read; what it does not cover is read from the log. It is checked before it
is used: it ends with its CRC-32, the first and last entries must be in the log at their positions, and an index of the
whole log must not be older than the log. An index that fails a check is made again from the log.
"""

from __future__ import annotations

import hashlib
import logging
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cortexdsl.core import Usage
from cortexdsl.files import write_file
from cortexdsl.models.call_log.append_log import line_number, whole_lines
from cortexdsl.models.call_log.records import usage_of_line

_HEADER = b"cortexdsl call log index, version 3\n".ljust(64, b".")
_ROW, _CRC = struct.Struct("<16sQIIQQdI"), struct.Struct("<I")
_ROWS = np.dtype(
    [
        ("name", "V16"), ("offset", "<u8"), ("length", "<u4"), ("attempts", "<u4"),
        ("prompt_tokens", "<u8"), ("completion_tokens", "<u8"), ("dollars", "<f8"), ("is_error", "<u4"),
    ]
)  # fmt: skip
_TOKENS = ("prompt_tokens", "completion_tokens")
_say = logging.getLogger(__name__)


class LogEntry(NamedTuple):
    """One line: its place, and whether it is a failure."""

    offset: int
    length: int
    is_error: bool


def name_of(key: str) -> bytes:
    """Return the 16 bytes that represent a key in an index; 32 hexadecimal digits are decoded."""
    try:
        if len(key) == 32:
            return bytes.fromhex(key)
    except ValueError:
        pass
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class LogIndex:
    """The index of one log.

    Parameters
    ----------
    path : Path
        Of the log.

    Attributes
    ----------
    covered : int
        Bytes of the log, from its start, that were looked at.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._beside = path.with_name(f".{path.name}.index")
        self._rows = bytearray()
        self._stored = 0  # entries of the file
        self._is_writer = False
        self.covered = 0
        self._load()

    def __len__(self) -> int:
        return len(self._rows) // _ROW.size

    def become_writer(self) -> None:
        """Store the index next to the log when it is closed."""
        self.catch_up()
        self._is_writer = True

    def _load(self) -> None:
        """Take what is stored next to the log, if it is an index of this log."""
        try:
            content = self._beside.read_bytes()
            size = self.path.stat().st_size
            is_fresh = self._beside.stat().st_mtime_ns >= self.path.stat().st_mtime_ns
        except OSError:
            return
        rows = content[len(_HEADER) : -_CRC.size]
        is_whole = content.startswith(_HEADER) and content.endswith(_CRC.pack(zlib.crc32(content[: -_CRC.size])))
        if not is_whole or not rows or len(rows) % _ROW.size:
            return
        self._rows = bytearray(rows)
        last = self.entry(len(self) - 1)
        covered = last.offset + last.length + 1
        is_true = covered < size or (covered == size and is_fresh)
        if is_true and self._is_there(0) and self._is_there(len(self) - 1):
            self.covered, self._stored = covered, len(self)
        else:
            self._rows = bytearray()

    def _is_there(self, row: int) -> bool:
        entry = self.entry(row)
        before = min(1, entry.offset)
        with self.path.open("rb") as file:
            file.seek(entry.offset - before)
            line = file.read(before + entry.length + 1)
        if not line.endswith(b"\n") or line[:before] not in (b"", b"\n"):
            return False
        logged = usage_of_line(line[before:-1])
        return logged is not None and name_of(logged[0]) == self.names(row, row + 1)[0]

    def catch_up(self) -> None:
        """Read what the log holds beyond what is covered."""
        for offset, line in whole_lines(self.path, self.covered):
            logged = usage_of_line(line)
            if logged is None:
                _say.warning(
                    "%s:%d: a corrupt line of the call log is skipped, and its call asked again",
                    self.path, line_number(self.path, offset),
                )  # fmt: skip
            else:
                self._add(*logged, offset, len(line))
            self.covered = offset + len(line) + 1

    def append(self, key: str, usage: Usage, offset: int, length: int) -> None:
        """Add the line that the log's writer has just written, `length` bytes without its end."""
        self._add(key, usage, offset, length)
        self.covered = offset + length + 1

    def _add(self, key: str, usage: Usage, offset: int, length: int) -> None:
        self._rows += _ROW.pack(
            name_of(key), offset, length, usage.attempts,
            usage.input_tokens, usage.output_tokens, usage.dollars, usage.failed,
        )  # fmt: skip

    def entry(self, row: int) -> LogEntry:
        """Return the position of an entry's line."""
        _, offset, length, _, _, _, _, is_error = _ROW.unpack_from(self._rows, row * _ROW.size)
        return LogEntry(offset, length, bool(is_error))

    def names(self, first: int = 0, end: int | None = None) -> list[bytes]:
        """Return the names of the keys of some entries."""
        rows = len(self) - first if end is None else end - first
        names: list[bytes] = np.frombuffer(self._rows, _ROWS, rows, first * _ROW.size)["name"].tolist()
        return names

    def totals(self) -> Usage:
        """Add up all entries."""
        rows = np.frombuffer(self._rows, _ROWS)
        attempts, prompt, completion = (int(rows[name].sum()) for name in ("attempts", *_TOKENS))
        failed = int(rows["is_error"].sum())
        dollars = float(rows["dollars"].sum())
        return Usage(len(rows), prompt, completion, dollars, attempts=attempts, failed=failed)

    def close(self) -> None:
        """Store the index, if its log was written here. May be called twice."""
        if self._is_writer and len(self) != self._stored:
            content = _HEADER + self._rows
            try:
                write_file(self._beside, (content, _CRC.pack(zlib.crc32(content))), durable=False)
                self._stored = len(self)
            except OSError as error:  # a log without an index is slower to open, and no less true
                _say.warning("%s: the index of the call log cannot be written (%s)", self._beside, error.strerror)
        self._is_writer = False

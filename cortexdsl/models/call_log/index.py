"""The index of one call log: position, key and cost of each line, in 64 bytes a line.

The log's writer stores it next to the log as `.NAME.index`. Every reader may use it, so that a log of a million lines
opens without being read. It is checked before it is used: each entry ends with the CRC-32 of the file up to there, the
first and last entries must be in the log at their positions, and an index of the whole log must not be older than the
log. An index that fails a check is made again from the log.
"""

from __future__ import annotations

import hashlib
import logging
import os
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cortexdsl.core import Usage
from cortexdsl.files import append, open_to_write, write_file
from cortexdsl.models.call_log.append_log import line_number, whole_lines
from cortexdsl.models.call_log.records import usage_of_line

_HEADER = b"cortexdsl call log index, version 2\n".ljust(64, b".")
_ROW = struct.Struct("<16sQIIQQdII")
_DATA, _CRC = struct.Struct("<16sQIIQQdI"), struct.Struct("<I")
"""An entry without its checksum, and the checksum."""
_ROWS = np.dtype(
    [
        ("name", "V16"), ("offset", "<u8"), ("length", "<u4"), ("attempts", "<u4"),
        ("prompt_tokens", "<u8"), ("completion_tokens", "<u8"), ("dollars", "<f8"), ("is_error", "<u4"), ("crc", "<u4"),
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
    is_writer : bool
        Whether this process has the lock of the log; it then keeps the file of the index.

    Attributes
    ----------
    covered : int
        Bytes of the log, from its start, that were looked at.
    corrupt : int
        Corrupt lines, each reported by a warning.
    """

    def __init__(self, path: Path, *, is_writer: bool = False) -> None:
        self.path = path
        self._beside = path.with_name(f".{path.name}.index")
        self._rows = bytearray()
        self._crc = zlib.crc32(_HEADER)
        self._loaded = 0  # bytes of the file that are known to be right
        self._file: int | None = None
        self.covered = 0
        self.corrupt = 0
        self._load()
        if is_writer:
            self.become_writer()

    def __len__(self) -> int:
        return len(self._rows) // _ROW.size

    def become_writer(self) -> None:
        """Keep the index's file from now on; the caller has the log's lock."""
        self.catch_up()
        try:
            if not self._is_kept_whole():
                write_file(self._beside, (_HEADER, memoryview(self._rows)), durable=False)
            self._file = open_to_write(self._beside, append=True, durable=False)
        except OSError as error:  # a log without an index is slower to open, and no less true
            _say.warning("%s: the index of the call log cannot be written (%s)", self._beside, error.strerror)

    def _is_kept_whole(self) -> bool:
        try:
            size = len(_HEADER) + len(self._rows)
            return self._loaded == size == self._beside.stat().st_size and self._fresh()
        except OSError:
            return False

    def _fresh(self) -> bool:
        return self._beside.stat().st_mtime_ns >= self.path.stat().st_mtime_ns

    def _load(self) -> None:
        """Load the entries of the index's file if they are valid."""
        try:
            content = self._beside.read_bytes()
            size = self.path.stat().st_size
            is_fresh = self._fresh()
        except OSError:
            return
        count = (len(content) - len(_HEADER)) // _ROW.size
        if not content.startswith(_HEADER) or count < 1:
            return
        end = len(_HEADER) + count * _ROW.size
        crc = zlib.crc32(memoryview(content)[: end - _CRC.size])
        if _CRC.pack(crc) != content[end - _CRC.size : end]:
            return
        self._rows = bytearray(memoryview(content)[len(_HEADER) : end])
        last = self.entry(count - 1)
        covered = last.offset + last.length + 1
        is_true = covered < size or (covered == size and is_fresh)
        if is_true and self._is_there(0) and self._is_there(count - 1):
            self.covered, self._loaded = covered, end
            self._crc = zlib.crc32(_CRC.pack(crc), crc)
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
                self.corrupt += 1
                _say.warning(
                    "%s:%d: a corrupt line of the call log is skipped, and its call asked again",
                    self.path, line_number(self.path, offset),
                )  # fmt: skip
            else:
                self._add(*logged, offset, len(line))
            self.covered = offset + len(line) + 1

    def append(self, key: str, usage: Usage, offset: int, length: int) -> None:
        """Add the line that the log's writer has just written, `length` bytes without its end."""
        place = len(_HEADER) + len(self._rows)
        row = self._add(key, usage, offset, length)
        self.covered = offset + length + 1
        if self._file is not None:
            try:
                append(self._file, row, place)
            except OSError:  # a full disk: the next writer rebuilds the index
                self.close()

    def _add(self, key: str, usage: Usage, offset: int, length: int) -> bytes:
        """Add an entry in memory; return it."""
        data = _DATA.pack(
            name_of(key), offset, length, usage.attempts,
            usage.input_tokens, usage.output_tokens, usage.dollars, usage.failed,
        )  # fmt: skip
        crc = zlib.crc32(data, self._crc)
        end = _CRC.pack(crc)
        self._crc = zlib.crc32(end, crc)
        self._rows += data + end
        return data + end

    def entry(self, row: int) -> LogEntry:
        """Return the position of an entry's line."""
        _, offset, length, _, _, _, _, is_error, _ = _ROW.unpack_from(self._rows, row * _ROW.size)
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
        """Leave the index's file. May be called twice."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

"""The files of requests of one round, in OpenAI's batch format."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from cortexdsl.files import write_file

_SORTED_BY = 256  # bytes of a body by which requests are ordered; then by key


class RequestSpool:
    """Collects the requests of a round on disk, and writes them sorted, so that neighbours begin alike.

    Engines that cache the beginnings of prompts so find them in the cache.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._places: dict[str, list[tuple[bytes, str, int, int]]] = {}
        self._keys: set[str] = set()

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, engine: str, key: str, line: bytes) -> None:
        """Add the request of a call once."""
        if key in self._keys:
            return
        self._keys.add(key)
        _, _, body = line.partition(b'"body":')
        place = body[:_SORTED_BY], key, self._file.tell(), len(line)
        self._places.setdefault(engine, []).append(place)
        self._file.write(line)

    def write(self, engine: str, parts: Sequence[Path]) -> None:
        """Write the requests to one engine in files of equal numbers of lines."""
        places = sorted(self._places.get(engine, ()))
        for number, path in enumerate(parts):
            first, end = (len(places) * k // len(parts) for k in (number, number + 1))
            write_file(path, self._lines(places[first:end]))

    def _lines(self, places: Sequence[tuple[bytes, str, int, int]]) -> Iterator[bytes]:
        for _, _, offset, length in places:
            self._file.seek(offset)
            yield self._file.read(length) + b"\n"

    def close(self) -> None:
        """Remove what was collected."""
        self._file.close()

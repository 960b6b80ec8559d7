"""How far a run by files is: its present round, its requests, and how many are answered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.run_record import read_run


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """The round whose requests were written last: `number` of at most `rounds`, and what working engines say."""

    number: int
    rounds: int
    requests: int
    replies: int
    engines: tuple[str, ...] = ()


_LONGEST = 120
_END = 4096  # bytes of the end of a log


class RoundFiles:
    """Counts the lines of the files of rounds; what was read is not read again when a file grows."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._read: dict[Path, tuple[int, int]] = {}

    def look(self) -> RoundProgress | None:
        """Return the present round; None if no request was written."""
        written = [
            (state.st_mtime_ns, path)
            for path in Path(self._layout.rounds).glob("[1-9]*/*.requests.jsonl")
            if (state := path.stat()).st_size
        ]
        if not written:
            return None
        folder = max(written)[1].parent
        requests = [path for _, path in written if path.parent == folder]
        record = read_run(self._layout)
        outputs = [path.split("/") for path in record.outputs] if record else []
        rounds = max((int(parts[1]) for parts in outputs if parts[0] == "rounds"), default=int(folder.name))
        counts = sum(map(self._lines, requests)), sum(map(self._replies, requests))
        return RoundProgress(int(folder.name), rounds, *counts, tuple(filter(None, map(self._says, sorted(requests)))))

    def _says(self, requests: Path) -> str:
        """Return the last line that the engine at work on a file has printed; empty if there is none."""
        number, part = requests.parent.name, requests.name.removesuffix(".requests.jsonl")
        log = Path(self._layout.root, "logs", "rounds", f"{number}-{part}.engine.log")
        if _replies_to(requests).exists() or not log.exists() or log.stat().st_mtime_ns < requests.stat().st_mtime_ns:
            return ""
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _END))
            lines = re.split(r"[\r\n]+", file.read().decode("utf-8", "replace").strip())
        return f"{part}: {lines[-1][:_LONGEST]}" if lines[-1] else ""

    def _replies(self, requests: Path) -> int:
        """Count what has a reply; while an engine works, in what it has written so far."""
        replies = _replies_to(requests)
        parts = [requests.with_name(f".{replies.name}.{part}") for part in ("kept", "new")]
        return self._lines(replies) if replies.exists() else sum(map(self._lines, parts))

    def _lines(self, path: Path) -> int:
        offset, count = self._read.get(path, (0, 0))
        if not path.exists():
            return 0
        if path.stat().st_size < offset:
            offset = count = 0
        with path.open("rb") as file:
            file.seek(offset)
            for line in file:
                if line.endswith(b"\n"):
                    offset, count = offset + len(line), count + (b'"response":null' not in line)
        self._read[path] = offset, count
        return count


def _replies_to(requests: Path) -> Path:
    return requests.with_name(requests.name.replace(".requests.", ".replies."))

"""How far a run by files is: its present round, its requests, and how many are answered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.run_record import read_run


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """The round whose requests were written last: `number` of at most `rounds`."""

    number: int
    rounds: int
    requests: int
    replies: int


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
        return RoundProgress(
            int(folder.name), rounds, sum(map(self._lines, requests)), sum(map(self._replies, requests))
        )

    def _replies(self, requests: Path) -> int:
        """Count what has a reply; while an engine works, in what it has written so far."""
        replies = requests.with_name(requests.name.replace(".requests.", ".replies."))
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

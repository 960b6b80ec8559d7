"""What failed jobs say: the error that ends a job's log, each different one once, with how many jobs said it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

MARK = "error: "
LINES = 12  # of one message
KILLED = re.compile(r"^slurmstepd\S*: error: \*+ (.+?) \*+$", re.MULTILINE)  # by Slurm: why, and when
TAIL = 65_536  # bytes of a log that are looked at: the error stands at its end


@dataclass(slots=True)
class Failures:
    """The failures of a run, gathered as they happen."""

    jobs: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Of each message: the jobs that ended with it, and their logs."""

    def add(self, job: str, logs: Sequence[str], otherwise: str = "") -> str | None:
        """Take a failed job in, and return what to say of it: nothing where another job said the same.

        `otherwise` is what Snakemake says of it, for a job that left no log: one that could not be submitted.
        """
        message, log = _message(logs, otherwise)
        seen = self.jobs.setdefault(message, [])
        seen.append((job, log))
        return f"failed: {job}\n{_indented(message)}" if len(seen) == 1 else None

    @property
    def count(self) -> int:
        """How many jobs failed."""
        return sum(map(len, self.jobs.values()))

    def summary(self) -> list[str]:
        """Return every message once, with the jobs that ended with it."""
        lines = []
        for message, jobs in self.jobs.items():
            first, log = jobs[0]
            others = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
            lines.append(f"failed: {first}{others}\n{_indented(message)}" + (f"\n    log: {log}" if log else ""))
        return lines


def _message(logs: Sequence[str], otherwise: str) -> tuple[str, str]:
    for log in logs:
        text = _tail(Path(log))
        if not text.strip():
            continue
        start = text.rfind(f"\n{MARK}")
        if start >= 0:
            return _first_paragraph(text[start + 1 :].removeprefix(MARK)), log
        killed = KILLED.search(text)
        if killed:
            return killed[1], log
        return f"{text.strip().splitlines()[-1]} (the whole of it is in the log)", log
    return otherwise.strip() or "the job ended without a word", logs[0] if logs else ""


def _first_paragraph(text: str) -> str:
    """The error's own lines: what follows, another program said while it ended."""
    lines = []
    for line in text.rstrip().splitlines():
        if "Warning: " in line or line.startswith("Traceback"):
            break
        lines.append(line)
    more = [f"    and {len(lines) - LINES} lines more, in the log"] if len(lines) > LINES else []
    return "\n".join([*lines[:LINES], *more])


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL))
            return "\n" + file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _indented(message: str) -> str:
    return "\n".join(f"    {line}" for line in message.splitlines())

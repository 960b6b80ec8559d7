"""Entries of a ledger as lines of a file: parse, seal, append.

Each line has the seal of the line before it and its own, a digest of the rest but for the time. A line that was edited,
left out or moved breaks the chain. Writers wait for each other (flock).
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from cortexdsl.errors import RecordError
from cortexdsl.plan.kept.declaration import WORDS, Declaration

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One line.

    Attributes
    ----------
    kind : str
        `declared` (a declaration; `said` names what changed since the one before), `verdicts`, `tables` (digests of
        tables as a job wrote them), or `opened` (by a verdict, if there was no ledger).
    said : tuple of str
        In words.
    after_calls : bool
        Whether calls or debates existed when it was written.
    declaration : mapping
        What holds from here on; of `declared` alone.
    verdicts : sequence of mappings
        `claim, verdict, estimate, p_adjusted`; of `verdicts` alone.
    seed : int
        Of the experiment at that time.
    at : str
        When, in UTC; not sealed, so that equal histories have equal seals.
    seal : str
    tables : mapping of path to digest
        Paths below the experiment's folder; of `tables` alone.
    """

    kind: str
    said: tuple[str, ...]
    after_calls: bool
    declaration: Declaration
    verdicts: tuple[Mapping[str, Any], ...]
    seed: int | None
    at: str
    seal: str
    tables: Mapping[str, str] = field(default_factory=dict)


def read_entries(path: Path) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    """Return the entries of a ledger and what is wrong with its chain, in words; both empty without a file.

    Raises
    ------
    RecordError
        An entry is of a later version.
    """
    entries, faults, seal = [], [], ""
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    torn = bool(lines) and lines[-1] != b""
    for number, line in enumerate(line for line in lines if line):
        parsed = _parse(line)
        if parsed is None:
            cut = torn and line == lines[-1]
            faults.append(f"line {number + 1} of the ledger is {'cut off' if cut else 'not an entry'}")
            continue
        record, entry = parsed
        if record.get("before", "") != seal:
            faults.append(f"line {number + 1} of the ledger does not continue the line before it")
        if record["seal"] != _seal(record):
            faults.append(f"line {number + 1} of the ledger was edited")
        seal = record["seal"]
        entries.append(entry)
    return tuple(entries), tuple(faults)


def append_entry(path: Path, before: str, entry: Mapping[str, Any]) -> None:
    """Append one entry after the one whose seal is `before`; the caller holds the lock of `writing`."""
    record = {"schema_version": SCHEMA_VERSION, **entry, "before": before}
    record["seal"] = _seal(record)
    record["at"] = datetime.now(UTC).isoformat(timespec="seconds")
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        torn = size > 0 and file.read(1) != b"\n"  # a line that was cut off stays visible
    with path.open("ab") as file:
        file.write(b"\n" * torn + json.dumps(record).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Hold the lock of a ledger.

    Raises
    ------
    RecordError
        The file cannot be opened.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RecordError(f"{path}: the ledger cannot be opened: {error.strerror}") from error
    try:
        with suppress(OSError):  # a file system without locks: entries are single writes, and are verified
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _seal(record: Mapping[str, Any]) -> str:
    content = {key: value for key, value in record.items() if key not in ("seal", "at")}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _parse(line: bytes) -> tuple[dict[str, Any], Entry] | None:
    try:
        record = json.loads(line)
        entry = Entry(
            kind=str(record["kind"]),
            said=tuple(map(str, record["said"])),
            after_calls=bool(record["after_calls"]),
            declaration=_checked(record.get("declaration")),
            verdicts=tuple(record.get("verdicts") or ()),
            seed=record.get("seed"),
            at=str(record.get("at", "")),
            seal=str(record["seal"]),
            tables=dict(record.get("tables") or {}),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if record.get("schema_version", 0) > SCHEMA_VERSION:
        raise RecordError("the ledger was written by a later version of cortexdsl\n    update cortexdsl")
    return record, entry


def _checked(declaration: Any) -> Declaration:
    """A declaration with every word that others look up."""
    return {word: declaration[word] for word in WORDS} if declaration is not None else {}

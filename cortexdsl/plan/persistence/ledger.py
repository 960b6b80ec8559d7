"""The ledger of an experiment: declarations, later changes and verdicts; append-only.

`ledger.jsonl` is a chain: each line holds the seal of the line before it and its own seal, a digest of the rest without
the time. A line that was edited, removed or moved breaks the chain. Writers wait for each other (flock). A person who
rewrites every file can rewrite history, unless the first seal was published before the run (`cortexdsl ledger`).
Removing or editing some of the files is noticed:

- without a ledger, existing calls were not declared, and the new ledger begins with an entry that says so;
- without call logs and debates, the sum of what was spent is known, and every entry that was written after calls;
- `declared.json`, made before the first call, and the table of verdicts hold the seal that the ledger had then;
- files are compared with the manifest (`manifest`), whose seal the ledger holds;
- the manifest holds the seal of the last entry, whatever its kind.

Entries are written by the job that declares, by each debate job before its first call, by the job that writes the plan,
by the verdict and other jobs that test and compare, which seal the manifest, and by `cortexdsl pause`, `resume` and
`limit`.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from cortexdsl.checksums import append_lines, with_checksum
from cortexdsl.errors import RecordError
from cortexdsl.files import cannot_write, open_to_write, write_file
from cortexdsl.models.spending import spent_so_far
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import (
    SEED,
    WORDS,
    Declaration,
    changes,
    claims_of_earlier_version,
    first_seal,
    write_declared,
)

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One line of a ledger.

    Attributes
    ----------
    kind : str
        `declared` (a declaration; `said` names what changed since the one before), `verdicts`, `manifest` (the seal of
        the manifest), `tables` (digests of tables: earlier versions wrote these), `control` (a pause, or a limit that
        was changed while the spec stayed the same), `damage` (entries that other files name and that are missing
        here), `logs` (call logs that were not as they were written when a run began), or `opened` (by a verdict, if
        there was no ledger).
    said : tuple of str
        The entry in words.
    after_calls : bool
        Whether calls or debates existed when it was written.
    declaration : mapping
        The declaration from here on; only of `declared`.
    verdicts : sequence of mappings
        `claim, verdict, estimate, p_adjusted`; only of `verdicts`.
    seed : int
        Of the experiment at that time.
    at : str
        The time, in UTC; not part of the seal, so that equal histories have equal seals.
    seal : str
    tables : mapping of path to digest
        Paths below the experiment's folder; only of `tables`.
    manifest : str
        The seal of the manifest; only of `manifest`.
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
    manifest: str = ""

    @property
    def is_of_files(self) -> bool:
        """Whether it has digests of files alone: not a step in the history of the experiment."""
        return self.kind in ("tables", "manifest")


def read_entries(path: Path) -> tuple[tuple[LedgerEntry, ...], tuple[str, ...]]:
    """Return the entries of a ledger and the faults of its chain, in words; both empty without a file.

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
    """Append one entry after the one whose seal is `before`; the caller holds the lock.

    The file is replaced as a whole, so that a power cut or a full disk leaves no half entry: a line that is cut off is
    damage. It is on disk at the end.

    Raises
    ------
    RecordError
        The disk is full or fails.
    """
    record = {"schema_version": SCHEMA_VERSION, **entry, "before": before}
    record["seal"] = _seal(record)
    record["at"] = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        earlier = path.read_bytes()
        torn = earlier != b"" and not earlier.endswith(b"\n")  # a line that was cut off stays visible
        write_file(path, (earlier, b"\n" * torn, json.dumps(record).encode() + b"\n"))
    except OSError as error:
        raise cannot_write(path, "the ledger cannot be written", error) from error


@contextmanager
def ledger_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a ledger.

    Raises
    ------
    RecordError
        The file cannot be opened, or is a link.
    """
    file = -1
    try:
        while file < 0 or os.fstat(file).st_ino != path.stat().st_ino:  # replaced while this process waited
            if file >= 0:
                os.close(file)
            file = open_to_write(path)
            with suppress(OSError):  # a file system without locks: the chain shows if an entry was lost
                fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        if file >= 0:
            os.close(file)
        raise cannot_write(path, "the ledger cannot be opened", error) from error
    try:
        yield
    finally:
        os.close(file)


def _seal(record: Mapping[str, Any]) -> str:
    content = {key: value for key, value in record.items() if key not in ("seal", "at")}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _parse(line: bytes) -> tuple[dict[str, Any], LedgerEntry] | None:
    try:
        record = json.loads(line)
        entry = LedgerEntry(
            kind=str(record["kind"]),
            said=tuple(map(str, record["said"])),
            after_calls=bool(record["after_calls"]),
            declaration=_checked(record.get("declaration")),
            verdicts=tuple(record.get("verdicts") or ()),
            seed=record.get("seed"),
            at=str(record.get("at", "")),
            seal=str(record["seal"]),
            tables=dict(record.get("tables") or {}),
            manifest=str(record.get("manifest") or ""),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if record.get("schema_version", 0) > SCHEMA_VERSION:
        raise RecordError("the ledger was written by a later version of cortexdsl\n    update cortexdsl")
    return record, entry


def _checked(declaration: Any) -> Declaration:
    """Return a declaration with every word that readers need."""
    return {word: {"prompts": {}, **declaration}[word] for word in WORDS} if declaration is not None else {}


LACKS_FIRST = "the ledger lacks the entry that was written before the first call"
LATE = "calls existed before this ledger: nothing here was declared before the run"
ONLY_CLAIMS = "an earlier version of cortexdsl declared these claims, and nothing else"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The entries of a ledger, and its faults.

    Attributes
    ----------
    entries : tuple of LedgerEntry
    faults : tuple of str
        Lines that are not entries or do not continue the line before; a missing ledger although calls were made.
    """

    entries: tuple[LedgerEntry, ...]
    faults: tuple[str, ...] = ()

    @property
    def seal(self) -> str:
        """The seal of the last entry; empty without any."""
        return self.entries[-1].seal if self.entries else ""

    @property
    def verdict_seal(self) -> str:
        """The seal of the last entry that verdicts depend on: hypotheses.csv holds it, and is sealed after it."""
        relevant = (entry for entry in reversed(self.entries) if entry.kind in ("declared", "verdicts"))
        return next((entry.seal for entry in relevant), "")

    @property
    def declarations(self) -> tuple[LedgerEntry, ...]:
        """Every declaration, in order."""
        return tuple(entry for entry in self.entries if entry.kind == "declared")

    @property
    def first(self) -> LedgerEntry | None:
        """The last declaration before the first call; None if there is none."""
        early = [entry for entry in self.declarations if not entry.after_calls]
        return early[-1] if early else None

    @property
    def before(self) -> Declaration | None:
        """The declaration before the first call; None if there was none."""
        return self.first.declaration if self.first else None

    @property
    def now(self) -> Declaration | None:
        """The last declaration; None if there is none."""
        return self.declarations[-1].declaration if self.declarations else None

    @property
    def since(self) -> tuple[str, ...]:
        """The differences of the last declaration from the one before the first call, in words."""
        return tuple(changes(self.before, self.now)) if self.before and self.now else ()

    @property
    def claims(self) -> tuple[str, ...]:
        """The claims that were declared before the first call."""
        return tuple(self.before["claims"]) if self.before else ()

    @property
    def runs(self) -> tuple[LedgerEntry, ...]:
        """Every entry of verdicts: verdicts on new results or claims."""
        return tuple(entry for entry in self.entries if entry.kind == "verdicts")

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of all runs, each once, in order."""
        return tuple(dict.fromkeys(run.seed for run in self.runs if run.seed is not None))

    @property
    def tables(self) -> Mapping[str, str]:
        """The digests of tables that an earlier version wrote, by their paths below the experiment's folder."""
        return {path: digest for entry in self.entries for path, digest in entry.tables.items()}

    @property
    def lost_logs(self) -> tuple[str, ...]:
        """Call logs that were missing or changed when a run began, in words."""
        return tuple(said for entry in self.entries if entry.kind == "logs" for said in entry.said)

    @property
    def manifest_seal(self) -> str:
        """The last seal of the manifest; empty if there is none."""
        return next((entry.manifest for entry in reversed(self.entries) if entry.kind == "manifest"), "")

    def verdicts_on(self, claim: str) -> tuple[tuple[int, int | None, str], ...]:
        """Return (number of the run, its seed, the verdict) of every run that tested a claim; runs count from 1."""
        plain = " ".join(claim.split())
        return tuple(
            (number, run.seed, str(line.get("verdict")))
            for number, run in enumerate(self.runs, 1)
            for line in run.verdicts
            if " ".join(str(line.get("claim", "")).split()) == plain
        )


def read_ledger(layout: Layout) -> Ledger:
    """Read and verify an experiment's ledger; empty if it has none."""
    entries, chain = read_entries(Path(layout.ledger))
    faults = [*chain, *(said for entry in entries if entry.kind == "damage" for said in entry.said)]
    if not entries and has_calls(layout):
        faults.append("the ledger is missing, though calls were made")
    first = first_seal(layout)
    if first and first not in {entry.seal for entry in entries}:
        faults.append(LACKS_FIRST)
    return Ledger(entries, tuple(faults))


def declare(layout: Layout, declaration: Declaration) -> Ledger:
    """Append an experiment's declaration if it differs from the last one."""
    with _writing(layout) as known:
        # If calls and debates were removed, the entries after them still show that there were calls.
        ledger, called = known, has_calls(layout) or any(entry.after_calls for entry in known.entries)
        if ledger.now is None and called and (earlier := claims_of_earlier_version(layout)) is not None:
            old = {**declaration, "claims": earlier}
            ledger = _append(layout, ledger, _declared((ONLY_CLAIMS,), old, after_calls=False))
        if ledger.now is None:
            said = (LATE if called else "declared before the first call",)
            ledger = _append(layout, ledger, _declared(said, declaration, after_calls=called))
        elif changed := changes(ledger.now, declaration):
            ledger = _append(layout, ledger, _declared(changed, declaration, after_calls=called))
        if not called or not Path(layout.declared).is_file():
            write_declared(layout, ledger.claims, ledger.seal)
        return ledger


def record_verdicts(layout: Layout, seed: int, verdicts: Sequence[Mapping[str, Any]], said: str) -> Ledger:
    """Append verdicts, unless they equal the last ones.

    Nothing is written for tables of other programs: an experiment has calls or a ledger.
    """
    if not is_experiment(layout):
        return Ledger(())
    with _writing(layout) as known:
        ledger = _opened(layout, known)
        last = ledger.runs[-1] if ledger.runs else None
        if last is None or (last.seed, list(last.verdicts), last.said) != (seed, list(verdicts), (said,)):
            entry = {"kind": "verdicts", "after_calls": True, "seed": seed, "said": [said], "verdicts": list(verdicts)}
            return _append(layout, ledger, entry)
        return ledger


def record_seal(layout: Layout, seal: str) -> None:
    """Append the seal of the manifest if it differs from the last one."""
    with _writing(layout) as known:
        if known.manifest_seal != seal:
            ledger = _opened(layout, known)
            entry = {"kind": "manifest", "after_calls": True, "seed": None, "said": ["files sealed"], "manifest": seal}
            _append(layout, ledger, entry)


def record_control(layout: Layout, said: str) -> None:
    """Append what was changed while the experiment runs; the caller holds the lock."""
    known, called = read_ledger(layout), has_calls(layout)
    ledger = _opened(layout, known) if called else known
    _append(layout, ledger, {"kind": "control", "after_calls": called, "seed": None, "said": [said]})


def record_damage(layout: Layout, kind: str, said: Sequence[str]) -> None:
    """Append what is wrong with files of the experiment, once: an entry of the kind `damage` or `logs`."""
    with _writing(layout) as known:
        new = sorted(set(said) - {each for entry in known.entries if entry.kind == kind for each in entry.said})
        if new:
            _append(layout, known, {"kind": kind, "after_calls": True, "seed": None, "said": new})


def is_experiment(layout: Layout) -> bool:
    """Return whether a folder holds an experiment of this program: it has calls or a ledger."""
    return Path(layout.ledger).is_file() or has_calls(layout)


def has_calls(layout: Layout) -> bool:
    """Return whether there is a call log or a record that is not empty, or a tally with calls."""
    files = (path for stage in ("calls", "debates") for path in Path(layout.root, stage).rglob("*.jsonl"))
    return any(path.stat().st_size for path in files) or spent_so_far(Path(layout.spent)).calls > 0


def _opened(layout: Layout, ledger: Ledger) -> Ledger:
    """Return a ledger with an entry: a missing one begins by saying that it is late."""
    if ledger.entries:
        return ledger
    return _append(layout, ledger, {"kind": "opened", "after_calls": True, "seed": None, "said": [LATE]})


def _declared(said: Sequence[str], declaration: Declaration, *, after_calls: bool) -> dict[str, Any]:
    seed = declaration[SEED]
    entry = {"kind": "declared", "after_calls": after_calls, "seed": seed, "said": list(said)}
    return {**entry, "declaration": dict(declaration)}


@contextmanager
def _writing(layout: Layout) -> Iterator[Ledger]:
    """Wait for the lock, and read the ledger."""
    with ledger_lock(Path(layout.ledger)):
        yield read_ledger(layout)


def _append(layout: Layout, ledger: Ledger, entry: Mapping[str, Any]) -> Ledger:
    """Write one entry, and its seal into the manifest, so that an entry cut from the end is missed; return the ledger.

    A kill between the two writes leaves a ledger with one entry more than the manifest names, and this is in order.
    """
    append_entry(Path(layout.ledger), ledger.seal, entry)
    written = read_ledger(layout)
    append_lines(Path(layout.manifest), [with_checksum(json.dumps({"ledger": written.seal}))])
    return written

"""The ledger of an experiment: declarations, later changes and verdicts; append-only.

`ledger.jsonl` is a chain: each line holds the seal of the line before it and its own seal, a digest of the rest without
the time. A line that was edited, removed or moved breaks the chain. Writers wait for each other (flock). A person who
rewrites every file can rewrite history, unless the first seal was published before the run (`cortexdsl ledger`).
Removing or editing some of the files is noticed:

- without a ledger, existing calls were not declared, and the new ledger begins with an entry that says so;
- without call logs and debates, the sum of what was spent is known, and every entry that was written after calls;
- `declared.json`, made before the first call, and the table of verdicts hold the seal that the ledger had then;
- files are compared with the manifest (`journal`), whose seal the ledger holds;
- the manifest holds the seal of the last entry, whatever its kind.

Entries are written by the job that declares, by each debate job before its first call, by the job that writes the plan,
by the verdict and other jobs that test and compare, which seal the manifest, by a run that finds damage, and by
`cortexdsl pause`, `resume` and `limit`.
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
from cortexdsl.claims.values import one_line
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
from cortexdsl.typed_json import Codec

SCHEMA_VERSION = 1
LACKS_FIRST = "the ledger lacks the entry that was written before the first call"
LATE = "calls existed before this ledger: nothing here was declared before the run"
FIRST = "declared before the first call"
ONLY_CLAIMS = "an earlier version of cortexdsl declared these claims, and nothing else"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One line of a ledger.

    Attributes
    ----------
    kind : str
        `declared` (a declaration; `said` names what changed since the one before), `verdicts`, `manifest` (the seal of
        the manifest), `control` (a pause, or a limit that was changed while the spec stayed the same), `damage`
        (entries that other files name and that are missing here), `logs` (call logs that were not as they were written
        when a run began), or `opened` (by a verdict, if there was no ledger).
    said : tuple of str
        The entry in words.
    after_calls : bool
        Whether calls or debates existed when it was written.
    seal : str
    seed : int or None
        Of the experiment at that time.
    at : str
        The time, in UTC; not part of the seal, so that equal histories have equal seals.
    declaration : mapping
        The declaration from here on; only of `declared`.
    verdicts : sequence of mappings
        `claim, verdict, estimate, p_adjusted`; only of `verdicts`.
    manifest : str
        The seal of the manifest; only of `manifest`.
    """

    kind: str
    said: tuple[str, ...]
    after_calls: bool
    seal: str
    seed: int | None = None
    at: str = ""
    declaration: Declaration = field(default_factory=dict)
    verdicts: tuple[Mapping[str, Any], ...] = ()
    manifest: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The entries of a ledger, and its faults.

    Attributes
    ----------
    entries : tuple of LedgerEntry
    faults : tuple of str
        Lines that are not entries or do not continue the line before; a missing ledger although calls were made.
    """

    entries: tuple[LedgerEntry, ...] = ()
    faults: tuple[str, ...] = ()

    def of_kind(self, *kinds: str) -> tuple[LedgerEntry, ...]:
        """Return the entries of some kinds, in order."""
        return tuple(entry for entry in self.entries if entry.kind in kinds)

    @property
    def seal(self) -> str:
        """The seal of the last entry; empty without any."""
        return self.entries[-1].seal if self.entries else ""

    @property
    def verdict_seal(self) -> str:
        """The seal of the last entry that verdicts depend on: hypotheses.csv holds it, and is sealed after it."""
        return next((entry.seal for entry in reversed(self.of_kind("declared", "verdicts"))), "")

    @property
    def manifest_seal(self) -> str:
        """The last seal of the manifest; empty if there is none."""
        return next((entry.manifest for entry in reversed(self.of_kind("manifest"))), "")

    @property
    def declarations(self) -> tuple[LedgerEntry, ...]:
        """Every declaration, in order."""
        return self.of_kind("declared")

    @property
    def first(self) -> LedgerEntry | None:
        """The last declaration before the first call; None if there is none."""
        return next((entry for entry in reversed(self.declarations) if not entry.after_calls), None)

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
        return self.of_kind("verdicts")

    @property
    def lost_logs(self) -> tuple[str, ...]:
        """Call logs that were missing or changed when a run began, in words."""
        return tuple(said for entry in self.of_kind("logs") for said in entry.said)

    def verdicts_on(self, claim: str) -> tuple[tuple[int, int | None, str], ...]:
        """Return (number of the run, its seed, the verdict) of every run that tested a claim; runs count from 1."""
        plain = one_line(claim)
        return tuple(
            (number, run.seed, str(line.get("verdict")))
            for number, run in enumerate(self.runs, 1)
            for line in run.verdicts
            if one_line(str(line.get("claim", ""))) == plain
        )


def read_ledger(layout: Layout) -> Ledger:
    """Read and verify an experiment's ledger; empty if it has none.

    Raises
    ------
    RecordError
        An entry is of a later version.
    """
    entries: list[LedgerEntry] = []
    faults, seal, path = [], "", Path(layout.ledger)
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    is_torn = bool(lines) and lines[-1] != b""
    for number, line in enumerate((line for line in lines if line), 1):
        try:
            record = json.loads(line)
            entry = _entry(record)
        except (ValueError, KeyError, TypeError, RecursionError):
            is_cut = is_torn and line == lines[-1]
            faults.append(f"line {number} of the ledger is {'cut off' if is_cut else 'not an entry'}")
            continue
        if record.get("before", "") != seal:
            faults.append(f"line {number} of the ledger does not continue the line before it")
        if entry.seal != _seal(record):
            faults.append(f"line {number} of the ledger was edited")
        seal = entry.seal
        entries.append(entry)
    faults += [said for entry in entries if entry.kind == "damage" for said in entry.said]
    if not entries and has_calls(layout):
        faults.append("the ledger is missing, though calls were made")
    if (first := first_seal(layout)) and first not in {entry.seal for entry in entries}:
        faults.append(LACKS_FIRST)
    return Ledger(tuple(entries), tuple(faults))


def _seal(record: Mapping[str, Any]) -> str:
    content = {key: value for key, value in record.items() if key not in ("seal", "at")}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _completed(declaration: Mapping[str, Any]) -> Declaration:
    """Return a declaration with every word that readers need."""
    return {word: {"prompts": {}, **declaration}[word] for word in WORDS}


_CODEC = Codec({"LedgerEntry.declaration": (dict, _completed)})


def _entry(record: Mapping[str, Any]) -> LedgerEntry:
    entry = _CODEC.read(LedgerEntry, record)
    if record.get("schema_version", 0) > SCHEMA_VERSION:
        raise RecordError("the ledger was written by a later version of cortexdsl\n    update cortexdsl")
    return entry


@contextmanager
def ledger_lock(layout: Layout) -> Iterator[None]:
    """Hold the lock of an experiment's ledger and manifest.

    Raises
    ------
    RecordError
        The file cannot be opened, or is a link.
    """
    file, path = -1, Path(layout.ledger)
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


def append_entry(
    layout: Layout, ledger: Ledger, kind: str, said: Sequence[str], *, after_calls: bool = True, **content: Any
) -> Ledger:
    """Append one entry, then its seal to the manifest, and return the ledger with it; the caller holds the lock.

    The ledger is replaced as a whole, so that a power cut or a full disk leaves no half entry: a line that is cut off
    is damage. It is on disk at the end. A kill between the two writes leaves a ledger with one entry more than the
    manifest names, and this is in order.

    Raises
    ------
    RecordError
        The disk is full or fails.
    """
    path, seed = Path(layout.ledger), content.pop("seed", None)
    record = {"schema_version": SCHEMA_VERSION, "kind": kind, "after_calls": after_calls, "seed": seed}
    record |= {"said": list(said), **content, "before": ledger.seal}
    record["seal"] = _seal(record)
    record["at"] = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        earlier = path.read_bytes()
        torn = earlier != b"" and not earlier.endswith(b"\n")  # a line that was cut off stays visible
        write_file(path, (earlier, b"\n" * torn, json.dumps(record).encode() + b"\n"))
    except OSError as error:
        raise cannot_write(path, "the ledger cannot be written", error) from error
    append_lines(Path(layout.manifest), [with_checksum(json.dumps({"ledger": record["seal"]}))])
    return read_ledger(layout)


def declare(layout: Layout, declaration: Declaration) -> Ledger:
    """Append an experiment's declaration if it differs from the last one."""
    with ledger_lock(layout):
        ledger, seed = read_ledger(layout), declaration[SEED]
        # If calls and debates were removed, the entries after them still show that there were calls.
        called = has_calls(layout) or any(entry.after_calls for entry in ledger.entries)
        if ledger.now is None and called and (earlier := claims_of_earlier_version(layout)) is not None:
            old = {**declaration, "claims": earlier}
            ledger = append_entry(
                layout, ledger, "declared", [ONLY_CLAIMS], after_calls=False, seed=seed, declaration=old
            )
        said = changes(ledger.now, declaration) if ledger.now is not None else [LATE if called else FIRST]
        if said:
            new = dict(declaration)
            ledger = append_entry(layout, ledger, "declared", said, after_calls=called, seed=seed, declaration=new)
        if not called or not Path(layout.declared).is_file():
            write_declared(layout, ledger.claims, ledger.seal)
        return ledger


def record_verdicts(layout: Layout, seed: int, verdicts: Sequence[Mapping[str, Any]], said: str) -> Ledger:
    """Append verdicts, unless they equal the last ones.

    Nothing is written for tables of other programs: an experiment has calls or a ledger.
    """
    if not is_experiment(layout):
        return Ledger()
    with ledger_lock(layout):
        ledger = _opened(layout)
        last = ledger.runs[-1] if ledger.runs else None
        if last is None or (last.seed, list(last.verdicts), last.said) != (seed, list(verdicts), (said,)):
            return append_entry(layout, ledger, "verdicts", [said], seed=seed, verdicts=list(verdicts))
        return ledger


def record_seal(layout: Layout, seal: str) -> None:
    """Append the seal of the manifest if it differs from the last one."""
    with ledger_lock(layout):
        if (ledger := _opened(layout)).manifest_seal != seal:
            append_entry(layout, ledger, "manifest", ["files sealed"], manifest=seal)


def record_control(layout: Layout, said: str) -> None:
    """Append what was changed while the experiment runs; the caller holds the lock."""
    called = has_calls(layout)
    append_entry(layout, _opened(layout) if called else read_ledger(layout), "control", [said], after_calls=called)


def record_damage(layout: Layout, kind: str, said: Sequence[str]) -> None:
    """Append what is wrong with files of the experiment, once: an entry of the kind `damage` or `logs`."""
    if said:
        with ledger_lock(layout):
            ledger = read_ledger(layout)
            if new := sorted(set(said) - {each for entry in ledger.of_kind(kind) for each in entry.said}):
                append_entry(layout, ledger, kind, new)


def is_experiment(layout: Layout) -> bool:
    """Return whether a folder holds an experiment of this program: it has calls or a ledger."""
    return Path(layout.ledger).is_file() or has_calls(layout)


def has_calls(layout: Layout) -> bool:
    """Return whether there is a call log or a record that is not empty, or a tally with calls."""
    files = (path for stage in ("calls", "debates") for path in Path(layout.root, stage).rglob("*.jsonl"))
    return any(path.stat().st_size for path in files) or spent_so_far(Path(layout.spent)).attempts > 0


def _opened(layout: Layout) -> Ledger:
    """Return the ledger; one without entries begins by saying that it is late."""
    ledger = read_ledger(layout)
    return ledger if ledger.entries else append_entry(layout, ledger, "opened", [LATE])

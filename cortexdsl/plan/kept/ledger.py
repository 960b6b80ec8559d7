"""The ledger of an experiment: what was declared, what changed after that, which verdicts were given; append-only.

`ledger.jsonl` has an entry a line, each with the seal of the one before and its own (a digest of the rest but for the
time), so that a line that is edited, left out or moved breaks the chain. Whoever rewrites every file can rewrite
history; whoever removes some, or edits one, is seen:

- without a ledger, calls that exist were declared by nobody, and the new ledger begins by saying so;
- without call logs and debates, what was spent is known, and every entry that was written after calls;
- `declared.json`, made before the first call, and the table of verdicts hold the seal that the ledger had then.

An entry is written by whoever finds that something is new: the job that declares, each job before it asks, the job that
writes the plan, the verdict. Writers wait for each other (flock).
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from cortexdsl.errors import RecordError
from cortexdsl.models.limits.ledger import spent_so_far
from cortexdsl.plan.kept.declaration import SEED, WORDS, Declaration, changes
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.records.files import write_lines
from cortexdsl.spec.claims.language import claims_digest

SCHEMA_VERSION = 1
DECLARED_VERSION = 2
LATE = "calls existed before this ledger: nothing here was declared before the run"
EARLIER = "an earlier version of cortexdsl declared these claims, and nothing else"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line.

    Attributes
    ----------
    kind : str
        `declared` (a declaration; `said` names what changed since the one before), `verdicts`, or `opened` (by a
        verdict, where there was no ledger).
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
    """

    kind: str
    said: tuple[str, ...]
    after_calls: bool
    declaration: Declaration
    verdicts: tuple[Mapping[str, Any], ...]
    seed: int | None
    at: str
    seal: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a ledger says, and what is wrong with it.

    Attributes
    ----------
    entries : tuple of Entry
    faults : tuple of str
        Lines that are no entries or do not continue the line before; and that it is missing though calls were made.
    """

    entries: tuple[Entry, ...]
    faults: tuple[str, ...] = ()

    @property
    def seal(self) -> str:
        """The seal of the last entry; empty without any."""
        return self.entries[-1].seal if self.entries else ""

    @property
    def declarations(self) -> tuple[Entry, ...]:
        """Every declaration, in order."""
        return tuple(entry for entry in self.entries if entry.kind == "declared")

    @property
    def before(self) -> Declaration | None:
        """What was declared when no call had been made: the last such declaration; None where there is none."""
        early = [entry for entry in self.declarations if not entry.after_calls]
        return early[-1].declaration if early else None

    @property
    def now(self) -> Declaration | None:
        """What holds now."""
        return self.declarations[-1].declaration if self.declarations else None

    @property
    def since(self) -> tuple[str, ...]:
        """What differs now from what was declared before the first call, in words."""
        return tuple(changes(self.before, self.now)) if self.before and self.now else ()

    @property
    def claims(self) -> tuple[str, ...]:
        """The claims that were declared before the first call."""
        return tuple(self.before["claims"]) if self.before else ()

    @property
    def runs(self) -> tuple[Entry, ...]:
        """Every time that verdicts were given on new results or claims."""
        return tuple(entry for entry in self.entries if entry.kind == "verdicts")

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of all runs, each once, in order."""
        return tuple(dict.fromkeys(run.seed for run in self.runs if run.seed is not None))


def read_ledger(layout: Layout) -> Ledger:
    """Read and verify an experiment's ledger; empty where it has none."""
    path, entries, faults, seal = Path(layout.ledger), [], [], ""
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    torn = bool(lines) and lines[-1] != b""
    for number, line in enumerate(line for line in lines if line):
        entry = _entry(line)
        if entry is None:
            cut = torn and line == lines[-1]
            faults.append(f"line {number + 1} of the ledger {'is cut off' if cut else 'is no entry'}")
            continue
        record, found = entry
        if record.get("before", "") != seal:
            faults.append(f"line {number + 1} of the ledger does not continue the line before it")
        if record["seal"] != _seal(record):
            faults.append(f"line {number + 1} of the ledger was edited")
        seal = record["seal"]
        entries.append(found)
    if not entries and has_calls(layout):
        faults.append("the ledger is missing, though calls were made")
    anchor = _anchor(layout)
    if anchor and anchor not in {entry.seal for entry in entries}:
        faults.append("the ledger lacks the entry that was written before the first call")
    return Ledger(tuple(entries), tuple(faults))


def declare(layout: Layout, declaration: Declaration) -> Ledger:
    """Write down what an experiment declares, where that differs from what stands there already."""
    with _writing(layout) as found:
        # Whoever removes calls and debates removes no entry that was written after them.
        ledger, called = found, has_calls(layout) or any(entry.after_calls for entry in found.entries)
        if ledger.now is None and called and (earlier := _declared_by_earlier_version(layout)) is not None:
            old = {**declaration, "claims": earlier}
            ledger = _append(layout, ledger, _declared((EARLIER,), old, after_calls=False))
        if ledger.now is None:
            said = (LATE if called else "declared before the first call",)
            ledger = _append(layout, ledger, _declared(said, declaration, after_calls=called))
        elif changed := changes(ledger.now, declaration):
            ledger = _append(layout, ledger, _declared(_replicating(changed), declaration, after_calls=called))
        if not called or not Path(layout.declared).is_file():
            _mark(layout, ledger)
        return ledger


def record_verdicts(layout: Layout, seed: int, verdicts: Sequence[Mapping[str, Any]], said: str) -> Ledger:
    """Write down the verdicts that were given, unless the last that stand there are the same.

    Nothing is written for tables from elsewhere: an experiment has calls or a ledger.
    """
    if not has_calls(layout) and not Path(layout.ledger).is_file():
        return Ledger(())
    with _writing(layout) as found:
        ledger = found
        if not ledger.entries:
            opened = {"kind": "opened", "after_calls": True, "seed": None, "said": [LATE]}
            ledger = _append(layout, ledger, opened)
        last = ledger.runs[-1] if ledger.runs else None
        if last is None or (last.seed, list(last.verdicts), last.said) != (seed, list(verdicts), (said,)):
            entry = {"kind": "verdicts", "after_calls": True, "seed": seed, "said": [said], "verdicts": list(verdicts)}
            return _append(layout, ledger, entry)
        return ledger


def has_calls(layout: Layout) -> bool:
    """Whether anything was asked or debated: a call log or a record that is not empty, or calls that were paid."""
    found = (path for stage in ("calls", "debates") for path in Path(layout.root, stage).rglob("*.jsonl"))
    return any(path.stat().st_size for path in found) or spent_so_far(Path(layout.ledgers)).calls > 0


def _declared(said: Sequence[str], declaration: Declaration, *, after_calls: bool) -> dict[str, Any]:
    seed = declaration[SEED]
    entry = {"kind": "declared", "after_calls": after_calls, "seed": seed, "said": list(said)}
    return {**entry, "declaration": dict(declaration)}


def _replicating(found: Sequence[str]) -> list[str]:
    return [f"{change}: a replication" if change.startswith(f"{SEED}:") else change for change in found]


# ------------------------------------------------------------ the file
@contextmanager
def _writing(layout: Layout) -> Iterator[Ledger]:
    """Wait until nobody else writes, and read what stands there."""
    path = Path(layout.ledger)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RecordError(f"{path}: the ledger cannot be opened: {error.strerror}") from error
    try:
        with suppress(OSError):  # a file system without locks: entries are single writes, and are verified
            fcntl.flock(file, fcntl.LOCK_EX)
        yield read_ledger(layout)
    finally:
        os.close(file)


def _append(layout: Layout, ledger: Ledger, entry: Mapping[str, Any]) -> Ledger:
    """Write one entry and return the ledger with it."""
    record = {"schema_version": SCHEMA_VERSION, **entry, "before": ledger.seal}
    record["seal"] = _seal(record)
    record["at"] = datetime.now(UTC).isoformat(timespec="seconds")
    path = Path(layout.ledger)
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        torn = size > 0 and file.read(1) != b"\n"  # a line that was cut off stays, to be seen
    with path.open("ab") as file:
        file.write(b"\n" * torn + json.dumps(record).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return read_ledger(layout)


def _seal(record: Mapping[str, Any]) -> str:
    content = {key: value for key, value in record.items() if key not in ("seal", "at")}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _entry(line: bytes) -> tuple[dict[str, Any], Entry] | None:
    try:
        record = json.loads(line)
        found = Entry(
            kind=str(record["kind"]),
            said=tuple(map(str, record["said"])),
            after_calls=bool(record["after_calls"]),
            declaration=_checked(record.get("declaration")),
            verdicts=tuple(record.get("verdicts") or ()),
            seed=record.get("seed"),
            at=str(record.get("at", "")),
            seal=str(record["seal"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if record.get("schema_version", 0) > SCHEMA_VERSION:
        raise RecordError("the ledger was written by a later version of cortexdsl\n    update cortexdsl")
    return record, found


def _checked(declaration: Any) -> Declaration:
    """A declaration with every word that others look up."""
    return {word: declaration[word] for word in WORDS} if declaration is not None else {}


# ------------------------------------------------------------ declared.json, made before the first call
def _mark(layout: Layout, ledger: Ledger) -> None:
    """Keep the claims and the ledger's seal beside it, for people, for the workflow, and against removal."""
    claims = list(ledger.claims)
    digest = claims_digest(claims)
    record = {"schema_version": DECLARED_VERSION, "claims": claims, "claims_digest": digest, "ledger": ledger.seal}
    if _declared_record(layout) != record:  # an equal file keeps its age, which jobs look at
        write_lines(Path(layout.declared), [json.dumps(record, indent=1)])


def _declared_record(layout: Layout) -> dict[str, Any] | None:
    try:
        record = json.loads(Path(layout.declared).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def _declared_by_earlier_version(layout: Layout) -> list[str] | None:
    record = _declared_record(layout) or {}
    if record.get("schema_version") != 1 or not isinstance(record.get("claims"), list):
        return None
    return [" ".join(str(claim).split()) for claim in record["claims"]]


def _anchor(layout: Layout) -> str:
    return str((_declared_record(layout) or {}).get("ledger", ""))

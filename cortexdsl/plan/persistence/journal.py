"""The journal of an experiment: what was declared, run and changed, and the digest of every file of its jobs.

The journal lies in two append-only files, which `read_journal` folds into one value. All writers are in `recording`.

`ledger.jsonl` is a chain: each line holds the seal of the line before it and its own seal, a digest of the rest without
the time. A line that was edited, removed or moved breaks the chain. A person who rewrites every file can rewrite
history, unless the first seal was published before the run (`cortexdsl ledger`).

`manifest.jsonl` has a line for each file that a job has written, and the last line of a path counts. The order of jobs
is a matter of chance and the seals are not, so these lines are outside the chain: the job that gives the verdicts seals
all of them together, in a line of its own and in the chain. The manifest also names the last entry of the chain, so
that each of the two files tells if the other one was cut:

- a file that differs from its line was damaged or edited, and a line that was edited breaks the seal;
- without a ledger, existing calls were not declared, and the new ledger begins with an entry that says so;
- without call logs and debates, the sum of what was spent is known, and every entry that was written after calls;
- `declared.json`, made before the first call, and the table of verdicts hold the seal that the ledger had then.

Lines of call logs hold the size and digest that a log had when its job ended: it may grow later. They and the pages of
the report are not sealed, as they hold times. A file without a line is accepted before the first seal. A kill between
two writes leaves a manifest with a seal that is not in the ledger yet, or a ledger with a newer entry than the manifest
names: neither is a fault.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from cortexdsl.checksums import LineState, line_state
from cortexdsl.claims.values import one_line
from cortexdsl.core import EMPTY
from cortexdsl.errors import RecordError
from cortexdsl.models.spending import spent_so_far
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import LEARNED, WORDS, Declaration, changes, first_seal
from cortexdsl.plan.persistence.file_entries import FileEntry, damage_of, is_sealed
from cortexdsl.typed_json import Codec, text

SCHEMA_VERSION = 1
LACKS_FIRST = "the ledger lacks the entry that was written before the first call"


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


@dataclass(frozen=True)
class Manifest:
    """The lines of a manifest.

    Attributes
    ----------
    sealed : mapping of path to FileEntry
        The entries at the last seal.
    later : mapping of path to FileEntry or None
        Entries after it; None for a file that its job no longer writes.
    seal : str
        The seal that counts: the one in the ledger, else the last; empty if there is none.
    ledger_entry : str
        The seal of the ledger's last entry; empty in manifests of earlier versions.
    damaged_lines : tuple of int
        Numbers of the lines that cannot be read.
    """

    sealed: Mapping[str, FileEntry]
    later: Mapping[str, FileEntry | None]
    seal: str
    ledger_entry: str
    damaged_lines: tuple[int, ...]

    @cached_property
    def files(self) -> Mapping[str, FileEntry]:
        """The entry of each path."""
        return _present(self.sealed, self.later)

    @property
    def unsealed(self) -> list[str]:
        """Paths whose data were written after the last seal."""
        return [path for path in self.later if is_sealed(path)]


def _present(sealed: Mapping[str, FileEntry], later: Mapping[str, FileEntry | None]) -> dict[str, FileEntry]:
    return {path: entry for path, entry in {**sealed, **later}.items() if entry is not None}


@lru_cache(maxsize=4)
def _read_manifest(lines: bytes, chained_seal: str) -> Manifest:
    """Read the lines of a manifest: a command that reads the journal several times parses them once.

    A seal that a killed job did not bring into the ledger does not count.
    """
    sealed: dict[str, FileEntry] = {}
    later: dict[str, FileEntry | None] = {}
    seal, ledger_entry, damaged = "", "", []
    for number, line in enumerate(lines.splitlines(), 1):
        match _parsed(line):
            case ("path", path, entry):
                later[path] = entry
            case ("seal", new, _) if not seal or seal != chained_seal or seal == new:
                sealed, later, seal = _present(sealed, later), {}, new
            case ("ledger", last, _):
                ledger_entry = last
            case None:
                damaged.append(number)
    return Manifest(sealed, later, seal, ledger_entry, tuple(damaged))


@dataclass(frozen=True)
class Journal:
    """Everything that an experiment has recorded of itself; empty if it has recorded nothing.

    Attributes
    ----------
    layout : Layout
    entries : tuple of LedgerEntry
    chain_faults : tuple of str
        Lines of the ledger that are not entries or do not continue the line before; a missing ledger although calls
        were made.
    manifest_lines : bytes
        Read when a file is asked for: a debate job needs the entries alone.
    """

    layout: Layout
    entries: tuple[LedgerEntry, ...] = ()
    chain_faults: tuple[str, ...] = ()
    manifest_lines: bytes = field(default=b"", repr=False)

    # What was declared, tested and changed

    def of_kind(self, *kinds: str) -> tuple[LedgerEntry, ...]:
        """Return the entries of some kinds, in order."""
        return tuple(entry for entry in self.entries if entry.kind in kinds)

    @property
    def is_kept(self) -> bool:
        """Whether there is a ledger, or one is missing: tables of other programs have none."""
        return bool(self.entries or self.chain_faults)

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
        """The last seal of the manifest in the ledger; empty if there is none."""
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

    @cached_property
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

    # The files of its jobs

    @property
    def manifest(self) -> Manifest:
        """The lines of the manifest."""
        return _read_manifest(self.manifest_lines, self.manifest_seal)

    @property
    def files(self) -> Mapping[str, FileEntry]:
        """The entry of each path."""
        return self.manifest.files

    def damage_of(self, path: str, *, is_quick: bool = False) -> str | None:
        """Return what is wrong with a file that has an entry, in words; None if it is as it was written."""
        return damage_of(Path(self.layout.root), path, self.files[path], is_quick=is_quick)

    def is_damaged(self, path: str) -> bool:
        """Return whether a file has an entry, and is not as it was written."""
        return path in self.files and self.damage_of(path, is_quick=True) is not None

    # What is not in order

    @cached_property
    def manifest_fault(self) -> str:
        """Why the sealed entries are not those of the last verdicts, in words; empty if they are.

        A line that cannot be read matters only below the seal: a crash may cut off a later one.
        """
        seal = self.manifest.seal
        if self.manifest_seal not in ("", seal):
            return "its last seal is not the one in the ledger" if seal else "it is missing, cut or has no seal"
        return "its entries differ from their seal" if seal and seal != seal_of(self.manifest.sealed) else ""

    @cached_property
    def missing_entries(self) -> tuple[str, ...]:
        """Which entries the ledger lacks, in words, by the seals of entries that other files name.

        The manifest names the last entry, and hypotheses.csv the entry of its verdicts. An entry is in the ledger
        before either is written, so that a kill leaves no such seal.
        """
        known, verdicts = {"", *(entry.seal for entry in self.entries)}, Path(self.layout.hypotheses).name
        by_file = {"manifest.jsonl": {self.manifest.ledger_entry}, verdicts: set[str]()}
        if verdicts not in self.files or not self.damage_of(verdicts):  # a damaged table names anything
            by_file[verdicts] = _verdict_seals(Path(self.layout.hypotheses))
        return tuple(
            f"entries at the end of the ledger are missing: {name} names one by its seal"
            for name, seals in by_file.items()
            if seals - known
        )

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the history of an experiment is not reliable, in words: `ledger`, `verify` and the report say it."""
        of_manifest = [f"manifest.jsonl: {self.manifest_fault}"] if self.manifest_fault else []
        return tuple(dict.fromkeys([*self.chain_faults, *self.missing_entries, *of_manifest]))


def read_journal(layout: Layout) -> Journal:
    """Read the journal of an experiment, and verify its chain.

    A run may write both files meanwhile, so the ledger is read again until it has not changed.

    Raises
    ------
    RecordError
        An entry is of a later version.
    """
    ledger = _content(layout.ledger)
    while True:
        manifest = _content(layout.manifest)
        if ledger == (ledger := _content(layout.ledger)):
            return Journal(layout, *_chain(layout, ledger.split(b"\n")), manifest)


def _content(path: str) -> bytes:
    return Path(path).read_bytes() if Path(path).is_file() else b""


def _chain(layout: Layout, lines: list[bytes]) -> tuple[tuple[LedgerEntry, ...], tuple[str, ...]]:
    """Return the entries of a ledger, and its faults."""
    entries: list[LedgerEntry] = []
    faults, seal, torn = [], "", lines[-1]
    for number, line in enumerate(filter(None, lines), 1):
        try:
            record = json.loads(line)
            entry = _entry(record)
        except (ValueError, KeyError, TypeError, RecursionError):
            faults.append(f"line {number} of the ledger is {'cut off' if line == torn else 'not an entry'}")
            continue
        if record.get("before", "") != seal:
            faults.append(f"line {number} of the ledger does not continue the line before it")
        if entry.seal != entry_seal(record):
            faults.append(f"line {number} of the ledger was edited")
        seal = entry.seal
        entries.append(entry)
    faults += [said for entry in entries if entry.kind == "damage" for said in entry.said]
    if not entries and has_calls(layout):
        faults.append("the ledger is missing, though calls were made")
    if (first := first_seal(layout)) and first not in {entry.seal for entry in entries}:
        faults.append(LACKS_FIRST)
    return tuple(entries), tuple(faults)


def _completed(declaration: Mapping[str, Any]) -> Declaration:
    """Return a declaration with every word that readers need."""
    return {word: {"prompts": {}, **declaration}[word] for word in (*WORDS, *({LEARNED} & {*declaration}))}


CODEC = Codec({"LedgerEntry.declaration": (dict, _completed)}, always=("FileEntry.modified",))
"""Of the lines of both files."""


def _entry(record: Mapping[str, Any]) -> LedgerEntry:
    entry = CODEC.read(LedgerEntry, record)
    if record.get("schema_version", 0) > SCHEMA_VERSION:
        raise RecordError("the ledger was written by a later version of cortexdsl\n    update cortexdsl")
    return entry


def entry_seal(record: Mapping[str, Any]) -> str:
    """Return the seal of a line of the ledger: a digest of all but the seal and the time."""
    content = {key: value for key, value in record.items() if key not in ("seal", "at")}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def seal_of(entries: Mapping[str, FileEntry]) -> str:
    """Return one digest over sizes and digests of all entries that are sealed, whatever their order and times."""
    lines = (f"{path}\0{one.size}\0{one.sha256}\n" for path, one in sorted(entries.items()) if is_sealed(path))
    return sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _parsed(line: bytes) -> tuple[str, str, FileEntry | None] | None:
    """Return what a line of the manifest names (a path or a seal), and the entry of the path; None if it is damaged."""
    try:
        record = json.loads(line) if line_state(line) is LineState.WHOLE else EMPTY
        word = next(word for word in ("path", "seal", "ledger") if word in record)
        has_entry = word == "path" and record["size"] is not None
        return word, text(record[word]), CODEC.read(FileEntry, record) if has_entry else None
    except (ValueError, KeyError, TypeError, StopIteration, RecursionError):
        return None


def _verdict_seals(path: Path) -> set[str]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return {row.get("ledger") or "" for row in csv.DictReader(file)}
    except (OSError, ValueError, csv.Error):  # missing or damaged: it has an entry
        return set()


def is_experiment(layout: Layout) -> bool:
    """Return whether a folder holds an experiment of this program: it has calls or a ledger."""
    return Path(layout.ledger).is_file() or has_calls(layout)


def has_calls(layout: Layout) -> bool:
    """Return whether there is a call log or a record that is not empty, or a tally with calls."""
    files: Iterable[Path] = (
        path for stage in ("calls", "debates") for path in Path(layout.root, stage).rglob("*.jsonl")
    )
    return any(path.stat().st_size for path in files) or spent_so_far(Path(layout.spent)).attempts > 0

"""The journal of an experiment: its ledger, and its manifest with the size and SHA-256 of every file of its jobs.

`manifest.jsonl` is append-only: a job adds a line for each file when it has written it, and the last line of a path
counts. The job that gives the verdicts adds a seal: one digest over all entries so far, which it then writes into the
ledger. So a file that differs from its entry was damaged or edited, and an entry that was edited breaks the seal. The
seal of each new entry of the ledger is added here after the entry, so that a ledger without this entry was cut. A kill
between two writes leaves a manifest with a seal that is not in the ledger yet, or a ledger with a newer entry than the
manifest names: neither is a fault.

Entries of call logs hold the size and digest that a log had when its job ended: it may grow later. They and the pages
of the report are not sealed, as they hold times. A file without an entry is accepted before the first seal.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from cortexdsl.checksums import LineState, append_lines, line_state, with_checksum, write_lines
from cortexdsl.core import EMPTY
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.file_entries import (
    PAGES,
    FileEntry,
    below_root,
    damage_of,
    entry_of,
    is_log,
    is_page,
    is_sealed,
)
from cortexdsl.plan.persistence.ledger import Ledger, is_experiment, ledger_lock, read_ledger, record_seal
from cortexdsl.program import program_version
from cortexdsl.typed_json import Codec, text

_CODEC = Codec(always=("FileEntry.modified",))


@dataclass(frozen=True)
class Journal:
    """The ledger and the manifest of an experiment, read together.

    Attributes
    ----------
    layout : Layout
    ledger : Ledger
    sealed : mapping of path to FileEntry
        The entries at the last seal.
    later : mapping of path to FileEntry or None
        Entries after it; None for a file that its job no longer writes.
    seal : str
        The seal that counts: the one in the ledger, else the last; empty if there is none.
    ledger_entry : str
        The seal of the ledger's last entry, as the manifest names it; empty in manifests of earlier versions.
    damaged_lines : tuple of int
        Numbers of the lines of the manifest that cannot be read.
    """

    layout: Layout
    ledger: Ledger
    sealed: Mapping[str, FileEntry] = field(default_factory=dict)
    later: Mapping[str, FileEntry | None] = field(default_factory=dict)
    seal: str = ""
    ledger_entry: str = ""
    damaged_lines: tuple[int, ...] = ()

    @cached_property
    def files(self) -> Mapping[str, FileEntry]:
        """The entry of each path."""
        return {path: entry for path, entry in {**self.sealed, **self.later}.items() if entry is not None}

    @property
    def has_files(self) -> bool:
        """Whether the manifest has entries, a seal or damaged lines."""
        return bool(self.sealed or self.later or self.seal or self.damaged_lines)

    @property
    def unsealed(self) -> tuple[str, ...]:
        """Paths whose data were written after the last seal."""
        return tuple(path for path in self.later if is_sealed(path))

    @cached_property
    def manifest_fault(self) -> str:
        """Why the sealed entries are not those of the last verdicts, in words; empty if they are.

        A line that cannot be read matters only below the seal: a crash may cut off a later one.
        """
        if self.ledger.manifest_seal not in ("", self.seal):
            return "its last seal is not the one in the ledger" if self.seal else "it is missing, cut or has no seal"
        return "its entries differ from their seal" if self.seal and self.seal != seal_of(self.sealed) else ""

    @cached_property
    def missing_entries(self) -> tuple[str, ...]:
        """Which entries the ledger lacks, in words, by the seals of entries that other files name.

        The manifest names the last entry, and hypotheses.csv the entry of its verdicts. An entry is in the ledger
        before either is written, so that a kill leaves no such seal.
        """
        known, verdicts = {"", *(entry.seal for entry in self.ledger.entries)}, Path(self.layout.hypotheses).name
        by_file = {"manifest.jsonl": {self.ledger_entry}, verdicts: set[str]()}
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
        return tuple(dict.fromkeys([*self.ledger.faults, *self.missing_entries, *of_manifest]))

    def damage_of(self, path: str, *, is_quick: bool = False) -> str | None:
        """Return what is wrong with a file that has an entry, in words; None if it is as it was written."""
        return damage_of(Path(self.layout.root), path, self.files[path], is_quick=is_quick)


def _verdict_seals(path: Path) -> set[str]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return {row.get("ledger") or "" for row in csv.DictReader(file)}
    except (OSError, ValueError, csv.Error):  # missing or damaged: it has an entry
        return set()


def seal_of(entries: Mapping[str, FileEntry]) -> str:
    """Return one digest over sizes and digests of all entries that are sealed, whatever their order and times."""
    lines = (f"{path}\0{one.size}\0{one.sha256}\n" for path, one in sorted(entries.items()) if is_sealed(path))
    return sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def read_journal(layout: Layout) -> Journal:
    """Read the ledger and the manifest of an experiment; empty if it has none.

    If a job was killed between its seal and the ledger, the seal that counts is the one in the ledger. A run may write
    both files meanwhile, so the ledger is read again until it has not changed.
    """
    ledger = read_ledger(layout)
    while True:
        journal = _read(layout, ledger)
        if ledger == (ledger := read_ledger(layout)):
            return journal


def _read(layout: Layout, ledger: Ledger) -> Journal:
    try:
        lines = Path(layout.manifest).read_bytes().splitlines()
    except OSError:
        return Journal(layout, ledger)
    sealed: dict[str, FileEntry | None] = {}
    later: dict[str, FileEntry | None] = {}
    seal, ledger_entry, damaged = "", "", []
    for number, line in enumerate(lines, 1):
        match _parsed(line):
            case ("path", path, entry):
                later[path] = entry
            case ("seal", new, _) if not seal or seal != ledger.manifest_seal or seal == new:
                sealed, later, seal = {**sealed, **later}, {}, new
            case ("ledger", last, _):
                ledger_entry = last
            case None:
                damaged.append(number)
    entries = {path: entry for path, entry in sealed.items() if entry is not None}
    return Journal(layout, ledger, entries, later, seal, ledger_entry, tuple(damaged))


def _parsed(line: bytes) -> tuple[str, str, FileEntry | None] | None:
    """Return what a line of the manifest names (a path or a seal), and the entry of the path; None if it is damaged."""
    try:
        record = json.loads(line) if line_state(line) is LineState.WHOLE else {}
        word = next(word for word in ("path", "seal", "ledger") if word in record)
        has_entry = word == "path" and record["size"] is not None
        return word, text(record[word]), _CODEC.read(FileEntry, record) if has_entry else None
    except (ValueError, KeyError, TypeError, StopIteration, RecursionError):
        return None


def _line(path: str, entry: FileEntry | None) -> str:
    values = _CODEC.write(entry) if entry else dict.fromkeys(("size", "sha256", "modified"))
    return with_checksum(json.dumps({"path": path, **values}))


def record_files(layout: Layout, paths: Iterable[str | Path]) -> None:
    """Add entries for files that the caller has just written, and for logs that exist.

    Nothing is written for tables of other programs.
    """
    root, program = Path(layout.root), program_version()
    names = [below_root(path, root) for path in paths if Path(path).is_relative_to(root)]
    names = [name for name in names if not is_log(name) or (root / name).exists()]
    if is_experiment(layout):
        _append(layout, (_line(name, entry_of(root / name, program)) for name in names))


def record_pages(layout: Layout) -> None:
    """Add entries for everything that the report has written, and forget pages that it no longer writes."""
    if not is_experiment(layout):
        return
    root, program = Path(layout.root), program_version()
    places = (path for page in PAGES for path in (root / page, *(root / page).rglob("*")))
    files = (path for path in places if path.is_file() and not path.name.startswith("."))
    pages = {path.relative_to(root).as_posix(): entry_of(path, program) for path in files}
    known = {path: entry for path, entry in read_journal(layout).files.items() if is_page(path)}
    gone = [_line(path, None) for path in known if path not in pages]
    _append(layout, [*gone, *(_line(path, entry) for path, entry in pages.items() if known.get(path) != entry)])


def seal_manifest(layout: Layout) -> None:
    """Seal all entries so far, and write the seal into the ledger; an equal seal is not repeated."""
    if not is_experiment(layout):
        return
    journal = read_journal(layout)
    seal = seal_of(journal.files)
    if journal.seal != seal or journal.unsealed:
        _append(layout, [_note("seal", seal)], durable=True)  # before the ledger, which is on disk at the end, names it
    record_seal(layout, seal)


def _note(word: str, seal: str) -> str:
    return with_checksum(json.dumps({word: seal}))


def _append(layout: Layout, lines: Iterable[str], *, durable: bool = False) -> None:
    """Append lines under the lock of the ledger, as this file may be replaced."""
    with ledger_lock(layout):
        append_lines(Path(layout.manifest), lines, durable=durable)


def refresh_manifest(layout: Layout, modified: Mapping[str, int] = EMPTY) -> None:
    """Write a manifest again, atomically: without superseded and damaged lines, and with new times of some files."""
    with ledger_lock(layout):
        journal = read_journal(layout)
        sealed, later = (
            [_line(path, one and replace(one, modified=modified.get(path, one.modified))) for path, one in part.items()]
            for part in (journal.sealed, journal.later)
        )
        seal = [_note("seal", journal.seal)] if journal.seal else []
        ledger = [_note("ledger", journal.ledger_entry)] if journal.ledger_entry else []
        write_lines(Path(layout.manifest), [*sealed, *seal, *later, *ledger])

"""The manifest of an experiment: the size and SHA-256 of every file that its jobs wrote.

`manifest.jsonl` is append-only: a job adds a line for each file when it has written it, and the last line of a path
counts. The job that gives the verdicts adds a seal: one digest over all entries so far, which it then writes into the
ledger. So a file that differs from its entry was damaged or edited, and an entry that was edited breaks the seal. The
seal of each new entry of the ledger is added here after the entry, so that a ledger without this entry was cut. A kill
between two writes leaves a manifest with a seal that is not in the ledger yet, or a ledger with a newer entry than the
manifest names: neither is a fault.

Entries of call logs hold the size and digest that a log had when its job ended: it may grow later. They and the pages
of the report are not sealed, as they hold times. A file without an entry is accepted: an earlier version of cortexdsl
wrote it, or another program. Such versions kept digests of tables in the ledger, which are still compared.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from cortexdsl.checksums import LineState, append_lines, line_state, with_checksum, write_lines
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.ledger import is_experiment, ledger_lock, read_ledger, record_seal
from cortexdsl.program import program_version

PAGES = ("report.html", "view.html", "figures", "tables")
"""What the report writes: files and folders."""
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """What a job wrote to a file.

    Attributes
    ----------
    size : int
        In bytes; of a call log the bytes that it had when its job ended.
    digest : str
        SHA-256 of these bytes.
    modified : int
        Time of the last change in nanoseconds, so that unchanged files need not be read; -1 if it is not known.
    program : str
        Version of the program that wrote it; empty if it is not known. No seal covers it: no verdict depends on it.
    """

    size: int
    digest: str
    modified: int = -1
    program: str = ""


@dataclass(frozen=True)
class Manifest:
    """The entries of a manifest.

    Attributes
    ----------
    sealed : mapping of path to Entry
        The entries at the last seal.
    later : mapping of path to Entry or None
        Entries after it; None for a file that its job no longer writes.
    seal : str
        The seal that counts: the one in the ledger, else the last; empty if there is none.
    ledger_entry : str
        The seal of the ledger's last entry; empty in manifests of earlier versions.
    faults : tuple of str
        Lines that cannot be read, in words.
    lines : int
        Of entries, seals and faults.
    """

    sealed: Mapping[str, Entry] = field(default_factory=dict)
    later: Mapping[str, Entry | None] = field(default_factory=dict)
    seal: str = ""
    ledger_entry: str = ""
    faults: tuple[str, ...] = ()
    lines: int = 0

    @cached_property
    def files(self) -> Mapping[str, Entry]:
        """The entry of each path."""
        return {path: entry for path, entry in {**self.sealed, **self.later}.items() if entry is not None}

    @property
    def unsealed(self) -> tuple[str, ...]:
        """Paths whose data were written after the last seal."""
        return tuple(path for path in self.later if is_sealed(path))

    def problem(self, ledger_seal: str) -> str | None:
        """Return why the sealed entries are not those of the last verdicts; None if they are.

        A line that cannot be read matters only below the seal: a crash may cut off a later one.

        Parameters
        ----------
        ledger_seal : str
            The last one in the ledger; empty if it has none.
        """
        if self.seal != ledger_seal and ledger_seal:
            return "its last seal is not the one in the ledger" if self.seal else "it is missing, cut or has no seal"
        return "its entries differ from their seal" if self.seal and self.seal != seal_of(self.sealed) else None


def seal_of(entries: Mapping[str, Entry | None]) -> str:
    """Return one digest over sizes and digests of all entries that are sealed, whatever their order and times."""
    lines = (f"{path}\0{one.size}\0{one.digest}\n" for path, one in sorted(entries.items()) if one and is_sealed(path))
    return sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def is_page(path: str) -> bool:
    """Return whether a path below an experiment's folder is of the report."""
    return path.partition("/")[0] in PAGES


def is_log(path: str) -> bool:
    """Return whether a path below an experiment's folder is a log of calls or searches, which only grows."""
    return not {"calls", "searches"}.isdisjoint(PurePosixPath(path).parts[:-1])


def is_sealed(path: str) -> bool:
    """Return whether a path belongs to what a seal covers."""
    return not (is_page(path) or is_log(path))


def read_manifest(layout: Layout) -> Manifest:
    """Read an experiment's manifest; empty if it has none.

    If a job was killed between its seal and the ledger, the seal that counts is the one in the ledger.
    """
    try:
        lines = Path(layout.manifest).read_bytes().splitlines()
    except OSError:
        return Manifest()
    records = [_parsed(line) for line in lines]
    faults = tuple(f"line {number} cannot be read" for number, record in enumerate(records, 1) if record is None)
    seals = [number for number, record in enumerate(records) if record and "seal" in record]
    in_ledger = read_ledger(layout).manifest_seal
    known = [number for number in seals if (records[number] or {})["seal"] == in_ledger]
    place = (known or seals or [-1])[-1]
    before, after = (
        {record["path"]: _entry(record) for record in part if record and "path" in record}
        for part in (records[: place + 1], records[place + 1 :])
    )
    sealed = {path: entry for path, entry in before.items() if entry is not None}
    seal = str((records[place] or {})["seal"]) if place >= 0 else ""
    entry = next((str(record["ledger"]) for record in reversed(records) if record and "ledger" in record), "")
    return Manifest(sealed, after, seal, entry, faults, sum(_is_of_files(record) for record in records))


def _is_of_files(record: Mapping[str, Any] | None) -> bool:
    return record is None or "path" in record or "seal" in record


def _parsed(line: bytes) -> dict[str, Any] | None:
    if line_state(line) is not LineState.WHOLE:
        return None
    try:
        record = json.loads(line)
        if "seal" not in record and "ledger" not in record:
            _entry(record)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _entry(record: Mapping[str, Any]) -> Entry | None:
    path, size, program = record["path"], record["size"], str(record.get("program", ""))
    if not isinstance(path, str):
        raise TypeError(path)
    if size is None:
        return None
    return Entry(int(size), str(record["sha256"]), int(record["modified"]), program)


def _line(path: str, entry: Entry | None) -> str:
    size, digest, modified = (entry.size, entry.digest, entry.modified) if entry else (None, None, None)
    record = {"path": path, "size": size, "sha256": digest, "modified": modified}
    program = {"program": entry.program} if entry and entry.program else {}
    return with_checksum(json.dumps(record | program))


def record_files(layout: Layout, paths: Iterable[str | Path]) -> None:
    """Add entries for files that the caller has just written, and for logs that exist.

    Nothing is written for tables of other programs.
    """
    named = [below_root(path, Path(layout.root)) for path in paths if Path(path).is_relative_to(layout.root)]
    named = [name for name in named if not is_log(name) or Path(layout.root, name).exists()]
    if is_experiment(layout):
        program = program_version()
        _append(layout, (_line(name, _new_entry(Path(layout.root, name), program)) for name in named))


def record_pages(layout: Layout) -> None:
    """Add entries for everything that the report has written, and forget pages that it no longer writes."""
    if not is_experiment(layout):
        return
    root, program = Path(layout.root), program_version()
    places = (path for page in PAGES for path in (root / page, *(root / page).rglob("*")))
    pages = {path.relative_to(root).as_posix(): _new_entry(path, program) for path in places if _is_own(path)}
    known = {path: entry for path, entry in read_manifest(layout).files.items() if is_page(path)}
    gone = [_line(path, None) for path in known if path not in pages]
    _append(layout, [*gone, *(_line(path, entry) for path, entry in pages.items() if known.get(path) != entry)])


def _is_own(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")


def seal_manifest(layout: Layout) -> None:
    """Seal all entries so far, and write the seal into the ledger; an equal seal is not repeated."""
    if not is_experiment(layout):
        return
    manifest = read_manifest(layout)
    seal = seal_of({**manifest.sealed, **manifest.later})
    if manifest.seal != seal or manifest.unsealed:
        _append(layout, [_seal_line(seal)], durable=True)  # before the ledger, which is on disk at the end, names it
    record_seal(layout, seal)


def _seal_line(seal: str) -> str:
    return with_checksum(json.dumps({"seal": seal}))


def missing_entries(layout: Layout) -> list[str]:
    """Return in words which entries the ledger lacks, by the seals of entries that other files name.

    The manifest names the last entry, and hypotheses.csv the entry of its verdicts. An entry is in the ledger before
    either is written, so that a kill leaves no such seal.
    """
    manifest, verdicts = read_manifest(layout), Path(layout.hypotheses).name
    known = {entry.seal for entry in read_ledger(layout).entries}
    written = manifest.files.get(verdicts)
    is_whole = written is None or not damage_of(Path(layout.root), verdicts, written)  # a damaged table names anything
    by_file = {"manifest.jsonl": {manifest.ledger_entry}, verdicts: _verdict_seals(layout) if is_whole else set()}
    return [
        f"entries at the end of the ledger are missing: {name} names one by its seal"
        for name, seals in by_file.items()
        if seals - known - {""}
    ]


def _verdict_seals(layout: Layout) -> set[str]:
    try:
        with Path(layout.hypotheses).open(newline="", encoding="utf-8") as file:
            return {row.get("ledger") or "" for row in csv.DictReader(file)}
    except (OSError, ValueError, csv.Error):  # missing or damaged: it has an entry
        return set()


def _append(layout: Layout, lines: Iterable[str], *, durable: bool = False) -> None:
    """Append lines under the lock of the ledger, as this file may be replaced."""
    with ledger_lock(Path(layout.ledger)):
        append_lines(Path(layout.manifest), lines, durable=durable)


def refresh_manifest(layout: Layout, modified: Mapping[str, int]) -> None:
    """Write a manifest again: without superseded lines and lines that cannot be read, and with the files' times now."""
    with ledger_lock(Path(layout.ledger)):
        manifest = read_manifest(layout)
        sealed = {path: _at(one, modified.get(path)) for path, one in manifest.sealed.items()}
        later = {path: one and _at(one, modified.get(path)) for path, one in manifest.later.items()}
        write_manifest(layout, replace(manifest, sealed=sealed, later=later))


def _at(entry: Entry, modified: int | None) -> Entry:
    return entry if modified is None else replace(entry, modified=modified)


def write_manifest(layout: Layout, manifest: Manifest) -> None:
    """Write a manifest, atomically."""
    sealed = [_line(path, entry) for path, entry in manifest.sealed.items()]
    seal = [_seal_line(manifest.seal)] if manifest.seal else []
    later = [_line(path, entry) for path, entry in manifest.later.items()]
    ledger = [with_checksum(json.dumps({"ledger": manifest.ledger_entry}))] if manifest.ledger_entry else []
    write_lines(Path(layout.manifest), [*sealed, *seal, *later, *ledger])


def entry_of(path: Path) -> Entry:
    """Return the entry of a file as it is now."""
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        return Entry(state.st_size, _digest(file, state.st_size), state.st_mtime_ns)


def _new_entry(path: Path, program: str) -> Entry:
    return replace(entry_of(path), program=program)


def _digest(file: Any, size: int) -> str:
    """Digest the first `size` bytes of an open file."""
    digest, left = sha256(), size
    while left > 0 and (block := file.read(min(_BLOCK, left))):
        digest.update(block)
        left -= len(block)
    return digest.hexdigest()


def damage_of(root: Path, path: str, entry: Entry, *, is_quick: bool = False) -> str | None:
    """Return what is wrong with a file, in words; None if it is as it was written.

    Parameters
    ----------
    root : Path
        The experiment's folder.
    path : str
    entry : Entry
    is_quick : bool
        Whether a file with the size and time of its entry is believed without being read.
    """
    place = root / path
    try:
        with place.open("rb") as file:
            state = os.fstat(file.fileno())
            if state.st_size < entry.size:
                return "empty" if state.st_size == 0 else f"cut: {state.st_size:,} of {entry.size:,} bytes"
            is_whole = is_log(path) or state.st_size == entry.size
            if is_whole and is_quick and state.st_mtime_ns == entry.modified:
                return None
            if is_whole and _digest(file, entry.size) == entry.digest:
                return None
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return _change(place) if is_sealed(path) else "changed"


def _change(place: Path) -> str:
    lines = Counter(line for line in place.read_bytes().splitlines() if len(line) > 1)
    return "a line is repeated" if place.suffix == ".jsonl" and max(lines.values(), default=1) > 1 else "changed"


def below_root(path: str | Path, root: Path) -> str:
    """Return the path of a file below the folder of its experiment, as entries name it."""
    place = Path(path)
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else place.as_posix()

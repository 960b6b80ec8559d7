"""Writers of the journal of an experiment: entries of its ledger, and lines and seals of its manifest.

Writers wait for each other (flock). Entries are written by the job that declares, by each debate job before its first
call, by the job that writes the plan, by the verdict and other jobs that test and compare, which seal the manifest, by
a run that finds damage, and by `cortexdsl pause`, `resume` and `limit`. Every job adds a line for each file that it has
written.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cortexdsl.checksums import append_lines, with_checksum, write_lines
from cortexdsl.core import EMPTY
from cortexdsl.files import cannot_write, open_to_write, write_file
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import (
    SEED,
    Declaration,
    changes,
    claims_of_earlier_version,
    write_declared,
)
from cortexdsl.plan.persistence.file_entries import PAGES, FileEntry, below_root, entry_of, is_log, is_page
from cortexdsl.plan.persistence.journal import (
    CODEC,
    SCHEMA_VERSION,
    Journal,
    entry_seal,
    has_calls,
    is_experiment,
    read_journal,
    seal_of,
)
from cortexdsl.program import program_version

LATE = "calls existed before this ledger: nothing here was declared before the run"
FIRST = "declared before the first call"
ONLY_CLAIMS = "an earlier version of cortexdsl declared these claims, and nothing else"


@contextmanager
def journal_lock(layout: Layout) -> Iterator[None]:
    """Hold the lock of an experiment's journal.

    Raises
    ------
    RecordError
        The ledger cannot be opened, or is a link.
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
    journal: Journal, kind: str, said: Sequence[str], *, after_calls: bool = True, **content: Any
) -> Journal:
    """Append one entry, then its seal to the manifest, and return the journal with it; the caller holds the lock.

    The ledger is replaced as a whole, so that a power cut or a full disk leaves no half entry: a line that is cut off
    is damage. It is on disk at the end. A kill between the two writes leaves a ledger with one entry more than the
    manifest names, and this is in order.

    Raises
    ------
    RecordError
        The disk is full or fails.
    """
    path, seed = Path(journal.layout.ledger), content.pop("seed", None)
    record = {"schema_version": SCHEMA_VERSION, "kind": kind, "after_calls": after_calls, "seed": seed}
    record |= {"said": list(said), **content, "before": journal.seal}
    record["seal"] = entry_seal(record)
    record["at"] = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        earlier = path.read_bytes()
        torn = earlier != b"" and not earlier.endswith(b"\n")  # a line that was cut off stays visible
        write_file(path, (earlier, b"\n" * torn, json.dumps(record).encode() + b"\n"))
    except OSError as error:
        raise cannot_write(path, "the ledger cannot be written", error) from error
    append_lines(Path(journal.layout.manifest), [_line(ledger=record["seal"])])
    return read_journal(journal.layout)


def declare(layout: Layout, declaration: Declaration) -> Journal:
    """Append an experiment's declaration if it differs from the last one."""
    with journal_lock(layout):
        journal, seed = read_journal(layout), declaration[SEED]
        # If calls and debates were removed, the entries after them still show that there were calls.
        called = has_calls(layout) or any(entry.after_calls for entry in journal.entries)
        if journal.now is None and called and (earlier := claims_of_earlier_version(layout)) is not None:
            old = {**declaration, "claims": earlier}
            journal = append_entry(journal, "declared", [ONLY_CLAIMS], after_calls=False, seed=seed, declaration=old)
        said = changes(journal.now, declaration) if journal.now is not None else [LATE if called else FIRST]
        if said:
            new = dict(declaration)
            journal = append_entry(journal, "declared", said, after_calls=called, seed=seed, declaration=new)
        if not called or not Path(layout.declared).is_file():
            write_declared(layout, journal.claims, journal.seal)
        return journal


def record_verdicts(layout: Layout, seed: int, verdicts: Sequence[Mapping[str, Any]], said: str) -> Journal:
    """Append verdicts, unless they equal the last ones.

    Nothing is written for tables of other programs: an experiment has calls or a ledger.
    """
    if not is_experiment(layout):
        return Journal(layout)
    with journal_lock(layout):
        journal = _opened(read_journal(layout))
        last = journal.runs[-1] if journal.runs else None
        if last is None or (last.seed, list(last.verdicts), last.said) != (seed, list(verdicts), (said,)):
            return append_entry(journal, "verdicts", [said], seed=seed, verdicts=list(verdicts))
        return journal


def record_control(layout: Layout, said: str) -> None:
    """Append what was changed while the experiment runs; the caller holds the lock."""
    journal, called = read_journal(layout), has_calls(layout)
    append_entry(_opened(journal) if called else journal, "control", [said], after_calls=called)


def record_damage(layout: Layout, kind: str, said: Sequence[str]) -> None:
    """Append what is wrong with files of the experiment, once: an entry of the kind `damage` or `logs`."""
    if said:
        with journal_lock(layout):
            journal = read_journal(layout)
            if new := sorted(set(said) - {each for entry in journal.of_kind(kind) for each in entry.said}):
                append_entry(journal, kind, new)


def _opened(journal: Journal) -> Journal:
    """Return the journal; one without entries begins by saying that it is late."""
    return journal if journal.entries else append_entry(journal, "opened", [LATE])


# Lines of the manifest


def _line(path: str = "", entry: FileEntry | None = None, **seal: str) -> str:
    """Return the line of a file, with None of one that its job no longer writes, or of a seal."""
    values = CODEC.write(entry) if entry else dict.fromkeys(("size", "sha256", "modified"))
    return with_checksum(json.dumps(seal or {"path": path, **values}))


def record_files(layout: Layout, paths: Iterable[str | Path]) -> None:
    """Add lines for files that the caller has just written, and for logs that exist.

    Nothing is written for tables of other programs.
    """
    root, program = Path(layout.root), program_version()
    names = [below_root(path, root) for path in paths if Path(path).resolve().is_relative_to(root.resolve())]
    names = [name for name in names if not is_log(name) or (root / name).exists()]
    if is_experiment(layout):
        _append(layout, (_line(name, entry_of(root / name, program)) for name in names))


def record_pages(layout: Layout) -> None:
    """Add lines for everything that the report has written, and forget pages that it no longer writes."""
    if not is_experiment(layout):
        return
    root, program = Path(layout.root), program_version()
    places = (path for page in PAGES for path in (root / page, *(root / page).rglob("*")))
    files = (path for path in places if path.is_file() and not path.name.startswith("."))
    pages = {path.relative_to(root).as_posix(): entry_of(path, program) for path in files}
    known = {path: entry for path, entry in read_journal(layout).files.items() if is_page(path)}
    gone = [_line(path) for path in known if path not in pages]
    _append(layout, [*gone, *(_line(path, entry) for path, entry in pages.items() if known.get(path) != entry)])


def seal_manifest(layout: Layout) -> None:
    """Seal all lines so far, and write the seal into the ledger; an equal seal is not repeated."""
    if not is_experiment(layout):
        return
    journal = read_journal(layout)
    seal = seal_of(journal.files)
    if journal.manifest.seal != seal or journal.manifest.unsealed:
        _append(layout, [_line(seal=seal)], durable=True)  # before the ledger, which is on disk at the end, names it
    with journal_lock(layout):
        if (journal := _opened(read_journal(layout))).manifest_seal != seal:
            append_entry(journal, "manifest", ["files sealed"], manifest=seal)


def _append(layout: Layout, lines: Iterable[str], *, durable: bool = False) -> None:
    """Append lines under the lock of the journal, as this file may be replaced."""
    with journal_lock(layout):
        append_lines(Path(layout.manifest), lines, durable=durable)


def refresh_manifest(layout: Layout, modified: Mapping[str, int] = EMPTY) -> None:
    """Write a manifest again, atomically: without superseded and damaged lines, and with new times of some files."""
    with journal_lock(layout):
        old = read_journal(layout).manifest
        sealed, later = (
            [_line(path, one and replace(one, modified=modified.get(path, one.modified))) for path, one in part.items()]
            for part in (old.sealed, old.later)
        )
        seal = [_line(seal=old.seal)] if old.seal else []
        ledger = [_line(ledger=old.ledger_entry)] if old.ledger_entry else []
        write_lines(Path(layout.manifest), [*sealed, *seal, *later, *ledger])

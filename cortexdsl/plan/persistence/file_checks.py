"""Checks of the files of an experiment against its manifest, before they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.errors import DataError
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.ledger import read_ledger
from cortexdsl.plan.persistence.manifest import Entry, below_root, damage_of, is_sealed, read_manifest
from cortexdsl.plan.persistence.run_record import early_end, is_excused
from cortexdsl.plan.persistence.store import spec_of

ALWAYS = ("scores", "metrics", "comparisons", "omnibus", "bounds", "ranks", "hypotheses")
"""Tables that every finished experiment has: if one is missing, it was deleted."""
OF_CELLS = ("debates", "judgements", "parts", "pools", "train")


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not as its job wrote it: its path below the experiment's folder, and what is wrong with it."""

    path: str
    what: str


def known_entries(layout: Layout) -> dict[str, Entry]:
    """Return the entry of each file, with the digests of tables that earlier versions wrote into the ledger."""
    root, earlier = Path(layout.root), {}
    files = read_manifest(layout).files
    for path, digest in read_ledger(layout).tables.items():
        if path not in files and (root / path).is_file():
            earlier[path] = Entry((root / path).stat().st_size, digest)
    return earlier | dict(files)


def find_damage(layout: Layout, paths: Iterable[str | Path] | None = None) -> Iterator[Damage]:
    """Yield the files that differ from what their jobs wrote, each read whole; missing ones too.

    Parameters
    ----------
    layout : Layout
    paths : iterable of path or None
        Only these; by default what a report reads: plan, declaration, tables and looks.
    """
    root, entries = Path(layout.root), known_entries(layout)
    of_all = [path for path in entries if path.count("/") < 2 and path.partition("/")[0] not in OF_CELLS]
    tables = {Path(layout.table(name)).name for name in ALWAYS} | {path for path in of_all if is_sealed(path)}
    named = tables if paths is None else [below_root(path, root) for path in paths]
    has_seal = bool(read_ledger(layout).manifest_seal)
    excused = is_excused(early_end(layout))
    for path in named:
        if excused(path):
            continue
        if path in entries and (what := damage_of(root, path, entries[path])):
            yield Damage(path, what)
        elif path not in entries and has_seal and is_sealed(path) and (root / path).is_file():
            yield Damage(path, f"{Path(layout.manifest).name} has no digest of it")


def edited_tables(layout: Layout) -> tuple[Path, ...]:
    """Return the tables that differ from what a job wrote, without missing ones."""
    return tuple(Path(layout.root, one.path) for one in find_damage(layout) if one.what != "missing")


def check_files(layout: Layout, paths: Iterable[str | Path] | None = None, *, is_complete: bool = False) -> None:
    """Refuse files that are not as their jobs wrote them: those at some paths, by default what a report reads.

    Parameters
    ----------
    layout : Layout
    paths : iterable of path or None
    is_complete : bool
        Whether to refuse missing files, too.

    Raises
    ------
    DataError
        Names the files and says how to get them back.
    """
    wrong = [one for one in find_damage(layout, paths) if is_complete or one.what != "missing"]
    if wrong:
        names = ", ".join(f"{layout.root}/{one.path} ({one.what})" for one in wrong[:5])
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise DataError(
            f"{names}{more}: not as the experiment wrote it (its digest differs from the one in {layout.manifest})\n"
            f"    run the same command again, which makes it again: cortexdsl run {spec_of(layout)}"
        )


def check_complete(layout: Layout) -> None:
    """Refuse results without a table that a job wrote: a report without it would be wrong.

    Raises
    ------
    DataError
        Names the files and the remedy.
    """
    entries, ledger = read_manifest(layout).files, read_ledger(layout).tables
    paths = [Path(layout.table(name)) for name in ALWAYS]
    missing = [path for path in paths if (path.name in entries or path.name in ledger) and not path.is_file()]
    if missing:
        raise DataError(
            f"{', '.join(map(str, missing))}: deleted after the experiment wrote it\n"
            f"    run the same command again: cortexdsl run {spec_of(layout)}"
        )


def check_own_files(paths: Iterable[Path]) -> None:
    """Refuse files of experiments that are not as their jobs wrote them; files elsewhere are accepted.

    Raises
    ------
    DataError
    """
    own: dict[Path, list[Path]] = {}
    roots: dict[Path, Path | None] = {}
    for path in paths:
        if path.parent not in roots:
            above = (folder for folder in path.parents if Path(Layout(folder.as_posix()).ledger).is_file())
            roots[path.parent] = next(above, None)
        if (root := roots[path.parent]) is not None:
            own.setdefault(root, []).append(path)
    for root, files in own.items():
        check_files(Layout(root.as_posix()), files)

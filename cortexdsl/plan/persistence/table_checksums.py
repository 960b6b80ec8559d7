"""Digests of an experiment's tables, recorded when a job writes them and compared before they are read.

The ledger holds the digest of each table that readers of results use. The parts of one cell are too many for the
ledger: they have a file of digests next to them (`digests.json`). A table without a digest is accepted: another program
wrote it, or a version that recorded none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import file_digest
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.errors import DataError
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.ledger import read_ledger, record_tables

PARTS_FILE = "digests.json"
ALWAYS = ("scores", "metrics", "comparisons", "omnibus", "bounds", "ranks", "hypotheses")
"""Tables that every finished experiment has: if one is missing, it was deleted."""


def record_checksums(layout: Layout, paths: Iterable[str | Path]) -> None:
    """Write the digests of tables into the experiment's ledger; call it in the job that wrote them."""
    root = Path(layout.root)
    record_tables(layout, {path.relative_to(root).as_posix(): _digest(path) for path in map(Path, paths)})


def edited_tables(layout: Layout) -> tuple[Path, ...]:
    """Return the tables that differ from what a job wrote, without missing ones."""
    places = ((Path(layout.root, name), digest) for name, digest in read_ledger(layout).tables.items())
    return tuple(path for path, digest in places if path.is_file() and _digest(path) != digest)


def check_tables(layout: Layout, paths: Iterable[str | Path] | None = None) -> None:
    """Refuse tables that were edited: those at some paths, by default every table of the experiment.

    Raises
    ------
    DataError
        Names the files and says how to get them back.
    """
    named = None if paths is None else {Path(path) for path in paths}
    _refuse((path for path in edited_tables(layout) if named is None or path in named), layout)


def check_complete(layout: Layout) -> None:
    """Refuse results without a table that a job wrote: a report without it would be wrong.

    Raises
    ------
    DataError
        Names the files and the remedy.
    """
    sealed = read_ledger(layout).tables
    paths = [Path(layout.table(name)) for name in ALWAYS]
    missing = [path.as_posix() for path in paths if path.name in sealed and not path.is_file()]
    if missing:
        raise DataError(
            f"{', '.join(missing)}: deleted after the experiment wrote it\n"
            f"    run the same command again: cortexdsl run {_spec(layout)}"
        )


def check_own_table(path: Path) -> None:
    """Refuse a table whose digest differs from the one in its experiment's ledger.

    Raises
    ------
    DataError
    """
    layout = Layout(path.parent.as_posix())
    if Path(layout.ledger).is_file():
        check_tables(layout, [path])


def write_part_checksums(paths: Iterable[str | Path]) -> None:
    """Write the digests of one cell's parts to a file in their common folder."""
    parts = [Path(path) for path in paths]
    write_lines(parts[0].parent / PARTS_FILE, [json.dumps({path.name: _digest(path) for path in parts})])


def check_parts(layout: Layout, paths: Iterable[str | Path]) -> None:
    """Refuse parts that differ from the digests in their folder.

    Raises
    ------
    DataError
    """
    known: dict[Path, Mapping[str, str]] = {}
    wrong = []
    for path in map(Path, paths):
        digests = known.setdefault(path.parent, _parts_digests(path.parent))
        if path.is_file() and digests.get(path.name, _digest(path)) != _digest(path):
            wrong.append(path)
    _refuse(wrong, layout)


def _parts_digests(folder: Path) -> Mapping[str, str]:
    try:
        digests = json.loads((folder / PARTS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return digests if isinstance(digests, dict) else {}


def _refuse(wrong: Iterable[Path], layout: Layout) -> None:
    if names := ", ".join(path.as_posix() for path in wrong):
        raise DataError(
            f"{names}: edited after the experiment wrote it (its digest differs from the sealed one)\n"
            f"    delete it and run the same command again: cortexdsl run {_spec(layout)}"
        )


def _spec(layout: Layout) -> str:
    """The spec's path, by the plan."""
    try:
        return str(json.loads(Path(layout.plan).read_text(encoding="utf-8"))["spec"])
    except (OSError, ValueError, KeyError, TypeError):
        return "SPEC"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()

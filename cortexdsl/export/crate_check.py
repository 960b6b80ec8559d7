"""Checks of an RO-Crate that somebody sends: each file is the one that the crate names, and the results are in order.

A crate is data of strangers: sizes, paths and links of an archive are checked before anything is unpacked.
"""

from __future__ import annotations

import json
import stat
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path, PurePosixPath
from shutil import disk_usage
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

from cortexdsl.errors import CortexError, DataError
from cortexdsl.export.crate import METADATA
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.verification import Difference, verify_results
from cortexdsl.symlinks import refuse_symlinks

_MOST_BYTES = 64 << 30
"""Of a crate, unpacked: call logs of millions of calls. The disk must have room for it, too."""
_MOST_FILES = 1_000_000
_MOST_METADATA = 1 << 30
_AGAIN = "ask for the crate again: cortexdsl export NAME --to ro-crate --out NAME.zip"


@dataclass(frozen=True, slots=True)
class CrateCheck:
    """The outcome of a check.

    Attributes
    ----------
    files : int
        That the crate names.
    findings : tuple of Difference
        What is not as the crate says, and what the results' own ledger finds beyond that.
    results : tuple of str
        The folders of the experiments in it.
    """

    files: int
    findings: tuple[Difference, ...]
    results: tuple[str, ...]


def is_crate(place: Path) -> bool:
    """Return whether a path is a crate: a folder with its metadata, or a ZIP archive."""
    return (place / METADATA).is_file() or (place.is_file() and zipfile.is_zipfile(place))


def check_crate(place: Path) -> CrateCheck:
    """Compare each file of a crate with its metadata, and the results with their manifest and ledger.

    Raises
    ------
    DataError, RecordError
        It is not a crate of an experiment, is too large, or would write or read outside of its folder.
    """
    with _opened(place) as root:
        refuse_symlinks(root)
        named = _named(root, place)
        present = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()} - {METADATA}
        findings = [Difference(path, "missing", _AGAIN) for path in sorted(named.keys() - present)]
        findings += [
            Difference(path, "the crate does not name it", "move it away") for path in sorted(present - named.keys())
        ]
        for path in sorted(named.keys() & present):
            with (root / path).open("rb") as file:
                if file_digest(file, "sha256").hexdigest() != named[path]:
                    findings.append(Difference(path, "changed: its sha256 is not that of the crate", _AGAIN))
        folders = [PurePosixPath(path).parent for path in named if PurePosixPath(path).name == "ledger.jsonl"]
        if not folders:
            raise DataError(f"{place}: this crate holds no results of cortexdsl\n    {_AGAIN}")
        known = {one.path for one in findings}
        results = [str(folder) for folder in folders if (root / folder).is_dir()]
        # The one who checks a crate cannot make its files again, unlike the one who ran the experiment.
        findings += [
            Difference(f"{folder}/{one.path}", f"not as the experiment wrote it: {one.what}", _AGAIN)
            for folder in results
            for one in verify_results(Layout((root / folder).as_posix()), "").findings
            if f"{folder}/{one.path}" not in known
        ]
        return CrateCheck(len(named), tuple(findings), tuple(results))


def _named(root: Path, place: Path) -> dict[str, str]:
    """Return the sha256 of each file that the metadata names."""
    metadata = root / METADATA
    if not metadata.is_file():
        raise DataError(f"{place}: this is not an RO-Crate: there is no {METADATA} at its top\n    {_AGAIN}")
    if metadata.stat().st_size > _MOST_METADATA:
        raise DataError(f"{place}: {METADATA} has more than {_MOST_METADATA >> 30} GiB\n    {_AGAIN}")
    try:
        graph: list[dict[str, Any]] = json.loads(metadata.read_bytes())["@graph"]
        files = {unquote(one["@id"]): str(one.get("sha256")) for one in graph if "File" in one.get("@type", ())}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{place}: {METADATA} cannot be read ({error})\n    {_AGAIN}") from None
    for path in files:
        _check_path(path, place)
    return files


def _check_path(path: str, place: Path) -> None:
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or parts[0] == "/" or any(mark in path for mark in "\\\0"):
        raise DataError(f"{place}: {path!r} leads out of the crate, so nothing of it is read\n    {_AGAIN}")


@contextmanager
def _opened(place: Path) -> Iterator[Path]:
    """Yield the folder of a crate; an archive is unpacked, and removed at the end."""
    if place.is_dir():
        yield place
        return
    with TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(place) as archive:
                _check_archive(archive, place, disk_usage(folder).free)
                archive.extractall(folder)
        except CortexError:
            raise
        except Exception as error:  # of zipfile, zlib, lzma, bz2 and the disk
            raise DataError(f"{place}: it cannot be unpacked ({error})\n    {_AGAIN}") from None
        yield Path(folder)


def _check_archive(archive: zipfile.ZipFile, place: Path, free: int) -> None:
    members = archive.infolist()
    size, most = sum(member.file_size for member in members), min(_MOST_BYTES, free)
    if size > most or len(members) > _MOST_FILES:
        raise DataError(
            f"{place}: it unpacks to {size / 1e9:,.1f} GB in {len(members):,} files, more than the {most / 1e9:,.1f} GB"
            f" or {_MOST_FILES:,} files that are unpacked here\n    unpack it yourself, and give its folder"
        )
    for member in members:
        _check_path(member.filename, place)
        if stat.S_ISLNK(member.external_attr >> 16):
            raise DataError(f"{place}: {member.filename} is a link, and crates hold files\n    {_AGAIN}")
    twice = [name for name, count in Counter(member.filename for member in members).items() if count > 1]
    if twice:
        raise DataError(f"{place}: {twice[0]} is in it twice\n    {_AGAIN}")

"""Refuse symbolic links in a folder of results, because a writer would follow them out of the folder.

A folder of results may come from somebody else. Every file in it may be written by a run (logs by the shell of a job,
tables by libraries), so the links are looked for once before anything is written, and not by each writer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cortexdsl.errors import RecordError

_OWN = ("ledger.jsonl", "plan.json", "manifest.jsonl")


def opened_results(place: Path) -> Path:
    """Return a place in results, or the folder itself, after refusing links in the whole folder of its experiment.

    Every verb that reads or writes results finds their place through this function.

    Raises
    ------
    RecordError
    """
    places = (folder for folder in (place, *place.parents) if any(os.path.lexists(folder / name) for name in _OWN))
    folder = next(places, place)
    if folder.is_dir():
        refuse_symlinks(folder)
    return place


def refuse_symlinks(folder: Path) -> None:
    """Refuse a folder of results that holds a link which leads out of it; the folder itself may be a link.

    Raises
    ------
    RecordError
    """
    whole = folder.resolve()
    for link in _links(folder):
        if not link.resolve().is_relative_to(whole):
            raise RecordError(
                f"{link}: this is a symbolic link to {os.readlink(link)!r}, and writing it would write there\n"  # noqa: PTH115
                "    remove the link; results lie in files of their own folder, which itself may be a link"
            )


def _links(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent, name) for name in (*folders, *files) if os.path.islink(os.path.join(parent, name)))  # noqa: PTH114, PTH118

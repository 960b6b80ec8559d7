"""The explorer as a folder of files for any static host: the same pages, and the data that the server would return."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from cortexdsl.core import by_key
from cortexdsl.errors import InputError
from cortexdsl.explorer.experiment import OpenExperiment
from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.explorer.server import BUILT, page_below, report_file

_MARK = "data/experiments.json"


def write_static(places: Sequence[ResultsFolder], folder: Path) -> int:
    """Write the explorer of some experiments to a folder, and return the number of debates.

    Raises
    ------
    InputError
        The folder contains files that are not an explorer.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / _MARK).is_file():  # an explorer is replaced
        raise InputError(
            f"{folder}: it holds other files\n    name a new folder, or one that an explorer was written to"
        )
    for path in ("data", "report"):
        shutil.rmtree(folder / path, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    for file in BUILT.iterdir():
        shutil.copyfile(file, folder / file.name)
    data = folder / "data"
    count = sum(_experiment(place, data / "x" / str(number)) for number, place in enumerate(places))
    _write(data / "experiments.json", {"experiments": [place.name for place in places], "is_static": True})
    for place in places:
        _report(place, folder / "report" / place.name)
    return count


def _experiment(place: ResultsFolder, folder: Path) -> int:
    opened = OpenExperiment(place)
    try:
        opened.catch_up()
        table = gzip.decompress(opened.table()[1])
        _write_bytes(folder / "table.json", table)
        overview = json.loads(opened.overview()) | {"progress": None}
        _write(folder / "experiment.json", overview)
        columns = json.loads(table)
        _questions(opened, columns, folder)
        with opened.store.reading() as db:
            for bucket, words in _words(db, set(columns["debates"]["id"])):
                _write(folder / "search" / f"{bucket}.json", words)
        return len(columns["debates"]["id"])
    finally:
        opened.close()


def _questions(opened: OpenExperiment, columns: Mapping[str, Any], folder: Path) -> None:
    """Write two files per question: its debates of all cells, and their calls."""
    debates = columns["debates"]
    for question, numbers in by_key(zip(debates["question"], debates["id"], strict=True)).items():
        dataset, name, _ = columns["questions"][question]
        calls: dict[str, Any] = {}
        for number in numbers:
            calls |= {key: call for key, call in (opened.calls(number) or {}).items() if call is not None}
        page = {
            "question": opened.question(dataset, name),
            "debates": {number: opened.debate(number) for number in numbers},
        }
        _write(folder / "questions" / f"{question}.json", page)
        _write(folder / "calls" / f"{question}.json", calls)


def _words(db: sqlite3.Connection, known: set[int]) -> Iterator[tuple[str, dict[str, list[int]]]]:
    """Yield the full-text index in parts, by the first two characters of words; pages load the parts that they need."""
    db.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, said, instance)")
    terms = db.execute("SELECT term, doc FROM temp.words ORDER BY term")
    for bucket, words in groupby(groupby(terms, lambda row: row[0]), lambda word: _bucket(word[0])):
        here = {word: sorted({doc for _, doc in rows} & known) for word, rows in words}
        yield bucket, {word: debates for word, debates in here.items() if debates}


def _bucket(word: str) -> str:
    return "-".join(f"{ord(character):x}" for character in word[:2])


def _report(place: ResultsFolder, folder: Path) -> None:
    """Copy a report with its files, or the page of a run that stopped. The explorer is `view.html`."""
    if not any((place.root / page).is_file() for page in ("report.html", "stopped.html")):
        return
    inside = [path.relative_to(place.root).as_posix() for path in place.root.glob("*")]
    inside += [
        path.relative_to(place.root).as_posix()
        for part in ("figures", "tables")
        for path in (place.root / part).rglob("*")
    ]
    for inner in inside:
        path = report_file(place.root, inner)
        if path is not None:
            (folder / inner).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / inner)
    if not (folder / "report.html").exists():  # a run that stopped before its end
        shutil.copyfile(place.root / "stopped.html", folder / "report.html")
    depth = len(place.name.split("/")) + 1
    (folder / "view.html").write_text(page_below(depth), encoding="utf-8")


def _write(path: Path, value: Any) -> None:
    _write_bytes(path, json.dumps(value, separators=(",", ":"), default=float).encode())


def _write_bytes(path: Path, body: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)

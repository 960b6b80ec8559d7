"""The explorer's index: one SQLite file with the position of each debate's record, and the list of all debates.

The file can be deleted. Debates are always shown from their records, whose checksum and name are checked. An index that
is damaged, or of another version, is rebuilt.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from cortexdsl.plan.record import PlanRecord
from cortexdsl.records.links import OUTCOMES

VERSION = 7
NAME = ".explorer.sqlite"
_WAIT = 30.0  # seconds, if another explorer writes the same index

_SCHEMA = """
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE, mark TEXT);
CREATE TABLE debates (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: `said` keeps the words of deleted debates
    file INTEGER, line INTEGER, offset INTEGER, length INTEGER,
    dataset TEXT, cell TEXT, replicate INTEGER, question TEXT,
    answer TEXT, rounds INTEGER, stop TEXT, tied INTEGER, unread INTEGER, failed INTEGER,
    flips INTEGER, persuaded INTEGER, input INTEGER, output INTEGER,
    source TEXT, cut INTEGER, refused INTEGER, empty INTEGER, tool_calls INTEGER, unmeasured INTEGER,
    score REAL, to_right INTEGER, to_wrong INTEGER, repetitive INTEGER, worths TEXT
);
CREATE INDEX debates_by_file ON debates (file);
CREATE INDEX debates_by_key ON debates (dataset, question, cell, replicate);
CREATE TABLE labels (
    file INTEGER, dataset TEXT, question TEXT, cell TEXT, replicate INTEGER,
    turn INTEGER, round INTEGER, speaker TEXT, label TEXT, value TEXT  -- no value: unreadable
);
CREATE INDEX labels_by_key ON labels (dataset, question, cell, replicate);
CREATE TABLE faults (file INTEGER, line INTEGER, message TEXT);
CREATE TABLE questions (
    dataset TEXT, question TEXT, text TEXT, options TEXT, context TEXT, gold TEXT, images TEXT,
    PRIMARY KEY (dataset, question)
);
CREATE TABLE facts (name TEXT PRIMARY KEY, value);
CREATE VIRTUAL TABLE said USING fts5(words, content='', detail=none);
"""


class IndexStore:
    """The index of one experiment. Every call opens its own connection, so that threads do not share one.

    Parameters
    ----------
    root : Path
        The folder of results; if it is read-only, the index is a temporary file.
    """

    def __init__(self, root: Path) -> None:
        self.path = _path(root)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for reading."""
        connection = sqlite3.connect(self.path, timeout=_WAIT)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open a connection in a transaction, which is committed or rolled back as a whole."""
        connection = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = OFF")  # an index that a power cut damages is rebuilt
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            connection.close()

    def prepare(self) -> None:
        """Create the index; rebuild it if it is damaged or of another version."""
        if self._is_sound():
            return
        for file in (self.path, Path(f"{self.path}-journal")):
            file.unlink(missing_ok=True)
        with self.writing() as db:
            if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in _SCHEMA.split(";\n"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")

    def _is_sound(self) -> bool:
        if not self.path.exists():
            return False
        try:
            with self.reading() as db:
                version = db.execute("PRAGMA user_version").fetchone()[0]
                db.execute("SELECT count(*) FROM files").fetchone()
                db.execute("SELECT rowid FROM said WHERE said MATCH 'a' LIMIT 1").fetchone()
        except sqlite3.DatabaseError:
            return False
        return bool(version == VERSION)


def _path(root: Path) -> Path:
    inside = root / NAME
    if os.access(root, os.W_OK) and (not inside.exists() or os.access(inside, os.W_OK)):
        return inside
    name = sha256(str(root.resolve()).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"cortexdsl-explorer-{os.getuid() if hasattr(os, 'getuid') else 0}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or (hasattr(os, "getuid") and folder.stat().st_uid != os.getuid()):
        raise PermissionError(13, "belongs to another user, so no index is put there", str(folder))
    return folder / f"{name}.sqlite"


_LONGEST = 120  # characters of an answer or question in a list
_COUNTS = ("rounds", "tied", "unread", "failed", "flips", "to_right", "to_wrong", "persuaded", "input", "output")


def well_formed(text: str) -> str:
    """Return text without lone surrogates, which no database takes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def debate_table(db: sqlite3.Connection, plan: PlanRecord) -> bytes:
    """Return every debate as one JSON object of columns.

    `debates` is an object of columns of equal length: `id`, `question`, `cell`, `answer`, `stop` and `source` are
    numbers (the last five are indices of the lists `questions`, `cells`, `answers`, `stops` and `sources`; -1: no
    answer), `replicate`, `score` (null: unknown), `had` (one bit for each outcome of `outcomes` that a reply had),
    and counts. `labels` has the rows of the debates with a turn of each label. Questions and cells are in the plan's
    order, then others; debates are ordered by question, cell and replicate.
    """
    texts = {
        (dataset, question): text
        for dataset, question, text in db.execute("SELECT dataset, question, substr(text, 1, 200) FROM questions")
    }
    planned = [(dataset, question) for dataset, ids in plan.questions.items() for question in ids]
    recorded = db.execute("SELECT DISTINCT dataset, question FROM debates ORDER BY dataset, question")
    questions = _codes([*planned, *map(tuple, recorded)])
    planned_cells = [cell.name for cell in plan.cells]
    cells = _codes(
        [*planned_cells, *(cell for (cell,) in db.execute("SELECT DISTINCT cell FROM debates ORDER BY cell"))]
    )
    had = " + ".join(f"(ifnull({name}, 0) > 0) * {1 << bit}" for bit, name in enumerate(OUTCOMES))
    rows = [
        (questions[dataset, question], cells[cell], *others)
        for dataset, question, cell, *others in db.execute(
            f"SELECT dataset, question, cell, replicate, id, answer, stop, source, score, {had}, {', '.join(_COUNTS)}"
            " FROM debates"
        )
    ]
    rows.sort(key=lambda row: row[:3])
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(9 + len(_COUNTS))]
    question, cell, replicate, identity, answer, stop, source, score, outcomes, *counts = columns
    answers, stops = _codes(_short(text) for text in answer if text is not None), _codes(stop)
    sources = _codes(source)
    listing = {
        "questions": [[*key, _short(texts.get(key) or "")] for key in questions],
        "cells": list(cells),
        "answers": list(answers),
        "stops": list(stops),
        "sources": list(sources),
        "outcomes": list(OUTCOMES),
        "debates": {
            "id": identity,
            "question": question,
            "cell": cell,
            "replicate": replicate,
            "answer": [-1 if text is None else answers[_short(text)] for text in answer],
            "stop": [stops[word] for word in stop],
            "source": [sources[word] for word in source],
            "had": outcomes,
            "score": [None if value is None else _plain(value) for value in score],
            **{name: list(map(_plain, column)) for name, column in zip(_COUNTS, counts, strict=True)},
        },
        "labels": _labelled(db, {(*row[:3],): number for number, row in enumerate(rows)}, questions, cells),
    }
    return json.dumps(listing, separators=(",", ":")).encode()


def _labelled(
    db: sqlite3.Connection, rows: Mapping[tuple[Any, ...], int], questions: Mapping[Any, int], cells: Mapping[Any, int]
) -> dict[str, list[int]]:
    """Return the rows of the debates with a turn of each label: `capitulation`, `move: follows`, `move: unreadable`."""
    labelled: dict[str, list[int]] = {}
    for dataset, question, cell, replicate, label, value in db.execute(
        "SELECT DISTINCT dataset, question, cell, replicate, label, value FROM labels WHERE value IS NOT 'no'"
        " ORDER BY label, value"
    ):
        row = rows.get((questions.get((dataset, question)), cells.get(cell), replicate))
        if row is not None:
            name = label if value == "yes" else f"{label}: {value or 'unreadable'}"
            labelled.setdefault(name, []).append(row)
    return labelled


def _codes(values: Iterable[Any]) -> dict[Any, int]:
    """Number distinct values in their order."""
    return {value: code for code, value in enumerate(dict.fromkeys(values))}


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _LONGEST].split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _plain(value: float | None) -> float | int:
    """Return a number as short as possible; an unknown count is 0."""
    return 0 if value is None else int(value) if value == int(value) else round(value, 4)

"""The index beside the results: one SQLite file that can be thrown away. It says where each debate's line is.

It is never believed over the records: what is shown is read from the debate's own line, its seal and name checked.
A file of the index that is damaged, or of another version, is made anew.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

VERSION = 4
NAME = ".explorer.sqlite"
_WAIT = 30.0  # seconds for another explorer that writes the same index

_SCHEMA = """
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE, mark TEXT);
CREATE TABLE debates (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice: what was said stays in `said` under it
    file INTEGER, line INTEGER, offset INTEGER, length INTEGER,
    dataset TEXT, cell TEXT, replicate INTEGER, question TEXT,
    answer TEXT, rounds INTEGER, stop TEXT, tied INTEGER, unread INTEGER, failed INTEGER,
    flips INTEGER, persuaded INTEGER, input INTEGER, output INTEGER,
    source TEXT, cut INTEGER, refused INTEGER, empty INTEGER, tool_calls INTEGER, unmeasured INTEGER,
    score REAL, to_right INTEGER, to_wrong INTEGER, repetitive INTEGER, other_language INTEGER, worths TEXT
);
CREATE INDEX debates_by_file ON debates (file);
CREATE INDEX debates_by_key ON debates (dataset, question, cell, replicate);
CREATE TABLE faults (file INTEGER, line INTEGER, message TEXT);
CREATE TABLE questions (
    dataset TEXT, question TEXT, text TEXT, options TEXT, context TEXT, gold TEXT, images TEXT,
    PRIMARY KEY (dataset, question)
);
CREATE TABLE facts (name TEXT PRIMARY KEY, value);
CREATE TABLE kept (name TEXT PRIMARY KEY, revision TEXT, value BLOB);
CREATE VIRTUAL TABLE said USING fts5(words, content='', detail=none);
"""


class Store:
    """The index of one experiment; every call opens a connection of its own, so that threads do not share any.

    Parameters
    ----------
    root : Path
        The folder of results; where it cannot be written to, the index lies among temporary files.
    """

    def __init__(self, root: Path) -> None:
        self.path = _path(root)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection to read by."""
        connection = sqlite3.connect(self.path, timeout=_WAIT)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give a connection inside a transaction, which is whole or undone."""
        connection = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = OFF")  # what a power cut breaks is made anew
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("INSERT OR REPLACE INTO facts VALUES ('revision', ?)", (token_hex(8),))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            connection.close()

    def prepare(self) -> None:
        """Make the index, or make it anew where it is damaged or of another version."""
        if self._is_sound():
            return
        for beside in (self.path, Path(f"{self.path}-journal")):
            beside.unlink(missing_ok=True)
        with self.writing() as db:
            if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in _SCHEMA.split(";\n"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")

    def revision(self) -> str:
        """Return what is another text after every change of the index."""
        with self.reading() as db:
            return str(db.execute("SELECT value FROM facts WHERE name = 'revision'").fetchone()[0])

    def keep(self, name: str, revision: str, value: bytes) -> None:
        """Keep what was worked out from the index as it was at a revision; where that cannot be, it is not kept."""
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(self.path, timeout=1.0)) as db, db:
            db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", (name, revision, value))

    def kept(self, name: str, revision: str) -> bytes | None:
        """Return what was kept at this revision."""
        with self.reading() as db:
            found = db.execute("SELECT value FROM kept WHERE name = ? AND revision = ?", (name, revision)).fetchone()
        return found and bytes(found[0])

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
    beside = root / NAME
    if os.access(root, os.W_OK) and (not beside.exists() or os.access(beside, os.W_OK)):
        return beside
    name = sha256(str(root.resolve()).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"cortexdsl-explorer-{os.getuid() if hasattr(os, 'getuid') else 0}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or (hasattr(os, "getuid") and folder.stat().st_uid != os.getuid()):
        raise PermissionError(13, "belongs to somebody else, so no index is put there", str(folder))
    return folder / f"{name}.sqlite"

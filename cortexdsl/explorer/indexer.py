"""Keep the index up to date with the files of an experiment: records and scores that were added, changed or removed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from cortexdsl.errors import CortexError
from cortexdsl.explorer.folders import ResultsFolder, number, read_rows
from cortexdsl.explorer.store import IndexStore, well_formed
from cortexdsl.metrics import influence, replies
from cortexdsl.metrics.view import view_debate
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.verification import is_of
from cortexdsl.plan.record import plan_or_empty
from cortexdsl.records import Record, record_from_json

_SCORED = ("score", "wrong_to_right", "right_to_wrong", "repetitive")
"""Columns of scores.csv that need gold answers or questions, or take long to compute."""
_KEY = "dataset = ? AND question = ? AND cell = ? AND replicate = ?"


class Indexer:
    """Updates the index of one experiment.

    Parameters
    ----------
    folder : ResultsFolder
    store : IndexStore
        Prepared.

    Attributes
    ----------
    done, total : int
        Bytes of new files that the current or last update has read, and that it reads in all.
    """

    def __init__(self, folder: ResultsFolder, store: IndexStore) -> None:
        self._folder = folder
        self._store = store
        self.done = 0
        self.total = 0

    def catch_up(self, wanted: Callable[[], bool] = lambda: True) -> bool:
        """Update the index, file by file, and return whether anything was new.

        `wanted` is called between files, and ends the update if it returns False, as when the explorer closes.
        """
        is_new = False
        for files, add in ((_record_files, self._add_records), (_score_files, self._add_scores)):
            now = {str(path): mark for path in files(self._folder.root) if (mark := _mark(path))}
            with self._store.reading() as db:
                suffix = ".jsonl" if add == self._add_records else ".csv"
                known = dict(db.execute("SELECT path, mark FROM files WHERE path LIKE ?", (f"%{suffix}",)))
            gone = [path for path in known if path not in now]
            new = [path for path in now if known.get(path) != now[path]]
            self.done, self.total = 0, sum(_size(now[path]) for path in new)
            is_new = is_new or bool(gone or new)
            if gone:
                self._forget(gone)
            for path in new:
                if not wanted():
                    return is_new
                with suppress(FileNotFoundError):  # replaced or removed since it was listed
                    add(Path(path), now[path])
                self.done += _size(now[path])
        return is_new

    def _forget(self, paths: Iterable[str]) -> None:
        with self._store.writing() as db:
            for path in paths:
                _forget(db, path)

    def _add_records(self, path: Path, mark: str) -> None:
        with self._store.writing() as db:
            file = _begin(db, path, mark)
            for number, offset, line in _lines(path):
                try:
                    record = record_from_json(line, f"{path}:{number}")
                except CortexError as error:
                    db.execute("INSERT INTO faults VALUES (?, ?, ?)", (file, number, str(error)))
                    continue
                row = db.execute(
                    "INSERT INTO debates (file, line, offset, length, dataset, cell, replicate, question, answer,"
                    " rounds, stop, tied, unread, failed, flips, persuaded, input, output,"
                    " source, cut, refused, empty, tool_calls, unmeasured)"
                    f" VALUES ({', '.join('?' * 24)})",
                    (file, number, offset, len(line), *_facts(record)),
                ).lastrowid
                db.execute("INSERT INTO said (rowid, words) VALUES (?, ?)", (row, _words(record)))
            # Scores that were read before these records are read again.
            db.executemany("UPDATE files SET mark = '' WHERE path = ?", [(str(p),) for p in self._scores_of(path)])

    def _add_scores(self, path: Path, mark: str) -> None:
        rows = read_rows(path)
        with self._store.writing() as db:
            file = _begin(db, path, mark)
            if path.name == "answers.csv":
                _add_answer_scores(db, rows)
            elif path.name == "labels.csv":
                _add_labels(db, file, rows)
            else:
                db.executemany(
                    f"UPDATE debates SET score = ?, to_right = ?, to_wrong = ?, repetitive = ? WHERE {_KEY}",
                    [(*(number(row, column) for column in _SCORED), *_key(row)) for row in rows],
                )

    def _scores_of(self, records: Path) -> list[Path]:
        root = self._folder.root
        part = root / "parts" / records.parent.relative_to(root / "debates")
        return [part / "scores.csv", part / "answers.csv", root / "scores.csv"]


def _record_files(root: Path) -> list[Path]:
    """Return the records of the plan's datasets and cells: those of earlier plans stay in the folder.

    Records without a plan are all shown; debates that functions are fitted on are none of its datasets.
    """
    plan = replace(plan_or_empty(Layout(root.as_posix())), learned=())
    files = (path for path in (root / "debates").rglob("*.jsonl") if not path.name.startswith("."))
    return sorted(path for path in files if is_of(plan, path.relative_to(root).as_posix()))


def _score_files(root: Path) -> list[Path]:
    """Return the scores of each cell (those of all cells are written later), of single answers, and the labels."""
    parts = [sorted((root / "parts").glob(f"*/*/{name}.csv")) for name in ("scores", "answers", "labels")]
    return [*(parts[0] or [root / "scores.csv"]), *parts[1], *parts[2]]


def _mark(path: Path) -> str:
    """Return what distinguishes a file from its earlier versions; files of records are replaced as a whole."""
    try:
        state = path.stat()
    except OSError:
        return ""
    return f"{state.st_size}:{state.st_mtime_ns}:{state.st_ino}"


def _size(mark: str) -> int:
    return int(mark.partition(":")[0])


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    offset = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            yield number, offset, line
            offset += len(line)


def _begin(db: sqlite3.Connection, path: Path, mark: str) -> int:
    _forget(db, str(path))
    return int(db.execute("INSERT INTO files (path, mark) VALUES (?, ?)", (str(path), mark)).lastrowid or 0)


def _forget(db: sqlite3.Connection, path: str) -> None:
    for (file,) in db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchall():
        for table in ("debates", "faults", "labels"):
            db.execute(f"DELETE FROM {table} WHERE file = ?", (file,))
        db.execute("DELETE FROM files WHERE id = ?", (file,))


def _facts(record: Record) -> tuple[Any, ...]:
    """Return the indexed facts of a debate that need no gold answer."""
    header, debate = record.header, record.debate
    view = view_debate(debate, lambda question, answer: 0.0)
    source = next((turn.measured.source for turn in debate.turns if turn.measured is not None), "stated")
    return (
        well_formed(header.dataset), well_formed(header.cell), header.replicate, well_formed(debate.question_id),
        None if debate.answer is None else well_formed(debate.answer), debate.rounds, debate.stop,
        int(debate.was_tied), int(replies.unparsed_turns(view)), int(replies.failures(view)),
        int(influence.flips(view)), int(influence.adopted(view)),
        replies.input_tokens(view), replies.output_tokens(view),
        source, int(replies.cut(view)), int(replies.refused(view)), int(replies.empty(view)),
        int(replies.tool_calls(view)), int(replies.unmeasured(view)),
    )  # fmt: skip


def _words(record: Record) -> str:
    """Return the texts of all turns, each once."""
    return well_formed("\n".join(dict.fromkeys(turn.text for turn in record.debate.all_turns)))


def _add_answer_scores(db: sqlite3.Connection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Store the score of each answer of a debate, in the order of the debate."""
    found: dict[tuple[Any, ...], list[float | None]] = {}
    for row in rows:
        found.setdefault(_key(row), []).append(number(row, "score"))
    db.executemany(
        f"UPDATE debates SET worths = ? WHERE {_KEY}", [(json.dumps(worths), *key) for key, worths in found.items()]
    )


def _add_labels(db: sqlite3.Connection, file: int, rows: Iterable[Mapping[str, Any]]) -> None:
    db.executemany(
        "INSERT INTO labels VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                file,
                *_key(row),
                number(row, "turn"),
                number(row, "round"),
                row["speaker"],
                row["label"],
                row["value"] or None,
            )
            for row in rows
        ],
    )


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("dataset"), row.get("question_id"), row.get("cell"), number(row, "replicate")

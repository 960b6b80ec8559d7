"""An open experiment: its index, its call logs and its progress. Answers the requests of pages with JSON."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from cortexdsl.display.progress import WatchedRun, expected_in
from cortexdsl.display.wording import plain_values
from cortexdsl.errors import CortexError, InputError, RecordError
from cortexdsl.explorer.details import index_questions, read_debate, read_question, turns_as_shown
from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.explorer.human_labels import HumanLabels
from cortexdsl.explorer.indexer import Indexer
from cortexdsl.explorer.overview import overview
from cortexdsl.explorer.store import IndexStore, debate_table
from cortexdsl.models.call_log.folder import LogFolder
from cortexdsl.plan.layout import Layout

_FAULTS = 20  # messages shown
_MOST_WORDS = 20
_UPDATE_EVERY = 5.0  # seconds


class OpenExperiment:
    """An experiment that the explorer shows.

    Parameters
    ----------
    place : ResultsFolder

    Attributes
    ----------
    generation : int
        Grows with every change of the index.
    is_ready : bool
        Whether the index has been complete once.
    """

    def __init__(self, place: ResultsFolder) -> None:
        self.place = place
        self.store = IndexStore(place.root)
        self.generation = 0
        self.is_ready = False
        self._indexer = Indexer(place, self.store)
        self._calls = RecordedCalls()
        self._run: tuple[float, WatchedRun] | None = None
        self._unknown = ""
        self._planned = -1.0
        self._table: tuple[int, bytes] = (-1, b"")
        self._lock = threading.Lock()  # of the prompts, the table and the watch
        self.store.prepare()

    def catch_up(self, wanted: Callable[[], bool] = lambda: True) -> None:
        """Update the index; `wanted` ends the update if it returns False."""
        planned = _changed(self.place.layout.plan)
        if planned != self._planned:
            self._unknown = index_questions(self.store, self.place.plan(), self.place.root)
            self._planned = planned
            self.generation += 1
        if self._indexer.catch_up(self._with_updates(wanted)) or not self.is_ready:
            self.generation += 1
        self.is_ready = True

    def _with_updates(self, wanted: Callable[[], bool]) -> Callable[[], bool]:
        """Show what has been indexed so far every few seconds, since a first update may take minutes."""
        last = time.monotonic()

        def is_wanted() -> bool:
            nonlocal last
            if time.monotonic() - last > _UPDATE_EVERY:
                last = time.monotonic()
                self.generation += 1
            return wanted()

        return is_wanted

    def overview(self) -> bytes:
        """Return the overview of the experiment, with its progress."""
        own = {"unknown_questions": self._unknown, "human_labels": self.human_labels.path.as_posix()}
        return _json(overview(self.place) | own | self._state())

    def progress(self) -> bytes:
        """Return the progress of the run and of the index."""
        return _json(self._state())

    def _state(self) -> dict[str, Any]:
        with self.store.reading() as db:
            faults = db.execute("SELECT message FROM faults LIMIT ?", (_FAULTS,)).fetchall()
            count = db.execute("SELECT count(*) FROM faults").fetchone()[0]
            debates = db.execute("SELECT count(*) FROM debates").fetchone()[0]
        index = {
            "generation": self.generation,
            "is_ready": self.is_ready,
            "done": self._indexer.done,
            "total": self._indexer.total,
            "debates": debates,
            "faults": count,
            "messages": [message for (message,) in faults],
        }
        judged = max(map(_changed, (self.place.layout.metrics, self.place.layout.hypotheses, self.place.layout.report)))
        return {"index": index, "judged": judged, "progress": self._progress()}

    def _progress(self) -> dict[str, Any] | None:
        if not self.place.is_here:
            return None
        with self._lock:
            planned = _changed(self.place.layout.plan)
            try:
                if self._run is None or self._run[0] != planned:
                    self._run = planned, WatchedRun(expected_in(self.place.name))
                return plain_values(self._run[1].look())
            except (CortexError, OSError):  # it has not started, or is gone
                return None

    def table(self) -> tuple[int, bytes]:
        """Return the list of all debates as columns, compressed by gzip, and its generation."""
        with self._lock:
            generation = self.generation
            if self._table[0] != generation:
                with self.store.reading() as db:
                    listed = debate_table(db, self.place.plan())
                self._table = generation, gzip.compress(listed, compresslevel=3, mtime=0)
            return self._table

    def debate(self, number: int) -> dict[str, Any] | None:
        """Return a debate, or its `fault` if the record cannot be read; None if there is none."""
        try:
            debate = read_debate(self.store, number)
        except RecordError as error:
            return {"id": number, "fault": str(error)}
        human: dict[int, dict[str, str]] = {}
        with suppress(InputError):  # an unreadable file is reported as soon as a label is written
            human = self.human_labels.of(number) if debate and debate["labels"] else {}
        return debate and {**debate, "human": human}

    @property
    def human_labels(self) -> HumanLabels:
        """The human labels of its turns; the run may have other labels by now."""
        return HumanLabels(self.place.root, self.store, self.place.plan().labels)

    def question(self, dataset: str, question: str) -> dict[str, Any] | None:
        """Return a question; None if it is unknown."""
        return read_question(self.store, dataset, question)

    def calls(self, number: int) -> dict[str, Any] | None:
        """Return the calls of a debate by key; None if there is no such debate."""
        debate = self.debate(number)
        if debate is None or "fault" in debate:
            return None
        turns = list(turns_as_shown(debate))
        keys = list(dict.fromkeys(turn["call"] for turn in turns))
        measured = [turn["measured"] for turn in turns if turn["measured"]]
        asides = [aside["call"] for each in measured for aside in each["asides"]]
        asides += [request["call"] for turn in turns for request in turn["requests"]]
        with self._lock:
            return dict(self._calls.of(debate["where"].rpartition(":")[0], keys, asides))

    def search(self, text: str) -> list[int]:
        """Return the debates that contain all of some words, or words that begin with them."""
        words = words_of(text)[:_MOST_WORDS]
        if not words:
            return []
        with self.store.reading() as db:
            try:
                rows = db.execute("SELECT rowid FROM said WHERE said MATCH ?", (search_query(words),)).fetchall()
            except sqlite3.DatabaseError:
                return []
        return [number for (number,) in rows]

    def close(self) -> None:
        """Close the call logs."""
        with self._lock:
            self._calls.close()


def words_of(text: str) -> list[str]:
    """Return the words of a text as in the index: letters and digits, in lower case and without accents."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return [word for word in re.split(r"[\W_]+", plain.lower()) if word]


def search_query(words: Iterable[str]) -> str:
    """Return the full-text query for beginnings of words, each quoted, so that none is an operator."""
    return " AND ".join(f'"{word}"*' for word in words)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _changed(path: str) -> float:
    try:
        return Path(path).stat().st_mtime
    except OSError:
        return 0.0


_FOLDERS = 4  # open at a time; about 200 bytes per call
_SHOWN = (
    "key", "model", "api_base", "parameters", "seed", "messages", "images", "finish_reason", "usage", "dollars",
    "seconds", "attempts", "retries", "error", "seed_refused",
)  # fmt: skip
_REPLIED = ("reply",)


class RecordedCalls:
    """The recorded calls of debates; opens call logs on demand. For one thread at a time."""

    def __init__(self) -> None:
        self._open: dict[Path, LogFolder] = {}

    def of(self, records: str, keys: list[str], asides: Sequence[str] = ()) -> dict[str, Mapping[str, Any] | None]:
        """Return the calls of turns, and calls that are not turns with their replies, by key; None: not in any log.

        Parameters
        ----------
        records : str
            The file of the debate's record: `.../debates/<dataset>/<cell>/<shard>.jsonl`.
        keys : list of str
        asides : sequence of str
            Calls whose replies are not in the record: those that measured a confidence.
        """
        path = Path(records).absolute()
        dataset = path.parent.parent
        folder = Path(Layout(dataset.parent.parent.as_posix()).calls(dataset.name, path.stem))
        logs = self._open.pop(folder, None) or LogFolder(folder)
        self._open[folder] = logs
        while len(self._open) > _FOLDERS:
            self._open.pop(next(iter(self._open))).close()
        logs.refresh()
        calls = {key: logs.find(key, None, errors_again=False) for key in [*keys, *asides]}
        fields = {key: _SHOWN if key in keys else (*_SHOWN, *_REPLIED) for key in calls}
        return {key: call and {name: call[name] for name in fields[key] if name in call} for key, call in calls.items()}

    def close(self) -> None:
        """Close the logs."""
        for logs in self._open.values():
            logs.close()
        self._open.clear()

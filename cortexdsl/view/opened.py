"""One experiment as it is open: its index, its calls, how far it is. What the pages ask for, as bytes of JSON."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cortexdsl.errors import CortexError, RecordError
from cortexdsl.view.index.gather import Gatherer
from cortexdsl.view.index.store import Store
from cortexdsl.view.index.table import table
from cortexdsl.view.pages.debate import read_debate
from cortexdsl.view.pages.overview import overview
from cortexdsl.view.pages.prompts import Prompts
from cortexdsl.view.pages.questions import learn_questions, read_question
from cortexdsl.view.places import Place
from cortexdsl.watch.plain import as_plain
from cortexdsl.watch.watched import Watched, expected_in

_FAULTS = 20  # shown of those that there are
_MOST_WORDS = 20
_SHOWN_EVERY = 5.0  # seconds


class Opened:
    """An experiment that is open.

    Parameters
    ----------
    place : Place

    Attributes
    ----------
    generation : int
        Grows whenever the index has changed.
    is_ready : bool
        Whether the index has been up to date once.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.store = Store(place.root)
        self.generation = 0
        self.is_ready = False
        self._gatherer = Gatherer(place, self.store)
        self._prompts = Prompts(place)
        self._watched: tuple[float, Watched] | None = None
        self._unknown = ""
        self._planned = -1.0
        self._table: tuple[int, bytes] = (-1, b"")
        self._lock = threading.Lock()  # of the prompts, the table and the watch
        self.store.prepare()

    def catch_up(self, wanted: Callable[[], bool] = lambda: True) -> None:
        """Bring the index up to date, whatever it takes."""
        planned = _changed(self.place.layout.plan)
        if planned != self._planned:
            self._unknown = learn_questions(self.store, self.place.plan(), self.place.root)
            self._planned = planned
            self.generation += 1
        if self._gatherer.catch_up(self._showing(wanted)) or not self.is_ready:
            self.generation += 1
        self.is_ready = True

    def _showing(self, wanted: Callable[[], bool]) -> Callable[[], bool]:
        """Let what is read so far be seen now and then, while a first look goes on for minutes."""
        shown = time.monotonic()

        def is_wanted() -> bool:
            nonlocal shown
            if time.monotonic() - shown > _SHOWN_EVERY:
                shown = time.monotonic()
                self.generation += 1
            return wanted()

        return is_wanted

    def overview(self) -> bytes:
        """What does not change while somebody looks, and how far it is."""
        return _json(overview(self.place) | {"unknown_questions": self._unknown} | self._state())

    def progress(self) -> bytes:
        """How far the run and the index are."""
        return _json(self._state())

    def _state(self) -> dict[str, Any]:
        with self.store.reading() as db:
            faults = db.execute("SELECT message FROM faults LIMIT ?", (_FAULTS,)).fetchall()
            count = db.execute("SELECT count(*) FROM faults").fetchone()[0]
            debates = db.execute("SELECT count(*) FROM debates").fetchone()[0]
        index = {
            "generation": self.generation,
            "is_ready": self.is_ready,
            "done": self._gatherer.done,
            "total": self._gatherer.total,
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
                if self._watched is None or self._watched[0] != planned:
                    self._watched = planned, Watched(expected_in(self.place.name))
                return as_plain(self._watched[1].look())
            except (CortexError, OSError):  # it has not begun, or is gone
                return None

    def table(self) -> tuple[int, bytes]:
        """All debates as columns, packed by gzip, and the generation that they are of."""
        with self._lock:
            generation = self.generation
            if self._table[0] != generation:
                self._table = generation, self._packed_table()
            return self._table

    def _packed_table(self) -> bytes:
        """The list of all debates, kept in the index: it takes a second for 100,000."""
        revision = self.store.revision()
        at = f"{revision} {_changed(self.place.layout.plan)}"
        packed = self.store.kept("table", at)
        if packed is None:
            with self.store.reading() as db:
                packed = gzip.compress(table(db, self.place.plan()), compresslevel=3, mtime=0)
            self.store.keep("table", at, packed)
        return packed

    def debate(self, number: int) -> dict[str, Any] | None:
        """One debate; with `fault` where its record cannot be believed; None where there is none."""
        try:
            return read_debate(self.store, number)
        except RecordError as error:
            return {"id": number, "fault": str(error)}

    def question(self, dataset: str, question: str) -> dict[str, Any] | None:
        """What is known of a question."""
        return read_question(self.store, dataset, question)

    def calls(self, number: int) -> dict[str, Any] | None:
        """The calls of a debate's turns by key; None where there is no such debate."""
        debate = self.debate(number)
        if debate is None or "fault" in debate:
            return None
        keys = list(dict.fromkeys(turn["call"] for turn in debate["turns"]))
        measured = [turn["measured"] for turn in debate["turns"] if turn["measured"]]
        beside = [aside["call"] for each in measured for aside in each["asides"]]
        with self._lock:
            return dict(self._prompts.of(debate["where"].rpartition(":")[0], keys, beside))

    def search(self, text: str) -> list[int]:
        """The debates in which all of some words were said; a word's beginning will do."""
        words = words_of(text)[:_MOST_WORDS]
        if not words:
            return []
        with self.store.reading() as db:
            try:
                found = db.execute("SELECT rowid FROM said WHERE said MATCH ?", (matching(words),)).fetchall()
            except sqlite3.DatabaseError:
                return []
        return [row for (row,) in found]

    def close(self) -> None:
        """Close the call logs."""
        with self._lock:
            self._prompts.close()


def words_of(text: str) -> list[str]:
    """Return the words of a text as the index has them: letters and digits, without accents and capitals."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return [word for word in re.split(r"[\W_]+", plain.lower()) if word]


def matching(words: Iterable[str]) -> str:
    """Return words as a query of the full-text index: each quoted, so that none is an operator, and as a beginning."""
    return " AND ".join(f'"{word}"*' for word in words)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _changed(path: str) -> float:
    try:
        return Path(path).stat().st_mtime
    except OSError:
        return 0.0

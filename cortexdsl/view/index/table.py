"""All debates of an experiment as columns: what the explorer filters and sorts in the browser, asking once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from cortexdsl.records.links import OUTCOMES

_LONGEST = 120  # characters of an answer or question in a list
_COUNTS = ("rounds", "tied", "unread", "failed", "flips", "to_right", "to_wrong", "persuaded", "input", "output")
_ORDER = "dataset, question, cell, replicate, id"


def table(db: sqlite3.Connection, plan: Mapping[str, Any]) -> bytes:
    """Return every debate as one JSON object of columns.

    `debates` is an object of columns of equal length: `id`, `question`, `cell`, `answer`, `stop` and `source` are
    numbers (the last five of entries of the lists `questions`, `cells`, `answers`, `stops` and `sources`; an answer of
    -1 is none), `replicate`, `score` (null: unknown), `had` (a bit for each of the list `outcomes` that a reply was),
    and counts. Questions and cells stand in the plan's order, others after
    them; debates are ordered by question, cell and replicate.
    """
    texts = {
        (dataset, question): text
        for dataset, question, text in db.execute("SELECT dataset, question, substr(text, 1, 200) FROM questions")
    }
    planned = [(dataset, question) for dataset, ids in (plan.get("questions") or {}).items() for question in ids]
    found = db.execute("SELECT DISTINCT dataset, question FROM debates ORDER BY dataset, question")
    questions = _codes([*planned, *map(tuple, found)])
    named = [cell["cell"] for cell in plan.get("cells") or ()]
    cells = _codes([*named, *(cell for (cell,) in db.execute("SELECT DISTINCT cell FROM debates ORDER BY cell"))])
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
    said = {
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
    }
    return json.dumps(said, separators=(",", ":")).encode()


def _codes(values: Iterable[Any]) -> dict[Any, int]:
    """Number different values in their order."""
    return {value: code for code, value in enumerate(dict.fromkeys(values))}


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _LONGEST].split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _plain(value: float | None) -> float | int:
    """A count that is not known is 0 in a list; a whole number needs no point."""
    return 0 if value is None else int(value) if value == int(value) else round(value, 4)

"""A file of one's own: which column is what, and which kind of answer it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.kinds import KINDS
from cortexdsl.tasks.reading.number import canonical_number
from cortexdsl.tasks.registry import Entry, nearest
from cortexdsl.tasks.sources.fields import field
from cortexdsl.tasks.sources.files import rows_of
from cortexdsl.terms import Dataset

FIELDS = ("question", "answer", "id", "context", "choices", "cluster", "group", "labels", "gold", "records", "images")


def own_entry(dataset: Dataset) -> Entry:
    """Make an entry of a spec's field map.

    The kind, where none is given, is `choice` with choices, `labels` with labels, `number` if the first hundred
    answers are numbers, else `text`.

    Raises
    ------
    DataError
        If no file is given, a field or kind is unknown, or a column is not there.
    """
    if dataset.path is None:
        raise DataError(f"dataset {dataset.label}: neither a name nor a file\n    give `name:` or `file:`")
    words: Mapping[str, Any] = dataset.fields
    for word in words:
        if word not in FIELDS:
            raise DataError(f"dataset {dataset.label}: unknown field {word!r}{nearest(word, FIELDS)}")
    choices = words.get("choices")
    options = {"columns": choices} if isinstance(choices, list | tuple) else choices
    labels = tuple(map(str, words.get("labels", ())))
    answer = words.get("answer", "answer")
    rows = list(islice(rows_of(Path(dataset.path), str(words.get("records", ""))), 100))
    kind = dataset.kind or _kind(rows, answer, choices is not None, bool(labels))
    if kind not in KINDS:
        raise DataError(f"dataset {dataset.label}: unknown kind {kind!r}{nearest(kind, KINDS)}", word="kind")
    return Entry(
        name=dataset.label,
        kind=kind,
        labels=labels,
        question=words.get("question", "question"),
        answer=answer,
        id=words.get("id", "id"),
        context=words.get("context"),
        cluster=words.get("cluster"),
        options=options,
        group=str(words.get("group", "")),
        gold=str(words.get("gold", "label" if kind == "choice" else "boolean" if kind == "yesno" else "plain")),
        records=str(words.get("records", "")),
        images=tuple(words.get("images", ())),
    )


def _kind(rows: list[dict[str, Any]], answer: Any, has_choices: bool, has_labels: bool) -> str:
    if has_choices or has_labels:
        return "choice" if has_choices else "labels"
    answers = [field(row, answer) for row in rows]
    known = [str(value) for value in answers if value is not None]
    return "number" if known and all(canonical_number(value) is not None for value in known) else "text"

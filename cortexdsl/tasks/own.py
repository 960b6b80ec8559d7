"""Your own questions, from a file or any dataset of the hub: which column is what, and the kind of the answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.kinds import KINDS
from cortexdsl.tasks.registry import Entry, nearest
from cortexdsl.tasks.sources.decimals import Mark, decimal_mark, is_number
from cortexdsl.tasks.sources.fields import field
from cortexdsl.tasks.sources.golds import CONVERTERS
from cortexdsl.terms import Dataset

FIELDS = ("question", "answer", "id", "context", "choices", "cluster", "group", "labels", "gold", "records", "images")


def own_entry(dataset: Dataset, rows: Sequence[Mapping[str, Any]], numbers: Sequence[int]) -> Entry:
    """Make an entry of a spec's field map and of the rows that it is about, which have these numbers.

    The kind, if none is given, is `choice` with choices, `labels` with labels, `number` if all answers are numbers,
    and `text` if none is.

    Raises
    ------
    DataError
        If a field, kind or gold is unknown, if some answers are numbers and others are not, or if their decimal mark
        is not certain.
    """
    words: Mapping[str, Any] = dataset.fields
    for word in words:
        if word not in FIELDS:
            raise DataError(f"dataset {dataset.label}: unknown field {word!r}{nearest(word, FIELDS)}")
    choices = words.get("choices")
    options = {"columns": choices} if isinstance(choices, list | tuple) else choices
    labels = tuple(map(str, words.get("labels", ())))
    answer = words.get("answer", "answer")
    shape = "choice" if choices is not None else "labels" if labels else None
    gold = str(words.get("gold", ""))
    _known(dataset, "gold", gold or "plain", CONVERTERS)
    values = [(f"row {number}", field(row, answer)) for number, row in zip(numbers, rows, strict=True)]
    answers = _answers(values, gold or "plain") if (dataset.kind or shape or "number") == "number" else []
    kind = dataset.kind or shape or _kind(dataset.label, answers)
    _known(dataset, "kind", kind, KINDS)
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
        gold=gold or {"choice": "label", "yesno": "boolean"}.get(kind, "plain"),
        decimal=_decimal(dataset, values) if kind == "number" else ".",
        records=str(words.get("records", "")),
        images=tuple(words.get("images", ())),
    )


def _known(dataset: Dataset, word: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise DataError(f"dataset {dataset.label}: unknown {word} {value!r}{nearest(value, known)}", word=word)


def _answers(values: Sequence[tuple[str, Any]], gold: str) -> list[tuple[str, str]]:
    """Return every acceptable answer that is not empty, with its place."""
    texts = ((place, text) for place, value in values for text in CONVERTERS[gold](value, ()) if value is not None)
    return [(place, text) for place, text in texts if text.strip()]


def _kind(label: str, answers: Sequence[tuple[str, str]]) -> str:
    others = [(place, value) for place, value in answers if not is_number(value)]
    if not answers or len(others) == len(answers):
        return "text"
    if not others:
        return "number"
    numbers = len(answers) - len(others)
    odd = others if len(others) <= numbers else [each for each in answers if each not in others]
    shown = ", ".join(f"{place}: {value[:40]!r}" for place, value in odd[:3]) + (", ..." if len(odd) > 3 else "")
    are, are_not = ("is a number" if numbers == 1 else "are numbers"), ("is" if len(others) == 1 else "are")
    raise DataError(
        f"dataset {label}: {numbers} answer{'s' * (numbers != 1)} {are} and {len(others)} {are_not} not ({shown})\n"
        "    mend them, or say what is asked for: kind: number, or kind: text",
        word="file",
    )


def _decimal(dataset: Dataset, values: Sequence[tuple[str, Any]]) -> Mark:
    """Return the decimal mark of answers that are texts; numbers of JSON and Parquet need none."""
    if dataset.decimal is not None:
        return dataset.decimal
    texts = [(place, value) for place, value in values if isinstance(value, str) and is_number(value)]
    return decimal_mark(texts, has_semicolons=dataset.delimiter == ";")

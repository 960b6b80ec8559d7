"""Judgements as a file: what the judge said of every different answer that one cell gave to one dataset.

JSON Lines `{schema_version, question_id, answer, judgement, call}`: `judgement` is `correct`, `incorrect` or null
(the judge's reply was empty or could not be read), `call` the key in the judge's call log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cortexdsl.errors import RecordError

SCHEMA_VERSION = 1
_WORDS: Mapping[bool | None, str | None] = {True: "correct", False: "incorrect", None: None}
_MEANT = {word: meant for meant, word in _WORDS.items()}
_REMEDY = "run the workflow again: it asks the judge about what is missing, and nothing twice"

Answered = tuple[str, str]
"""(question id, answer)"""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the judge said of an answer; `is_right` is None where its reply could not be read."""

    question_id: str
    answer: str
    is_right: bool | None
    call: str


class Judgements:
    """The judgements of one file as a grade function: 1 correct; 0 incorrect, unreadable, or no answer at all.

    Parameters
    ----------
    path : Path

    Raises
    ------
    RecordError
        If the file is missing, of another version, or a line cannot be read; when called, if an answer was
        never judged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.by_answer: Mapping[Answered, bool | None] = MappingProxyType(_read(path))

    def __call__(self, question_id: str, answer: str | None) -> float:
        """Return the grade of an answer."""
        if answer is None:
            return 0.0
        try:
            return float(self.by_answer[question_id, answer] is True)
        except KeyError:
            raise RecordError(
                f"{self.path}: no judgement of an answer to question {question_id}\n    {_REMEDY}"
            ) from None


def judgement_lines(judgements: Iterable[Judgement]) -> Iterable[str]:
    """Return the lines of a file of judgements."""
    for one in judgements:
        yield json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "question_id": one.question_id,
                "answer": one.answer,
                "judgement": _WORDS[one.is_right],
                "call": one.call,
            }
        )


def unread_calls(path: Path) -> tuple[str, ...]:
    """Return the keys of the calls whose judgement is null: the reply was empty, or could not be read.

    Raises
    ------
    RecordError
        As for `Judgements`.
    """
    return tuple(row["call"] for row in _rows(path) if row["judgement"] is None)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the checked lines of a file of judgements."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: the judgements cannot be read ({error})\n    {_REMEDY}") from None
    for number, line in enumerate(filter(None, lines), 1):
        try:
            row = json.loads(line)
            if row["schema_version"] != SCHEMA_VERSION:
                raise ValueError(f"schema_version is {row['schema_version']!r}, not {SCHEMA_VERSION}")
            if row["judgement"] not in _MEANT:
                raise ValueError(f"judgement is {row['judgement']!r}")
            found = {name: str(row[name]) for name in ("question_id", "answer", "call")}
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RecordError(f"{path}:{number}: no line of judgements ({error})\n    {_REMEDY}") from None
        yield found | {"judgement": row["judgement"]}


def _read(path: Path) -> dict[Answered, bool | None]:
    return {(row["question_id"], row["answer"]): _MEANT[row["judgement"]] for row in _rows(path)}

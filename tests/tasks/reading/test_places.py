"""Where in a reply its answer stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader
from cortexdsl.tasks.rows import row_item

CITIES = (("A", "Paris"), ("B", "Rome"))


@pytest.mark.parametrize(
    ("kind", "text", "place"),
    [
        ("number", "12 or 13?\nAnswer: 12\nConfidence: 0.12", "12@18"),
        ("number", "so\nAnswer: $1,234.50 dollars", "1,234.50@12"),
        ("number", "Answer:\n**12**\n", "12@10"),
        ("number", "3 + 4 = 7, so it is 7.", "7@20"),
        ("number", "It is 1,234.5 in all", "1,234.5@6"),
        ("expression", "we get \\boxed{\\frac{1}{2}} in all", "\\frac{1}{2}@14"),
        ("choice", "Answer: (B) Rome\nConfidence: 1", "B@9"),
        ("choice", "The answer is Paris.", "Paris@14"),
        ("text", "Answer: Ada Lovelace\nConfidence: 0.5", "Ada Lovelace@8"),
        ("yesno", "Answer: Yes, it is", "Yes@8"),
    ],
)
def test_an_answer_stands_where_it_was_read(kind: str, text: str, place: str) -> None:
    reader = AnswerReader(kind_named(kind, CITIES if kind == "choice" else ()))
    answer = reader.read("answer", text).value
    assert answer is not None
    found = reader.place_of(answer, text)
    assert found is not None
    assert f"{text[slice(*found)]}@{found[0]}" == place


@pytest.mark.parametrize(
    ("kind", "answer", "text"),
    [
        ("number", "5", "It costs 15, or 5.5, or x5."),
        ("number", "5", ""),
        ("number", "", "Answer: 5"),
        ("choice", "A", "I am sure of it"),
        ("free", "a summary", "Answer: a summary"),
    ],
)
def test_an_answer_that_stands_nowhere_has_no_place(kind: str, answer: str, text: str) -> None:
    assert AnswerReader(kind_named(kind, CITIES if kind == "choice" else ())).place_of(answer, text) is None


def test_a_reply_of_a_million_words_is_looked_at_from_its_end() -> None:
    reader = AnswerReader(kind_named("number"))
    assert reader.place_of("7", "word " * 1_000_000) is None
    assert reader.place_of("7", "word " * 1_000_000 + "it is 7") == (5_000_006, 5_000_007)


def test_the_answers_of_real_replies_are_found(shared_data: Path) -> None:
    """At least 98 % of those that were read; what is found reads as the answer, or is a part of its line."""
    lines = (shared_data / "raw_outputs.jsonl").read_text(encoding="utf-8").splitlines()
    found, lost = 0, []
    for number, row in enumerate(map(json.loads, lines), 1):
        item = row_item(row, number)
        reader = AnswerReader(kind_named(item.kind, item.question.options, item.labels))
        answer = reader.read("answer", str(row["output"] or "")).value
        if answer is None or item.kind == "free":
            continue
        place = reader.place_of(answer, row["output"])
        found += place is not None
        lost += [] if place else [answer]
    assert found > 100
    assert len(lost) <= 0.02 * (found + len(lost)), lost

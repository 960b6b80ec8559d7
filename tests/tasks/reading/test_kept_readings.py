"""Readings that are kept for debates which share their replies."""

from __future__ import annotations

import pytest

from cortexdsl.tasks.reading import reader
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader

CHOICES = (("A", "red"), ("B", "blue"))


def test_one_reply_is_read_by_each_kind_and_way_as_that_reads_it() -> None:
    """`(B)` is an option where there are options and no number; the strict reading wants its own line."""
    text = "I think it is 7, so the answer is (B)."
    for _ in range(2):
        assert AnswerReader(kind_named("choice", CHOICES)).read("answer", text).value == "B"
        assert AnswerReader(kind_named("choice", CHOICES), "strict").read("answer", text).value is None
        assert AnswerReader(kind_named("choice", (("A", "red"),))).read("answer", text).value is None


def test_a_reply_is_read_once_for_all_who_heard_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second job that comes to the same reply does not read it again; a very long one is not kept for it."""
    read: list[str] = []
    lenient = AnswerReader.lenient

    def counted(self: AnswerReader, text: str) -> object:
        read.append(text)
        return lenient(self, text)

    monkeypatch.setattr(AnswerReader, "lenient", counted)
    short, long = "Answer: 52917", "so " * reader.LONGEST_KEPT + "\nAnswer: 52917"
    for text in (short, short, long, long):
        assert AnswerReader(kind_named("number")).read("answer", text).value == "52917"
    assert read == [short, long, long]

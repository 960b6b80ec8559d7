"""Whatever a model replies, reading it neither raises nor takes more than linear time."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortexdsl.core import Reading, Reads
from cortexdsl.tasks.reading.kinds import AnswerKind, kind_named
from cortexdsl.tasks.reading.reader import AnswerReader
from cortexdsl.tasks.reading.text import LONGEST, clean

OPTIONS = (("A", "red apple"), ("B", "12"), ("C", "x - 1"), ("D", "none of these"))
KINDS: list[AnswerKind] = [
    kind_named("number"),
    kind_named("choice", OPTIONS),
    kind_named("choice"),
    kind_named("yesno"),
    kind_named("expression"),
    kind_named("text"),
    kind_named("labels", (), ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")),
    kind_named("free"),
]
STEPS: list[Reads] = ["answer", "review", "verdict", "summary", "selection", "comment", "similarity"]
PIECES = [
    *(
        "answer is ",
        "Answer: ",
        "\\boxed{",
        "}",
        "{",
        "(",
        ")",
        "(A",
        "A ",
        "and ",
        "1",
        ",",
        "1,",
        ".5",
        "/",
        "1/0",
        "-",
    ),
    *("\\frac{1}{", "<answer>", '"answer":"', "\nQuestion:", "\n", "$", "$$", "\\[", "=", "*", "Finish[", ". ", "No "),
    *(
        "<<",
        "####",
        "the answer to ",
        "\x00",
        "\u202e",
        "\u200f",
        "confidence: 0.",
        "答案是",
        "。",
        "x 10^",
        "e9999",
        "\\",
    ),
    *(
        "\\text{",
        "_1",
        "9" * 500,
        "I choose ",
        "Score: ",
        "Verdict: ",
        "Selected: ",
        "[1]",
        "٣",
        "²",
        "½",
        "\ud800",
        "Ⅷ",
    ),
]
REPLIES = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(REPLIES)
def test_reading_never_raises(reply: str) -> None:
    """Every kind and step reads every text, and gives either a value or a reason."""
    for kind in KINDS:
        reader = AnswerReader(kind)
        for reading in (reader.strict(reply), reader.lenient(reply), *(reader.read(step, reply) for step in STEPS)):
            assert isinstance(reading, Reading)
            assert (reading.value is None) == (reading.unparsed is not None)
        assert isinstance(reader.without_confidence(reply), str)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), REPLIES)
def test_a_value_that_was_read_is_spelled_canonically(kind: AnswerKind, reply: str) -> None:
    """Where the kind knows a spelling for golds, what is read has that spelling, so that votes and golds compare."""
    value = AnswerReader(kind).lenient(reply).value
    if value is not None and kind.name in ("number", "choice", "yesno", "labels"):
        assert kind.canonical(value) == value


@pytest.mark.parametrize("piece", PIECES)
def test_a_hundred_kilobytes_are_read_in_bounded_work(piece: str) -> None:
    """A reply is cut before any pattern sees it, so that ten times more text costs the same."""
    reply = (piece * (100_000 // len(piece) + 1))[:100_000]
    assert len(clean(reply)) <= LONGEST + 1
    for kind in KINDS:
        reading = AnswerReader(kind).lenient(reply)
        assert reading.value is None or len(reading.value) <= LONGEST + 1


def test_the_end_of_a_long_reply_is_what_counts() -> None:
    reply = "Answer: 1\n" + "thinking on and on\n" * 20_000 + "Answer: 2"
    assert AnswerReader(kind_named("number")).lenient(reply).value == "2"


def test_a_loop_without_an_answer_gives_none() -> None:
    reply = "We compute. " + "= not not False " * 200
    reading = AnswerReader(kind_named("labels", (), ("True", "False"))).lenient(reply)
    assert reading.unparsed == "repeats itself until it is cut off"


def test_no_pattern_has_nested_unbounded_repetition() -> None:
    """A quantified group that itself holds an unbounded repeat of the same text is what makes matching quadratic."""
    nested = re.compile(r"\([^()]*[^\\][*+]\)[*+]")
    for name, module in list(sys.modules.items()):
        if name.startswith("cortexdsl.tasks.reading"):
            for attribute in vars(module).values():
                if isinstance(attribute, re.Pattern):
                    assert not nested.search(attribute.pattern), (name, attribute.pattern)

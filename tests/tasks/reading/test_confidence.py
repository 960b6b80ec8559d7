"""Stated confidences. Values are what the words say, worked out by hand."""

from __future__ import annotations

import pytest

from cortexdsl.tasks.reading.confidence import read_confidence, without_confidence
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Confidence: 0.8", 0.8),
        ("**Confidence:** .75", 0.75),
        ("Confidence: 80%", 0.8),
        ("Confidence: 80 percent, or so", 0.8),
        ("Confidence: 8/10", 0.8),
        ("Confidence: 8 out of 10", 0.8),
        ("Confidence: 80", 0.8),
        ("Confidence: 0.8 (very sure)", 0.8),
        ("confidence level: 1.0", 1.0),
        ('"confidence_level": "0.95"', 0.95),
        ("My confidence in this answer is 90%.", 0.9),
        ("Confidence: 0,7", 0.7),
        ("Confidence: 0.3\nno\nConfidence: 0.6", 0.6),
        ("Confidence: 1.5", 1.5),
        ("Confidence: -0.2", -0.2),
        ("Confidence: 150%", 1.5),
        ("置信度：0.6".replace("：", ":"), 0.6),
        ("Confidence (0-1): 0.9", 0.9),  # the range is no value
        ("Confidence [0 to 1]: 70%", 0.7),
        ("Confidence: high", None),
        ("I am sure.", None),
        ("", None),
    ],
)
def test_reading(text: str, value: float | None) -> None:
    assert read_confidence(text) == (None if value is None else pytest.approx(value))


def test_stated_values_outside_the_range_are_kept_as_stated() -> None:
    reading = AnswerReader(kind_named("number")).read("answer", "Answer: 3\nConfidence: 1.5")
    assert (reading.value, reading.confidence) == ("3", 1.5)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Because.\nAnswer: 3\nConfidence: 0.8", "Because.\nAnswer: 3"),
        ("Confidence: 80%\nAnswer: 3", "Answer: 3"),
        ("Answer: 3 (confidence: 0.8)", "Answer: 3"),
        ('{"answer": "3", "confidence_level": "0.8", "why": "x"}', '{"answer": "3",  "why": "x"}'),
        ("I have confidence in him.", "I have confidence in him."),
        ("Answer: 4\nConfidence is 0.9", "Answer: 4"),
        ("I say 4.\nMy confidence is 80%.", "I say 4."),
        ("Answer: 4 with a confidence of 90%", "Answer: 4"),
        ("Answer: 4\n**Confidence Level** 0.8", "Answer: 4"),
        ("Answer: 4\n- Confidence \u2014 0.85.", "Answer: 4"),
        ("Answer: 4\nConfidence (0-1): 0.9", "Answer: 4"),
        ("Overall, my confidence in this answer is 0.9.\nAnswer: 4", "\nAnswer: 4"),
        # what a solution says of a confidence level of statistics is no confidence of its author
        ("At confidence level 0.95, z is 1.96.\nConfidence: 0.8", "At confidence level 0.95, z is 1.96."),
    ],
)
def test_others_hear_the_reply_without_it(text: str, rest: str) -> None:
    assert without_confidence(text) == rest


@pytest.mark.parametrize("name", ["Confidence", "confidence level", "My certainty", "Overall confidence score"])
@pytest.mark.parametrize("between", [": ", " is ", " = ", " of ", " - ", " (0-1): ", " at ", " in this answer is "])
@pytest.mark.parametrize("value", ["0.8", "80%", "8/10", ".8", "80 percent"])
def test_what_is_read_is_never_heard(name: str, between: str, value: str) -> None:
    """Whatever spelling is read as a confidence is removed from what others hear, and the answer stays."""
    text = f"2+2 is 4.\nAnswer: 4\n{name}{between}{value}"
    assert read_confidence(text) == pytest.approx(0.8)
    assert read_confidence(without_confidence(text)) is None
    assert without_confidence(text) == "2+2 is 4.\nAnswer: 4"

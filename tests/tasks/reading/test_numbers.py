"""Numbers: canonical spelling and reading. Expected values are worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.number import canonical_number, spelled
from cortexdsl.tasks.reading.reader import AnswerReader

READER = AnswerReader(kind_named("number"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[(text, "18") for text in ("18", "18.0", "$18", "18.", "18 eggs", "$18.00 per day", "**18**", "+18", "`18`")],
        *[("1,234.50", "1234.5"), ("-3", "-3"), ("−3", "-3"), ("20%", "20"), (".5", "0.5"), ("0.50", "0.5")],
        *[
            ("1/3", "1/3"),
            ("2/4", "0.5"),
            (r"\frac{3}{4}", "0.75"),
            (r"26,\!000", "26000"),
            (r"1.5 \times 10^3", "1500"),
        ],
        *[
            ("1e3", "1000"),
            ("2 1/2", "2.5"),
            (r"10\text{ cm}", "10"),
            (r"74^\circ", "74"),
            ("10 cm^2", "10"),
            ("1,000,000", "1000000"),
        ],
    ],
)
def test_equal_values_have_one_spelling(text: str, value: str) -> None:
    assert canonical_number(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "eggs", "3 and 4", "3, 4", "12:30", r"5\pi", "2x", r"5\sqrt{3}", "10^5", "3 4", "1/0", "9" * 5000, "1.2.3"],
)
def test_what_is_no_single_number_has_no_spelling(text: str) -> None:
    assert canonical_number(text) is None


@given(st.fractions(max_denominator=10**6))
def test_spelling_is_exact(value: Fraction) -> None:
    """A spelled value means exactly the value: no float on the way."""
    text = spelled(value)
    assert Fraction(text) == value
    assert canonical_number(text) == text


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("It is 3 and 4.\nAnswer: 18\nConfidence: 0.9", "18"),
        ("**Answer:** $1,200.", "1200"),
        ("**Final Answer**: 7", "7"),
        ("Answer:\n\n42", "42"),
        ("The answer is that Janet makes $18 every day.", "18"),
        ("So the answer is 9 * 2 = 18 dollars.", "18"),
        (r"Thus \boxed{26,\!000} is it, out of 3.", "26000"),
        ("She sells 9.\n#### 18", "18"),
        ("She sells 9.\nA: 18", "18"),
        ("Total = 5 + 3 = 8 apples for 2 people.", "8"),
        ("First 5. Then it took 3 hours.", "3"),
        ('{"reasoning": "5 plus 4", "answer": "9", "confidence_level": 0.8}', "9"),
        ("Answer: 12\nWait, that forgets the tax.\nAnswer: 14", "14"),
        ("答案是：18。", "18"),
        ("Answer： １８", "18"),
        ("The answer is -116.", "-116"),
        ("The answer is 20 because 4 * 5 = 20 and 3 + 2 = 5.", "20"),
        ("The answer is three.", "3"),
        ("Answer: \u200f18\u200e", "18"),
        ("Answer: 1\x008", "18"),
    ],
)
def test_lenient_reading(reply: str, value: str) -> None:
    assert READER.lenient(reply).value == value


def test_a_confidence_is_no_answer() -> None:
    """The number of the confidence line must not be taken for the answer."""
    assert READER.lenient("I do not see it.\nConfidence: 0.9").value is None


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty reply"),
        (" \n\x00", "empty reply"),
        ("It is eighteen or so", "no number in the reply"),
        ("The answer is 3 or 4.", "several answers: '3 or 4'"),
        ("I cannot answer this question, as 5 facts are missing.", "refuses: 'I cannot answer'"),
    ],
)
def test_unreadable_replies_say_why(reply: str, reason: str) -> None:
    reading = READER.lenient(reply)
    assert reading.value is None
    assert reading.unparsed == reason


def test_strict_wants_the_asked_line_and_nothing_else_on_it() -> None:
    assert READER.strict("Answer: $18.\nConfidence: 1").value == "18"
    assert READER.strict("The answer is 18.").unparsed == "no answer line"
    assert READER.strict("Answer: 18 or 19").value is None
    assert READER.strict("").unparsed == "empty reply"

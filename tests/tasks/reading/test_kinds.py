"""The answer kinds: numbers, options, yes or no, labels, texts and expressions. Each expected value is plain to see."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.kinds import canonical_text, kind_named
from cortexdsl.tasks.reading.number import canonical_expression, canonical_number, canonical_value
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
    ["", "eggs", "3 and 4", "3, 4", "12:30", r"5\pi", "2x", r"5\sqrt{3}", "10^", "3 4", "1/0", "9" * 5000, "1.2.3"],
)
def test_what_is_no_single_number_has_no_spelling(text: str) -> None:
    assert canonical_number(text) is None


@given(st.fractions(max_denominator=10**6))
def test_spelling_is_exact(value: Fraction) -> None:
    """A spelled value means exactly the value: no float on the way."""
    text = canonical_value(value)
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
def test_a_number_is_read_leniently(reply: str, value: str) -> None:
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


FRUIT = AnswerReader(
    kind_named("choice", (("A", "red apple"), ("B", "green apple"), ("C", "-1.5 kJ"), ("D", "1.5 kJ"), ("E", "A pear")))
)
DIGITS = AnswerReader(kind_named("choice", (("1", "iron"), ("2", "gold"), ("3", "tin"), ("4", "zinc"))))
NUMBERS = AnswerReader(kind_named("choice", (("A", "12"), ("B", "3"), ("C", "x + 1"), ("D", "x - 1"))))


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Answer: B\nConfidence: 0.7", "B"),
        ("Answer: (B) green apple", "B"),
        ("**Answer: B**", "B"),
        ("The answer is (B).", "B"),
        ("The answer is (B", "B"),
        ("The correct answer is: **B. green apple**", "B"),
        (r"The final answer is $\boxed{\text{B}}$.", "B"),
        (r"\boxed{(B)}", "B"),
        ("The answer is green apple.", "B"),
        ("Answer: a pear", "E"),
        ("The answer is A pear.", "E"),
        ("The answer is -1.5 kJ", "C"),
        ("B", "B"),
        ("(B)", "B"),
        ("B. green apple", "B"),
        ("Long thoughts.\n\n**B**", "B"),
        ("I would choose B) green apple, since it is green.", "B"),
        ("So option B is correct.", "B"),
        ("Therefore, (B) is the best answer.", "B"),
        ("It must be the green apple, I am sure.", "B"),
        ("The answer is (A). No, wait. The answer is (B).", "B"),
        ("The answer is (B) because (A) and (C) are red.", "B"),
        ("The answer is (B), not (A).", "B"),
        ("Finish[B]", "B"),
        ('{"answer": "B", "confidence": 0.4}', "B"),
        ("<answer>B</answer>", "B"),
        ("Of these, only (B) is green.", "B"),
        ("The answer is (B).\n\nQuestion: What else?\nAnswer: (C)", "B"),
        ("The answer is (b).", "B"),
        ("I think this answer is wrong. The answer is B.", "B"),
    ],
)
def test_an_option_is_read_leniently(reply: str, label: str) -> None:
    assert FRUIT.lenient(reply).value == label


@pytest.mark.parametrize(
    "reply",
    [
        "The answer is (A) and (B).",
        "The answer is (A, B, C).",
        "The answer is A or B.",
        "The answer is not among the options.",
        "Answer: none of the above",
        "My answer is (N/A).",
        "I am sorry, but as a lawyer I cannot answer the question.",
        "A red apple and a green apple differ in colour.",
        "The answer is (X).",
        "I think so. It is 25 A at 3 V.",
        "(a) 3 A flow.",
        "A. red apple\nB. green apple\nC. -1.5 kJ\nD. 1.5 kJ",
        "The work is 1.55 kJ.",
    ],
)
def test_what_names_no_single_option_is_unparsed(reply: str) -> None:
    reading = FRUIT.lenient(reply)
    assert reading.value is None
    assert reading.unparsed


def test_labels_may_be_digits() -> None:
    assert DIGITS.lenient("Answer: 2").value == "2"
    assert DIGITS.lenient("The answer is (3) tin").value == "3"
    assert DIGITS.lenient("The answer is gold.").value == "2"


def test_numbers_as_options_are_not_taken_for_labels_or_parts_of_each_other() -> None:
    assert NUMBERS.lenient("The answer is 12.").value == "A"
    assert NUMBERS.lenient("The answer is x - 1.").value == "D"
    assert NUMBERS.lenient("The answer is 123.").value is None


def test_without_options_the_letters_a_to_j_are_known() -> None:
    reader = AnswerReader(kind_named("choice"))
    assert reader.lenient("The answer is (J).").value == "J"
    assert reader.lenient("The answer is (K).").value is None


def test_strict_takes_a_label_or_an_option_as_it_stands() -> None:
    assert FRUIT.strict("Answer: (B)").value == "B"
    assert FRUIT.strict("Answer: B. green apple").value == "B"
    assert FRUIT.strict("Answer: B and C").value is None
    assert FRUIT.strict("B").value is None


FEVER = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Answer: Yes", "yes"),
        ("Answer: **false**", "no"),
        ("So the answer is no.", "no"),
        ("Yes, it is.", "yes"),
        ("No", "no"),
        ("There is no evidence against it, so the answer is yes.", "yes"),
        ("Hence it is true.", "yes"),
        ("It may be.", None),
        ("The answer is yes or no.", None),
        ("One says yes and another no.", None),
    ],
)
def test_yes_and_no(reply: str, value: str | None) -> None:
    assert AnswerReader(kind_named("yesno")).lenient(reply).value == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Answer: NOT ENOUGH INFO", "NOT ENOUGH INFO"),
        ("Action 4: Finish[REFUTES]\nObservation 4: Episode finished", "REFUTES"),
        ("The answer is that the passage supports it.", "SUPPORTS"),
        ("The claim is refuted.", "REFUTES"),
        ("Not enough information", "NOT ENOUGH INFO"),
        ("Thought 3: I should search again.", None),
        ("It could be SUPPORTS or REFUTES.", None),
    ],
)
def test_label_sets(reply: str, value: str | None) -> None:
    assert AnswerReader(kind_named("labels", (), FEVER)).lenient(reply).value == value


def test_a_label_inside_another_word_is_none() -> None:
    reader = AnswerReader(kind_named("labels", (), ("valid", "invalid")))
    assert reader.lenient("So the answer is invalid.").value == "invalid"
    assert reader.lenient("invalid").value == "invalid"
    assert reader.strict("Answer: valid").value == "valid"


def test_a_label_of_true_and_false_keeps_the_dataset_spelling() -> None:
    assert AnswerReader(kind_named("labels", (), ("True", "False"))).lenient("So the answer is false.").value == "False"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Answer: The Beatles.", "beatles"),
        ('Answer: "Denver Broncos"', "denver broncos"),
        ("The answer is Washington D.C.", "washington d.c."),
        ("Denver Broncos", "denver broncos"),
        ("The answer is ] ) }.", "] ) }"),
        ("I think so.\nAnswer: unanswerable\nConfidence: 0.5", "unanswerable"),
        ("It is long.\nAnd it says nothing.", None),
    ],
)
def test_short_text(reply: str, value: str | None) -> None:
    assert AnswerReader(kind_named("text")).lenient(reply).value == value


def test_variants_of_a_short_answer_are_one_vote() -> None:
    assert len({canonical_text(text) for text in ("The Beatles", "the  beatles.", "“Beatles”", "**Beatles**")}) == 1


def test_free_text_is_the_reply_without_its_confidence() -> None:
    reader = AnswerReader(kind_named("free"))
    assert reader.lenient("Answer: One line.\nAnother line.\nConfidence: 0.8").value == "One line.\nAnother line."
    assert reader.lenient("No such line.").value == "No such line."
    assert reader.strict("No such line.").unparsed == "no answer line"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (r"Thus $x = \boxed{\dfrac{1}{2}}$.", "1/2"),
        (r"First \boxed{3}, in the end \boxed{\sqrt{2}}.", r"\sqrt{2}"),
        (r"The answer is $-4+5i$.", "-4+5i"),
        (r"Answer: $\left( 3, \frac{\pi}{2} \right)$", r"(3,\frac{\pi}{2})"),
        (r"Therefore, the value is $26,\!000$.", "26000"),
        ("So there are 480 ways to do it.", "480"),
        (r"x = 2 + 3 = 5", "5"),
        (r"The answer is $y = 2x + 1$.", "y=2x+1"),
        ("The answer is 2/5 or 0.4.", "2/5"),
        (r"\beginboxed{8\sqrt{6}}", r"8\sqrt{6}"),
        ("Answer: Navin", "Navin"),
        (r"\boxed{\text{Navin}}", r"\text{Navin}"),
        ("Nothing can be said about it, and that is all there is to tell.", None),
    ],
)
def test_expressions(reply: str, value: str | None) -> None:
    assert AnswerReader(kind_named("expression")).lenient(reply).value == value


def test_spelling_of_expressions_keeps_what_means_something() -> None:
    assert canonical_expression(r"\pi r") == r"\pi r"
    assert canonical_expression(r"\left[ 1 , 2 \right)") == "[1,2)"
    assert canonical_expression(r"$\tfrac{7}{12}$.") == "7/12"
    assert canonical_expression(r"\begin{pmatrix} 1 \\ -2 \end{pmatrix}") == r"\begin{pmatrix}1\\-2\end{pmatrix}"


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(DataError, match="answer kinds: number, choice"):
        kind_named("numbre")
    with pytest.raises(DataError, match="no label set"):
        kind_named("labels")

"""Options: by label, by text, and what is no answer. Each reply's option is plain to a human reader."""

from __future__ import annotations

import pytest

from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader

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
def test_lenient_reading(reply: str, label: str) -> None:
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

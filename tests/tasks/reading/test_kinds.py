"""Yes/no, labels, text, expressions, free text. Each expected value is plain to a human reader."""

from __future__ import annotations

import pytest

from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.expression import canonical_expression
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader
from cortexdsl.tasks.reading.words import canonical_text

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

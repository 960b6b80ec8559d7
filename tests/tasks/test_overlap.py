"""Questions that occur again are found, and different questions are not."""

from __future__ import annotations

import pytest

from cortexdsl.core import Dataset, Image, Question
from cortexdsl.tasks.load import load
from cortexdsl.tasks.overlap import OverlapFinder
from cortexdsl.tasks.reading.pair import ASK

APPLES = "Janet has 3 apples and buys 2 more at the market. How many apples does she have now?"
KNOWN = Question("k", APPLES, context="", cluster="fruit")


def reason(question: Question, known: Question = KNOWN) -> str | None:
    found = OverlapFinder([known]).find(question)
    return found.reason if found is not None else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (APPLES, "the same text"),
        (APPLES.upper(), "the same text"),
        (APPLES.replace(" ", "  ").replace("?", " ?"), "the same text"),
        (APPLES.replace(".", "!"), "the same text"),
        (APPLES.replace("a", "\uff41"), "the same text"),  # full-width letters
        (APPLES.replace("more ", ""), "nearly the same text"),
        (
            "How many apples does she have now? Janet has 3 apples and buys 2 more at the market.",
            "nearly the same text",
        ),
        (APPLES.replace("Janet", "Maria"), "nearly the same text"),
        (APPLES.replace("3", "4"), None),
        (APPLES.replace("3 apples and buys 2", "2 apples and buys 3"), None),
        ("What is the capital of Italy?", None),
    ],
)
def test_texts(text: str, expected: str | None) -> None:
    assert reason(Question("q", text)) == expected


def test_clusters_passages_options_and_images() -> None:
    assert reason(Question("q", "Which fruit is red?", cluster="Fruit")) == "the same cluster"
    passage = Question("k", "Who won?", context="The match was long.")
    assert reason(Question("q", "Who lost the final?", context="the match was long"), passage) == "the same passage"
    assert reason(Question("q", "Who lost the final?", context="Another match."), passage) is None
    options = Question("k", "Which is larger?", (("A", "a whale"), ("B", "a mouse")))
    assert reason(Question("q", "Which is larger?", (("A", "a mouse"), ("B", "a whale"))), options) == "the same text"
    assert reason(Question("q", "Which is larger?", (("A", "an ant"), ("B", "a bee"))), options) is None
    shown = Question("k", "What is shown?", images=(Image("1" * 64, "image/png", "a.png"),))
    other = Question("q", "What is shown?", images=(Image("2" * 64, "image/png", "b.png"),))
    assert reason(other, shown) is None


def test_operators_and_their_order_count() -> None:
    known = Question("k", "What is the result of 5+3*2?")
    assert reason(Question("q", "What is the result of 5 + 3 * 2?"), known) == "the same text"
    for other in ("5*3+2", "5-3*2", "5+2*3"):
        assert reason(Question("q", f"What is the result of {other}?"), known) is None


def test_generated_questions_of_two_seeds_do_not_resemble_each_other() -> None:
    finder = OverlapFinder(load(Dataset("a", name="arithmetic", size=500)).questions)
    others = load(Dataset("b", name="arithmetic", size=500, seed=9)).questions
    assert sum(finder.find(question) is not None for question in others) == 0


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (
            APPLES.replace("apples", "app\u00adles").replace("market", "mar\u200bket"),
            APPLES,
        ),  # as pages and PDFs have it
        ("Mia has 2000 coins and spends 3 of them.", "Mia has 2,000 coins and spends 3.0 of them."),
        ("What is 20 \u2212 5?", "What is 20 - 5?"),
        ("What is 20 \u00d7 5?", "What is 20 * 5?"),
        ("What is 20 \u00f7 5?", "What is 20 / 5?"),
        ("What is \u0662\u0660 + 5?", "What is 20 + 5?"),
        (APPLES.replace("a", "\u0430").replace("o", "\u03bf").replace("H", "\u041d"), APPLES),  # Cyrillic and Greek
    ],
)
def test_other_spellings_of_the_same_signs(text: str, known: str) -> None:
    assert reason(Question("q", text), Question("k", known)) == "the same text"


def test_decimals_and_lists_are_not_thousands() -> None:
    for text, known in (("Is 1,5 enough?", "Is 15 enough?"), ("Sum of 1,2,3?", "Sum of 123?"), ("Is 2.0?", "Is 20?")):
        assert reason(Question("q", text), Question("k", known)) is None


def test_the_words_around_a_pair_are_not_words_in_common() -> None:
    def pair(request: str, *replies: str) -> Question:
        return Question(request, f"{ASK}\nRequest: {request}", tuple(zip("AB", replies, strict=True)))

    oak = pair("Name an oak.", "oak it is", "I cannot")
    assert reason(pair("Name an elm.", "elm it is", "I cannot"), oak) is None
    assert reason(pair("Name an oak.", "I cannot", "oak it is"), oak) == "the same text"


def test_instructions_around_a_question_hide_nothing() -> None:
    asked = "You are an expert in the field of arithmetic. Think step by step, then answer this question."
    for text in (f"{asked} {APPLES}", f"{APPLES} {asked}"):
        assert reason(Question("q", text)) == "nearly the same text"
    assert reason(Question("q", f"{asked} {APPLES.replace('3', '4')}")) is None
    assert reason(Question("q", f"{asked} Is it red?"), Question("k", "Is it red?")) is None  # too short to be sure

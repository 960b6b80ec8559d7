"""The SQuAD family: hand-worked values, and the official rules told again on real items."""

from __future__ import annotations

import json
import string
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.tasks.grading import squad
from cortexdsl.tasks.reading.words import canonical_text


def told_again(text: str) -> list[str]:
    """SQuAD's normalisation in other words, for plain ASCII text: words without marks, articles left out."""
    words = "".join(mark for mark in text.lower() if mark not in string.punctuation).split()
    return [word for word in words if word not in ("a", "an", "the")]


def official_f1(answer: str, golds: list[str]) -> float:
    def one(gold: str) -> float:
        said, wanted = Counter(told_again(answer)), Counter(told_again(gold))
        shared = sum(min(said[word], wanted[word]) for word in said)
        if not said or not wanted:
            return float(said == wanted)
        return 2 * shared / (said.total() + wanted.total())

    return max(map(one, golds))


def perturbed(gold: str) -> list[str]:
    words = gold.split()
    return [
        *(gold, gold.upper(), f"the {gold}.", f"  A {gold}!", f'"{gold}"', gold + " indeed", "it is " + gold, ""),
        *(
            " ".join(words[1:]),
            " ".join(words[::-1]),
            " ".join(words * 2),
            gold.replace(" ", "-"),
            gold[:-1],
            "the",
            "xyz",
        ),
    ]


@pytest.mark.parametrize("name", ["squad_v1.1_xquad.en.json", "squad_dev-v2.0.json"])
def test_real_items_with_perturbed_predictions(shared_data: Path, name: str) -> None:
    articles = json.loads((shared_data / name).read_text(encoding="utf-8"))["data"]
    items = [qa for article in articles for paragraph in article["paragraphs"] for qa in paragraph["qas"]]
    compared = 0
    for item in items:
        golds = [answer["text"] for answer in item["answers"]] or [""]
        if not all(gold.isascii() for gold in golds):
            continue
        for answer in perturbed(golds[0] or "something"):
            assert squad.exact_match(answer, golds) == float(any(told_again(answer) == told_again(g) for g in golds))
            assert squad.f1(answer, golds) == pytest.approx(official_f1(answer, golds), abs=1e-12)
            compared += 1
    assert compared > 2_000


def test_hand_worked_values() -> None:
    """`adriatic sea` against `adriatic`: precision 1/2, recall 1, F1 2/3."""
    assert squad.f1("The Adriatic Sea", ["the Adriatic", "Adriatic"]) == pytest.approx(2 / 3)
    assert squad.exact_match("the Adriatic!", ["Adriatic"]) == 1.0
    assert squad.f1("Jean-Luc", ["Jean Luc"]) == 0.0  # the mark is deleted: jeanluc


def test_no_answer_of_squad_2() -> None:
    """No answer is the empty answer; our readers' words for it count as it, where it is a gold, and only there."""
    assert squad.exact_match("", [""]) == squad.f1("", [""]) == 1.0
    assert squad.exact_match("unanswerable", [""]) == squad.f1("Unanswerable.", [""]) == 1.0
    assert squad.f1("Normans", [""]) == 0.0
    assert squad.f1("", ["Normans"]) == squad.f1("unanswerable", ["Normans"]) == 0.0


def test_trivia_puts_spaces_where_squad_deletes() -> None:
    assert squad.trivia_exact_match("Jean-Luc", ["jean luc"]) == 1.0
    assert squad.trivia_exact_match("Sunset_Blvd.", ["sunset blvd"]) == 1.0
    assert squad.trivia_exact_match("‘Sunset’ Blvd", ["sunset blvd"]) == 1.0
    assert squad.exact_match("Sunset_Blvd.", ["sunset blvd"]) == 0.0
    assert squad.trivia_f1("west sunset", ["sunset boulevard"]) == pytest.approx(0.5)


def test_hotpot_gives_nothing_for_half_a_yes() -> None:
    """`yes it is` shares a token with `yes`, and still scores 0, as sides differ and one of them is yes."""
    assert squad.hotpot_f1("yes it is", ["yes"]) == 0.0
    assert squad.hotpot_f1("yes", ["yes"]) == 1.0
    assert squad.hotpot_f1("no", ["no way out"]) == 0.0
    assert squad.hotpot_f1("Chief of Protocol", ["chief protocol"]) == pytest.approx(4 / 5)


ASCII = st.text(st.characters(max_codepoint=126, min_codepoint=32), max_size=40)


@given(ASCII, st.lists(ASCII, min_size=1, max_size=3))
def test_reading_loses_nothing_that_is_graded(answer: str, golds: list[str]) -> None:
    """The canonical spelling of short text scores as the text itself does."""
    if canonical_text(answer):
        assert squad.exact_match(canonical_text(answer), golds) == squad.exact_match(answer, golds)
        assert squad.f1(canonical_text(answer), golds) == pytest.approx(squad.f1(answer, golds))
        assert squad.trivia_f1(canonical_text(answer), golds) == pytest.approx(squad.trivia_f1(answer, golds))

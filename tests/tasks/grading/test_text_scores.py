"""Exact match and F1 beside the score of a dataset: by the rule that belongs to each question."""

from __future__ import annotations

import pytest

from cortexdsl.tasks.task import Item, Task
from cortexdsl.tasks.text_scores import can_be_judged, text_grade, text_scores
from cortexdsl.terms import Question


def task(*items: tuple[str, str, str]) -> Task:
    """Make a task of (kind, metric, gold)."""
    made = [Item(Question(f"q{k}", "?"), (gold,), kind, metric) for k, (kind, metric, gold) in enumerate(items)]
    return Task("made", "own", tuple(made))


def test_only_short_texts_have_exact_match_and_f1_and_free_texts_can_be_judged_too() -> None:
    short, free, number = ("text", "em", "a"), ("free", "rouge", "a"), ("number", "accuracy", "1")
    assert text_scores(task(short)) == ("em", "f1")
    assert text_scores(task(short, free)) == text_scores(task(number)) == ()
    assert [can_be_judged(task(*items)) for items in ((short, free), (free,), (short, number))] == [True, True, False]


@pytest.mark.parametrize(
    ("metric", "gold", "answer", "em", "f1"),
    [
        # SQuAD: articles and marks aside; "eiffel tower" in "eiffel tower paris": 2/3 and 2/2 give 4/5.
        ("f1", "The Eiffel Tower", "eiffel tower!", 1.0, 1.0),
        ("em", "The Eiffel Tower", "eiffel tower paris", 0.0, 0.8),
        # TriviaQA puts a space where SQuAD deletes a mark: "jean-paul" is two words there, one here.
        ("trivia_f1", "Jean Paul", "jean-paul", 1.0, 1.0),
        ("f1", "Jean Paul", "jean-paul", 0.0, 0.0),
        # HotpotQA: a yes that is not the gold scores nothing, however many words are shared.
        ("hotpot_f1", "yes", "yes indeed", 0.0, 0.0),
        ("f1", "yes", "yes indeed", 0.0, 2 / 3),
        # LongBench, Chinese: marks and spaces aside.
        ("qa_f1_zh", "北京。", "北 京", 1.0, None),
        ("qa_f1_zh", "北京", "上海", 0.0, 0.0),
    ],
)
def test_each_metric_brings_its_own_normalisation(
    metric: str, gold: str, answer: str, em: float, f1: float | None
) -> None:
    """Worked by hand from the official scripts' rules."""
    made = task(("text", metric, gold))
    assert text_grade(made, "em")("q0", answer) == em
    if f1 is not None:
        assert text_grade(made, "f1")("q0", answer) == pytest.approx(f1)
    assert text_grade(made, "f1")("q0", None) == 0.0

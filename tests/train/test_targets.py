"""What guided replies argue for: the right answer, and one that is graded as wrong."""

from __future__ import annotations

import pytest

from cortexdsl.core import Dataset, Question
from cortexdsl.errors import DataError
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Item, Task
from cortexdsl_train.trajectories import targets_of


def task(*items: Item) -> Task:
    return Task("made", "own", items)


def item(kind: str, gold: str, name: str = "q", metric: str = "accuracy", **more: object) -> Item:
    options = more.pop("options", ())
    return Item(Question(name, "?", options=options), (gold,), kind, metric, **more)  # type: ignore[arg-type]


def test_a_wrong_number_is_near_the_right_one_and_never_it() -> None:
    questions = load(Dataset("arithmetic", name="arithmetic", size=40, seed=5))
    offsets = []
    for each in questions.items:
        found = targets_of(questions, each.question.id, 5)
        assert found.right == each.gold[0]
        assert questions.grade(each.question.id, found.wrong) == 0
        offsets.append(int(found.wrong) - int(found.right))
    assert all(0 < abs(offset) <= 10 for offset in offsets)
    assert len(set(offsets)) > 5  # drawn, not one mistake for all


def test_a_wrong_option_is_another_one_with_its_words() -> None:
    options = (("A", "red"), ("B", "green"), ("C", "blue"))
    asked = [item("choice", "B", f"q{k}", options=options) for k in range(30)]
    found = [targets_of(task(*asked), each.question.id, 1) for each in asked]
    assert {each.right for each in found} == {"(B) green"}
    assert {each.wrong for each in found} == {"(A) red", "(C) blue"}


def test_yes_and_no_are_each_others_wrong_answers() -> None:
    found = targets_of(task(item("yesno", "yes")), "q", 1)
    assert (found.right, found.wrong) == ("yes", "no")


def test_a_wrong_text_is_the_answer_to_another_question() -> None:
    asked = task(item("text", "Paris", "q1", "em"), item("text", "Rome", "q2", "em"), item("text", "paris", "q3", "em"))
    assert targets_of(asked, "q1", 1).wrong == "Rome"  # not paris, which is right


def test_where_every_answer_is_right_there_is_nothing_to_argue_for() -> None:
    asked = task(item("text", "Paris", "q1", "em"), item("text", "paris", "q2", "em"))
    with pytest.raises(DataError, match="no wrong answer to question 'q1'"):
        targets_of(asked, "q1", 1)


def test_targets_depend_on_the_seed_and_the_question_alone() -> None:
    questions = load(Dataset("arithmetic", name="arithmetic", size=20, seed=5))
    few = Task("few", "arithmetic", questions.items[:3])
    for each in few.items:
        assert targets_of(few, each.question.id, 5) == targets_of(questions, each.question.id, 5)
    wrong = [{targets_of(few, each.question.id, seed).wrong for seed in range(9)} for each in few.items]
    assert all(len(found) > 1 for found in wrong)

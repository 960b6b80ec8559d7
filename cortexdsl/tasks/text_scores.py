"""Scores of answers in words beside the score of their dataset: exact match, token F1, what a judge may decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cortexdsl.tasks.grading.metrics import grade_all
from cortexdsl.tasks.task import Task

RULES: Mapping[str, tuple[str, str]] = {
    "trivia_em": ("trivia_em", "trivia_f1"),
    "trivia_f1": ("trivia_em", "trivia_f1"),
    "hotpot_f1": ("em", "hotpot_f1"),
    "qa_f1": ("em", "qa_f1"),
    "qa_f1_first_line": ("em", "qa_f1_first_line"),
    "qa_f1_zh": ("em_zh", "qa_f1_zh"),
}
"""Metric of a question -> the exact match and the token F1 of the same official script."""
SQUAD = ("em", "f1")
"""Those of every other metric."""
NAMES = ("em", "f1")
JUDGED_KINDS = frozenset({"text", "free"})


def text_scores(task: Task) -> tuple[str, ...]:
    """Return the columns that a task's answers have beside their score: `em` and `f1` where all are short texts."""
    return NAMES if all(item.kind == "text" for item in task.items) else ()


def can_be_judged(task: Task) -> bool:
    """Say whether a judge may be asked about a task's answers: all are short or free texts."""
    return all(item.kind in JUDGED_KINDS for item in task.items)


def text_grade(task: Task, name: str) -> Callable[[str, str | None], float]:
    """Return `em` or `f1` of a task as a grade function, by the rule that belongs to each question's metric.

    (question id, answer) -> score in [0, 1], the best over the golds; an unreadable answer (None) is 0.
    """
    place = NAMES.index(name)

    def grade(question_id: str, answer: str | None) -> float:
        item = task.item(question_id)
        return grade_all([(RULES.get(item.metric, SQUAD)[place], answer, item.gold, item.labels)])[0]

    return grade

"""The answers that guided replies argue for: the right one, and a wrong one that might be meant."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from cortexdsl.debate.chance import generator
from cortexdsl.errors import DataError
from cortexdsl.tasks.task import Item, Task

NEAR = 10
"""How far a wrong number may be from the right one."""
TRIED = 20
"""Candidates that are graded before a question is given up: a set of alike questions has few wrong answers."""
NO_ANSWER = "there is no answer"


@dataclass(frozen=True, slots=True)
class Targets:
    """What the guided replies to one question argue for, in the words of the prompt."""

    right: str
    wrong: str


def targets_of(task: Task, question_id: str, seed: int) -> Targets:
    """Return what guided replies to a question argue for.

    The wrong answer is drawn from what the question itself allows (other options, other labels), for a number from
    those near the right one, and else from the answers to other questions. It is one that is graded as wrong.

    Raises
    ------
    DataError
        No wrong answer can be found: every candidate would be graded as right.
    """
    item = task.item(question_id)
    chance = generator("wrong answer", seed, 0, question_id)
    for candidate in islice(_candidates(task, item, chance), TRIED):
        if task.grade(question_id, candidate) == 0:
            right = next((gold for gold in item.gold if gold), "")
            return Targets(_spoken(item, right), _spoken(item, candidate))
    raise DataError(
        f"dataset {task.label}: there is no wrong answer to question {question_id!r} to argue for\n"
        "    learn from more questions, whose answers it can be taken from"
    )


def _candidates(task: Task, item: Item, chance: random.Random) -> Iterator[str]:
    closed = [label for label, _ in item.question.options] or list(item.labels)
    if item.kind == "yesno":
        closed = ["yes", "no"]
    if closed:
        chance.shuffle(closed)
        yield from closed
        return
    if item.kind == "number":
        yield from _numbers_near(item.gold, chance)
    others = [gold for other in task.items for gold in other.gold if other is not item and gold]
    chance.shuffle(others)
    yield from dict.fromkeys(others)


def _numbers_near(gold: tuple[str, ...], chance: random.Random) -> Iterator[str]:
    """Yield numbers near the first gold, with as many places."""
    try:
        number = float(gold[0])
    except (ValueError, IndexError):
        return
    places = len(gold[0].partition(".")[2])
    offsets = [sign * offset for offset in range(1, NEAR + 1) for sign in (1, -1)]
    chance.shuffle(offsets)
    for offset in offsets:
        yield f"{number + offset / 10**places:.{places}f}"


def _spoken(item: Item, answer: str) -> str:
    """Return an answer on one line, an option with its words."""
    words = dict(item.question.options).get(answer)
    return " ".join((f"({answer}) {words}" if words else answer or NO_ANSWER).split())

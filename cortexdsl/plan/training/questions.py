"""Questions to learn from: none that the experiment asks, and none of validation among those that are learned."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cortexdsl.errors import DataError
from cortexdsl.spec.grammar.sections.training import QuestionsText
from cortexdsl.tasks.load import load
from cortexdsl.tasks.registry import entry_named
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Dataset, Question

_DRAWS = 4
"""How often a generated dataset is drawn, each time twice as long: it may repeat what had to be left out."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The questions of a training.

    Attributes
    ----------
    task : Task
        Those that are learned from, then those of validation.
    validation : frozenset of str
        The ids of the latter.
    left_out : int
        Questions of the dataset that the experiment asks, or that share a passage with one.
    """

    task: Task
    validation: frozenset[str]
    left_out: int


def learned_from(dataset: Dataset, said: QuestionsText, asked: Iterable[Task]) -> Learned:
    """Choose the questions of a training.

    Two questions are the same where their words are, capitals and marks aside: text, passage, options in any order.
    What shares a passage, or whatever else the dataset's clusters are, with a question on the other side is left out,
    too.

    Parameters
    ----------
    dataset : Dataset
        With the path, split and seed of the training; its size and ids are those of the experiment, and do not count.
    said : QuestionsText
    asked : iterable of Task
        All that the experiment asks.

    Raises
    ------
    DataError
        The dataset cannot be read, or too few are left.
    """
    asked_before = _Met(question for task in asked for question in task.questions)
    wanted = said.size + said.validation
    is_generated = dataset.name is not None and entry_named(dataset.name).generated
    drawn = len(asked_before.words) + wanted
    for draw in range(_DRAWS if is_generated else 1):
        pool = load(replace(dataset, size=drawn * 2**draw if is_generated else None, ids=()))
        free = [item for item in pool.items if not asked_before.holds(item.question)]
        learned = free[: said.size]
        apart = _Met(item.question for item in learned)
        kept = [item for item in free[said.size :] if not apart.holds(item.question)][: said.validation]
        if len(learned) + len(kept) == wanted:
            task = replace(pool, items=(*learned, *kept))
            return Learned(task, frozenset(item.question.id for item in kept), len(pool.items) - len(free))
    raise DataError(
        f"dataset {dataset.label}: {wanted} questions to learn from are asked for, and {len(learned) + len(kept)} of "
        f"{len(pool.items)} are left: the others are asked by the experiment, or share a passage with one that is\n"
        "    ask for fewer, name another split, path or seed, or give the experiment's dataset a smaller size",
        word="questions",
    )


class _Met:
    """What questions say and share."""

    def __init__(self, questions: Iterable[Question]) -> None:
        met = list(questions)
        self.words = {_words(question) for question in met}
        self.clusters = {_plain(question.cluster) for question in met if question.cluster is not None}

    def holds(self, question: Question) -> bool:
        in_cluster = question.cluster is not None and _plain(question.cluster) in self.clusters
        return in_cluster or _words(question) in self.words


def _words(question: Question) -> str:
    options = sorted(_plain(text) for _, text in question.options)
    images = [image.digest for image in question.images]
    return "\0".join([_plain(question.text), _plain(question.context), *options, *images])


def _plain(text: str) -> str:
    return " ".join(re.sub(r"\W+", " ", unicodedata.normalize("NFKC", text).casefold()).split())

"""An LLM judge of answers: its prompt, its judgements as a file, and how far it agrees with exact match.

For generated answers MADKE (arXiv 2312.04854) reports judged correctness as well as F1. The judge is a role with its
own calls in the call log; its prompt is `prompts/common/judge.j2`. It sees golds, so no debater may see its calls.

A file of judgements has one line for each different answer that one cell gave to one dataset, as JSON Lines
`{schema_version, question_id, answer, judgement, call}`: `judgement` is `correct`, `incorrect` or null (the judge's
reply was empty or could not be read), `call` is the key in the judge's call log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from cortexdsl.core import Agent, Call, Message, Model, Question
from cortexdsl.engine.seeds import call_seed
from cortexdsl.errors import RecordError
from cortexdsl.tasks.grading.metrics import grade_all
from cortexdsl.tasks.line_files import read_lines
from cortexdsl.tasks.reading.kinds import KINDS
from cortexdsl.tasks.reading.text import clean, without_forms
from cortexdsl.tasks.task import Task

Rendering: TypeAlias = Callable[[str, Mapping[str, Any]], tuple[Message, ...]]
"""Renders a template, given by its name, with variables to messages."""
PROMPT = "common/judge.j2"
NAME = "judge"
_JUDGEMENT = re.compile(
    r"\bjudge?ment\b[*_`\s]{0,4}[:=]?[*_`\s]{0,4}(in ?correct|not correct|correct|wrong|right|true|false|yes|no)\b",
    re.IGNORECASE,
)
_ALONE = re.compile(r"[\s*_`\"'(]*(incorrect|not correct|correct|wrong|right|yes|no)[\s*_`\"').!]*", re.IGNORECASE)
_RIGHT = frozenset({"correct", "right", "true", "yes"})


def judge_variables(question: Question, golds: Sequence[str], answer: str) -> Mapping[str, Any]:
    """Return the variables of the judge's template, except `agent`."""
    return {"question": question, "golds": tuple(golds), "answer": answer}


def judge_call(
    judge: Model, question: Question, golds: Sequence[str], answer: str, render: Rendering, *, seed: int
) -> Call:
    """Return the call that asks the judge about an answer.

    Its seed knows neither cell nor replicate, so that equal answers to a question are judged once, and alike.

    Parameters
    ----------
    judge : Model
    question : Question
    golds : sequence of str
    answer : str
    render : callable
    seed : int
        The seed of the experiment.
    """
    variables = {"agent": Agent(NAME, judge), **judge_variables(question, golds, answer)}
    return Call(judge, render(PROMPT, variables), call_seed(seed, 0, question.id, NAME, 0))


def read_judgement(text: str) -> bool | None:
    """Read a judge's reply: the last `Judgement:`, or a reply that is the word alone; None if neither is there."""
    text = without_forms(clean(text))
    found = list(_JUDGEMENT.finditer(text))
    word = found[-1][1] if found else (match[1] if (match := _ALONE.fullmatch(text[:100])) else None)
    return None if word is None else word.lower() in _RIGHT


SCHEMA_VERSION = 1
_WORDS: Mapping[bool | None, str | None] = {True: "correct", False: "incorrect", None: None}
_MEANT = {word: meant for meant, word in _WORDS.items()}
_REMEDY = "run the workflow again: it asks the judge about what is missing, and nothing twice"

Answered = tuple[str, str]
"""(question id, answer)"""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judgement of an answer; `is_right` is None if its reply could not be read."""

    question_id: str
    answer: str
    is_right: bool | None
    call: str


class Judgements:
    """The judgements of one file as a grade function: 1 correct; 0 incorrect, unreadable, or no answer at all.

    Parameters
    ----------
    path : Path

    Raises
    ------
    RecordError
        If the file is missing, of another version, or a line cannot be read; when called, if an answer was
        never judged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        judged = {(each.question_id, each.answer): each.is_right for each in _read(path)}
        self.by_answer: Mapping[Answered, bool | None] = MappingProxyType(judged)

    def __call__(self, question_id: str, answer: str | None) -> float:
        """Return the grade of an answer."""
        if answer is None:
            return 0.0
        try:
            return float(self.by_answer[question_id, answer] is True)
        except KeyError:
            raise RecordError(
                f"{self.path}: no judgement of an answer to question {question_id}\n    {_REMEDY}"
            ) from None


def judgement_lines(judgements: Iterable[Judgement]) -> Iterable[str]:
    """Return the lines of a file of judgements."""
    for one in judgements:
        yield json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "question_id": one.question_id,
                "answer": one.answer,
                "judgement": _WORDS[one.is_right],
                "call": one.call,
            }
        )


def unread_calls(path: Path) -> tuple[str, ...]:
    """Return the keys of the calls whose judgement is null: the reply was empty, or could not be read.

    Raises
    ------
    RecordError
        As for `Judgements`.
    """
    return tuple(each.call for each in _read(path) if each.is_right is None)


def _read(path: Path) -> list[Judgement]:
    return read_lines(path, "judgements", SCHEMA_VERSION, _REMEDY, _judgement)


def _judgement(row: Mapping[str, Any]) -> Judgement:
    if row["judgement"] not in _MEANT:
        raise ValueError(f"judgement is {row['judgement']!r}")
    return Judgement(str(row["question_id"]), str(row["answer"]), _MEANT[row["judgement"]], str(row["call"]))


RULES: Mapping[str, tuple[str, str]] = {
    "trivia_em": ("trivia_em", "trivia_f1"),
    "trivia_f1": ("trivia_em", "trivia_f1"),
    "hotpot_f1": ("em", "hotpot_f1"),
    **dict.fromkeys(("drop_em", "drop_f1"), ("drop_em", "drop_f1")),
    "qa_f1": ("em", "qa_f1"),
    "qa_f1_first_line": ("em", "qa_f1_first_line"),
    "qa_f1_zh": ("em_zh", "qa_f1_zh"),
}
"""Metric of a question -> the exact match and the token F1 of the same official script."""
SQUAD = ("em", "f1")
"""Those of every other metric."""
NAMES = ("em", "f1")


def text_scores(task: Task) -> tuple[str, ...]:
    """Return the further score columns of a task: `em` and `f1` if all of its answers are short texts."""
    return NAMES if all(item.kind in ("text", "spans") for item in task.items) else ()


def can_be_judged(task: Task) -> bool:
    """Say whether a judge may be asked about a task's answers: all are short or free texts."""
    return all(KINDS[item.kind].is_judged for item in task.items)


def text_grades(task: Task) -> dict[str, Callable[[str, str | None], float]]:
    """Return the grade function of each further score column of a task."""
    return {name: text_grade(task, name) for name in text_scores(task)}


def text_grade(task: Task, name: str) -> Callable[[str, str | None], float]:
    """Return `em` or `f1` of a task as a grade function, by the rule that belongs to each question's metric.

    (question id, answer) -> score in [0, 1], the best over the golds; an unreadable answer (None) is 0.
    """
    place = NAMES.index(name)

    def grade(question_id: str, answer: str | None) -> float:
        item = task.item(question_id)
        return grade_all([(RULES.get(item.metric, SQUAD)[place], answer, item.gold, item.labels)])[0]

    return grade

"""Exams: how often a model is right on lessons that it was not taught, and how sure it may be.

Confidence is learned from the model's own hit rate: its replies are put into bins by how likely it found its own words,
and the share of right replies of a bin is what it is taught to state there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cortexdsl.models.solver.prompts import read_prompt
from cortexdsl_tiny.chat import Chat
from cortexdsl_tiny.folder import Folder
from cortexdsl_tiny.llama import Llama
from cortexdsl_tiny.running import Batcher, TooLong
from cortexdsl_tiny.sampling import Sampling
from cortexdsl_tiny.zoo.questions import STEPS, Lesson, equations, numbers_of, wrong_lines

LONGEST = 160
"""Tokens of a reply; what is longer goes round in circles."""

BINS = 10
_ANSWER = re.compile(r"^Answer: (.+)$", re.MULTILINE)
_STATED = re.compile(r"^Confidence: (\d(?:\.\d+)?)\s*\Z", re.MULTILINE)
_LINE = "Confidence:"
_LINES = re.compile(rf"^{_LINE}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExamReply:
    """A lesson, what the model replied, whether that is right, and how likely it found its words up to there."""

    lesson: Lesson
    reply: str
    is_right: bool
    logprob: float


def examine(folder: Folder, lessons: Sequence[Lesson], *, seed: int, temperature: float = 1.0) -> list[ExamReply]:
    """Have a model reply to the lessons that ask for an answer and a confidence.

    Parameters
    ----------
    folder : Folder
    lessons : sequence of Lesson
    seed : int
        The k-th lesson is asked with this seed plus k.
    temperature : float

    Returns
    -------
    list of ExamReply
        In order; lessons that do not fit the window are left out.
    """
    chat, batcher = Chat(folder), Batcher(Llama(folder.config, folder.weights()))
    asked = []
    for k, lesson in enumerate(lessons):
        if answer_of(lesson.reply) is None or _LINE not in lesson.reply:
            continue
        try:
            future = batcher.ask(chat.tokens(lesson.messages), Sampling(temperature, 1.0, LONGEST), seed + k)
        except TooLong:
            continue
        asked.append((lesson, future))
    sat = []
    for lesson, future in asked:
        said = future.result()
        reply = chat.text(said.tokens)
        before = _LINES.split(reply, maxsplit=1)[0]
        length = len(chat.tokens(({"role": "user", "content": before},))) - len(
            chat.tokens(({"role": "user", "content": ""},))
        )
        is_right = answer_of(reply) == answer_of(lesson.reply)
        sat.append(ExamReply(lesson, reply, is_right, float(sum(said.logprobs[:length]))))
    batcher.close()
    return sat


def answer_of(reply: str) -> str | None:
    """Return what a reply answers; None if it does not."""
    found = _ANSWER.findall(reply)
    return found[-1].strip() if found else None


def own_lessons(sat: Sequence[ExamReply]) -> Iterator[Lesson]:
    """Yield lessons in confidence: own replies that end with theirs, each with the hit rate of those like it."""
    stated = [each for each in sat if _STATED.search(each.reply) and len(_LINES.findall(each.reply)) == 1]
    if not stated:
        return
    order = np.argsort([each.logprob for each in stated], kind="stable")
    for members in np.array_split(order, min(BINS, len(stated))):
        rate = float(np.mean([stated[k].is_right for k in members]))
        said = min(0.99, max(0.01, rate))
        for k in members:
            before = _LINES.split(stated[k].reply, maxsplit=1)[0]
            yield Lesson(stated[k].lesson.messages, f"{before}{_LINE} {said:.2f}")


def task_of(lesson: Lesson) -> str:
    """Return what a lesson is about: `arithmetic`, `choice` or `world`."""
    asked = lesson.messages[-1]["content"] if lesson.messages else ""
    if numbers_of(asked) is None:
        return "world"
    return "choice" if "\n(A) " in asked else "arithmetic"


def steps_right(sat: Sequence[ExamReply]) -> list[float]:
    """Return which share of the first, second, ... steps holds, of the replies about expressions that have them all."""
    found = [equations(each.reply)[:STEPS] for each in sat if task_of(each.lesson) != "world"]
    worked = [[not wrong_lines(step) for step in steps] for steps in found if len(steps) == STEPS]
    return [round(share, 4) for share in np.mean(worked, axis=0).tolist()] if worked else []


def marks_in_debate(sat: Sequence[ExamReply]) -> Mapping[str, Any]:
    """Return what came of an exam in the midst of debates.

    Returns
    -------
    mapping
        Of the prompts in which answers of others are heard: `asked`, `right` (a share), `among_right` (the share of
        right ones where more than half of those answers are right) and `among_wrong` (where not); 0 of none.
    """
    heard = [([said.answer for said in read_prompt(each.lesson.messages).heard], each) for each in sat]
    heard = [(answers, each) for answers, each in heard if answers]
    most = np.array(
        [2 * answers.count(answer_of(each.lesson.reply) or "") > len(answers) for answers, each in heard], bool
    )
    right = np.array([each.is_right for _, each in heard], bool)

    def share(of: npt.NDArray[np.bool_]) -> float:
        return round(float(of.mean()), 4) if len(of) else 0.0

    return {
        "asked": len(heard),
        "right": share(right),
        "among_right": share(right[most]),
        "among_wrong": share(right[~most]),
    }


def marks(sat: Sequence[ExamReply]) -> Mapping[str, Any]:
    """Return what came of an exam.

    Returns
    -------
    mapping
        `asked`, `right` and `unread` (shares), `tasks` (the first two by task), `steps` (which share of the k-th steps
        of an expression holds), `confidence` (the mean that was stated) and `calibration_error` (over ten bins of
        equally many replies).
    """
    by_task: dict[str, list[bool]] = {}
    for each in sat:
        by_task.setdefault(task_of(each.lesson), []).append(each.is_right)
    stated = [(float(found[1]), each.is_right) for each in sat if (found := _STATED.search(each.reply))]
    sure = np.array([value for value, _ in stated])
    right = np.array([is_right for _, is_right in stated], dtype=float)
    error = 0.0
    for members in np.array_split(np.argsort(sure, kind="stable"), BINS) if len(sure) >= BINS else []:
        error += len(members) / len(sure) * abs(float(sure[members].mean() - right[members].mean()))
    return {
        "asked": len(sat),
        "right": round(float(np.mean([each.is_right for each in sat])), 4) if sat else 0.0,
        "tasks": {
            task: {"asked": len(found), "right": round(float(np.mean(found)), 4)}
            for task, found in sorted(by_task.items())
        },
        "steps": steps_right(sat),
        "unread": round(float(np.mean([answer_of(each.reply) is None for each in sat])), 4) if sat else 0.0,
        "confidence": round(float(sure.mean()), 4) if len(sure) else 0.0,
        "calibration_error": round(error, 4),
    }

"""A distribution over answers that a reply states, one line for each answer: `Belief: 12 = 0.7`.

It is read strictly: nothing is guessed. Every line of the last block must hold one answer of its kind, or `other`, and
one probability; no answer stands twice, and the probabilities sum to 1 within `TOLERANCE`.
"""

from __future__ import annotations

import json
import math
import re

from cortexdsl.core import Reading
from cortexdsl.tasks.reading.kinds import KINDS, AnswerKind
from cortexdsl.tasks.reading.text import Unparsed

TOLERANCE = 0.02
"""How far the probabilities of a belief may sum to something else than 1: they are rounded as they are written."""
OTHER = "other"
MOST = 100
"""The most answers of a belief."""

_LINE = re.compile(r"^[^\w\n]{0,4}Belief[*_`]{0,2}[^\S\n]?:(?P<rest>[^\n]*)$", re.IGNORECASE | re.MULTILINE)
_REST = re.compile(r"(?P<answer>.+)=\s*<?(?P<number>\d{1,3}(?:\.\d{1,12})?|\.\d{1,12})\s?(?P<percent>%)?")
_MARKS = " \t\r*_`<>"


def belief_format(want: str) -> str:
    """Return the text that asks for the closing lines of a reply: an answer, and the distribution behind it."""
    return (
        "End your reply with these lines. First your most probable answer:\n"
        f"Answer: <{want}>\n"
        "Then one line for each answer that may be right, also for the most probable one, "
        "with its probability from 0 to 1:\n"
        "Belief: <answer> = <probability>\n"
        "Last, one line for all answers that you did not list:\n"
        f"Belief: {OTHER} = <probability>\n"
        "The probabilities must sum to 1."
    )


def without_beliefs(text: str) -> str:
    """Return a reply without the lines of beliefs, so that its answer is read from what it says otherwise."""
    if "elief" not in text and "ELIEF" not in text:
        return text
    return "".join(line for line in text.splitlines(keepends=True) if not _is_belief(line))


def _is_belief(line: str) -> bool:
    found = _LINE.match(line.rstrip("\r\n"))
    return found is not None and _REST.fullmatch(found["rest"].strip(_MARKS)) is not None


def read_belief(kind: AnswerKind, text: str) -> Reading:
    """Read the distribution over answers that a cleaned reply states.

    Returns
    -------
    Reading
        `value` is a JSON object from answers in canonical form to probabilities, in the order written. They are divided
        by their sum; what the reply gives to `other` is in the sum and not in the object. Unparsed with the reason if a
        line cannot be read.
    """
    if KINDS[kind.name].is_whole:
        return Reading(None, "no belief: a free text is not one of several answers")
    lines = _last_block(text)
    if not lines:
        return Reading(None, "no belief")
    if len(lines) > MOST:
        return Reading(None, f"a belief with {len(lines)} lines")
    stated: dict[str, float] = {}
    for line in lines:
        found = _REST.fullmatch(line)
        if found is None:
            return Reading(None, f"not a line of a belief: {line[:40]!r}")
        probability = float(found["number"]) / (100.0 if found["percent"] else 1.0)
        if probability > 1:
            return Reading(None, f"the probability {found['number']} is not from 0 to 1")
        answer = _answer(kind, found["answer"].strip(_MARKS))
        if isinstance(answer, Unparsed):
            return Reading(None, f"not an answer: {found['answer'].strip()[:40]!r}")
        if answer in stated:
            return Reading(None, f"two probabilities of {answer[:40]!r}")
        stated[answer] = probability
    total = math.fsum(stated.values())
    if abs(total - 1.0) > TOLERANCE + 1e-9:
        return Reading(None, f"the probabilities sum to {total:g}")
    shares = {answer: probability / total for answer, probability in stated.items() if answer != _NO_ANSWER}
    if not shares:
        return Reading(None, "a belief in no answer")
    return Reading(json.dumps(shares, ensure_ascii=True))


_NO_ANSWER = "\0"
"""Stands for `other` among the answers; no answer is spelled like that."""


def _answer(kind: AnswerKind, text: str) -> str | Unparsed:
    if text.lower() == OTHER:
        return _NO_ANSWER
    return kind.exact(text) if text else Unparsed("empty")


def _last_block(text: str) -> list[str]:
    """Return what follows `Belief:` in the last uninterrupted run of such lines; blank lines do not interrupt it."""
    lines: list[str] = []
    for line in reversed(text.splitlines()):
        found = _LINE.match(line)
        if found is not None:
            lines.append(found["rest"].strip(_MARKS))
        elif lines and line.strip():
            break
    return lines[::-1]

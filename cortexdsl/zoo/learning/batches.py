"""Lessons as tokens, and batches of lessons of about one length: little padding, and no lesson sees another."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from cortexdsl.zoo.learning.pieces import ASSISTANT, END
from cortexdsl.zoo.taught.lessons import Lesson

Learned = Literal["all", "words", "number"]

UNSURE = "Confidence: 0.50"
"""What every reply ends with until a model learns how often it is right."""

_CONFIDENCE = re.compile(r"^Confidence: (\S+)\Z", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A lesson as tokens.

    Attributes
    ----------
    tokens : array of int
    counts : array of bool
        Which tokens are learned.
    """

    tokens: npt.NDArray[np.int64]
    counts: npt.NDArray[np.bool_]


def encode(tokenizer: Tokenizer, lessons: Iterable[Lesson], learned: Learned = "all") -> Iterator[Encoded]:
    """Yield lessons as tokens, as the chat template writes them.

    Parameters
    ----------
    tokenizer : Tokenizer
    lessons : iterable of Lesson
    learned : {"all", "words", "number"}
        Of a reply: all of it, with the same number behind `Confidence:` in each (who has never written one does not
        know how a reply ends, and numbers that mean nothing are noise); all but that number; or that number and the
        reply's end behind it (who has learned a new number must not have to guess what comes next).
    """
    for part in _batched(lessons, 1000):
        prompts = tokenizer.encode_batch([_prompt(lesson) for lesson in part], add_special_tokens=False)
        texts = [_CONFIDENCE.sub(UNSURE, lesson.reply) if learned == "all" else lesson.reply for lesson in part]
        replies = tokenizer.encode_batch([f"{text}{END}" for text in texts], add_special_tokens=False)
        for text, prompt, reply in zip(texts, prompts, replies, strict=True):
            said = _CONFIDENCE.search(text)
            counts = [_counts(said, begin, end, learned) for begin, end in reply.offsets]
            yield Encoded(
                np.array([*prompt.ids, *reply.ids]), np.array([*[False] * len(prompt.ids), *counts], dtype=bool)
            )


def _counts(stated: re.Match[str] | None, begin: int, end: int, learned: Learned) -> bool:
    """Return whether a token of a reply is learned, by where it begins and ends."""
    if learned == "all" or stated is None:
        return learned != "number"
    is_number = begin < stated.end(1) and end > stated.start(1)
    return not is_number if learned == "words" else begin >= stated.start(1)


def _prompt(lesson: Lesson) -> str:
    said = "".join(f"<|{message['role']}|>{message['content']}" for message in lesson.messages)
    return said + ASSISTANT


def _batched(values: Iterable[Any], size: int) -> Iterator[list[Any]]:
    found = iter(values)
    while part := list(itertools.islice(found, size)):
        yield part


@dataclass(frozen=True, slots=True)
class Batch:
    """Lessons below one another, padded at the right to the longest.

    Attributes
    ----------
    tokens : array of int (n, t)
    counts : array of bool (n, t)
    read : int
        Tokens without padding.
    """

    tokens: npt.NDArray[np.int64]
    counts: npt.NDArray[np.bool_]
    read: int


def batches(lessons: Sequence[Encoded], tokens: int, chance: np.random.Generator) -> Iterator[Batch]:
    """Yield batches without end: all lessons, shuffled, then all anew.

    Parameters
    ----------
    lessons : sequence of Encoded
    tokens : int
        Of a batch, padding included, at most (a lesson that is longer is a batch by itself).
    chance : numpy Generator
    """
    while True:
        order = chance.permutation(len(lessons))
        # In windows of many batches lessons are sorted by length, so that neighbours are of about one length.
        found = []
        for begin in range(0, len(order), 20_000):
            part = sorted(order[begin : begin + 20_000], key=lambda k: len(lessons[k].tokens))
            found += list(_cut(lessons, part, tokens))
        for k in chance.permutation(len(found)):
            yield _padded([lessons[j] for j in found[k]])


def _cut(lessons: Sequence[Encoded], order: Iterable[int], tokens: int) -> Iterator[list[int]]:
    held: list[int] = []
    for k in order:  # the longest of a batch is its last
        if held and (len(held) + 1) * len(lessons[k].tokens) > tokens:
            yield held
            held = []
        held.append(k)
    if held:
        yield held


def _padded(lessons: Sequence[Encoded]) -> Batch:
    length = max(len(lesson.tokens) for lesson in lessons)
    tokens = np.zeros((len(lessons), length), dtype=np.int64)
    counts = np.zeros((len(lessons), length), dtype=bool)
    for row, lesson in enumerate(lessons):
        tokens[row, : len(lesson.tokens)] = lesson.tokens
        counts[row, : len(lesson.tokens)] = lesson.counts
    return Batch(tokens, counts, sum(len(lesson.tokens) for lesson in lessons))

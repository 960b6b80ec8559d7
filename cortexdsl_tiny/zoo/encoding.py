"""Lessons as tokens: the vocabulary, the tokens of a lesson, batches of lessons of similar length."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from cortexdsl_tiny.zoo.questions import Lesson

END, SYSTEM, USER, ASSISTANT = "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"
SPECIAL = (END, SYSTEM, USER, ASSISTANT)

TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role not in ('system', 'user', 'assistant') %}"
    "{{ raise_exception('there is no role ' + message.role) }}{% endif %}"
    "{{ '<|' + message.role + '|>' + message.content }}"
    "{% if message.role == 'assistant' %}{{ '<|end|>' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
"""The chat template: a mark before each message, and one after each reply."""

_PHRASE = re.compile(r"[^\n\d.?!]{12,}[.?!]?\n?")
_LEAST_SHARE = 0.002  # of all texts, in which a phrase must stand


def train_pieces(texts: Sequence[str], size: int, phrases: int) -> Tokenizer:
    """Learn pieces from texts.

    Parameters
    ----------
    texts : sequence of str
        Prompts and replies.
    size : int
        The size of the vocabulary: bytes, merges, phrases and special pieces together.
    phrases : int
        How many phrases there may be among them.

    Returns
    -------
    Tokenizer
        The same for the same texts.
    """
    found = frequent_phrases(texts, phrases)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d|\n| ?[^\W\d]+| ?[^\w\n]"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(found),
        min_frequency=2,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_without(texts, found), trainer)
    tokenizer.add_tokens([AddedToken(phrase, normalized=False) for phrase in found])
    return tokenizer


def frequent_phrases(texts: Sequence[str], most: int) -> list[str]:
    """Return the lines and sentences that most texts have word for word, those that save most characters first."""
    counts = Counter(phrase for text in texts for phrase in set(_PHRASE.findall(text)))
    frequent = [phrase for phrase, count in counts.items() if count >= max(2, _LEAST_SHARE * len(texts))]
    return sorted(frequent, key=lambda phrase: (-counts[phrase] * len(phrase), phrase))[:most]


def _without(texts: Iterable[str], phrases: Sequence[str]) -> Iterable[str]:
    """Yield what of the texts is left for the BPE."""
    if not phrases:
        yield from texts
        return
    known = re.compile("|".join(map(re.escape, sorted(phrases, key=len, reverse=True))))
    for text in texts:
        yield from (part for part in known.split(text) if part)


Learned = Literal["all", "words", "number"]

UNSURE = "Confidence: 0.50"
"""The last line of every reply until a model learns how often it is right."""

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
        Of a reply: all of it, with the same number after `Confidence:` in each (without one, a model does not learn how
        a reply ends, and random numbers are noise); all but that number; or that number and the
        reply's end after it (so that the model need not guess what follows a new number).
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
    """Yield batches without end: all lessons, shuffled, then all again.

    Parameters
    ----------
    lessons : sequence of Encoded
    tokens : int
        The most tokens of a batch, padding included (a longer lesson is a batch of its own).
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

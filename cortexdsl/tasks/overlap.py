"""Questions that occur twice: with the same words, nearly the same words, or a passage or cluster in common."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cortexdsl.core import Question
from cortexdsl.tasks.reading.pair import ASK

NEAR = 0.8
"""The share of words in common (Jaccard) from which two texts with the same numbers are near-duplicates."""
Reason: TypeAlias = Literal["the same text", "nearly the same text", "the same passage", "the same cluster"]
SAME_TEXT: Reason = "the same text"

_NUMBERS = re.compile(r"\d[\d.,]*|[+*/^=<>%]|(?<=[\d)])\s*-\s*(?=[\d(])")
"""Numbers and the operators between them: questions that differ in one of them are different questions."""

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
"""Characters without a glyph, such as the soft hyphens of PDF files."""
_SIGNS = str.maketrans("−–×÷авекмнорстухіјѕαικνορτυχ", "--*/abekmhopctyxijsaikvoptux")
"""Signs and small letters of other scripts that look like another one."""
_FEWEST = 8
"""Words of a question that may be found within a longer text, such as one with instructions before it."""
_FOREIGN_DIGIT = re.compile(r"[^\D0-9]")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!,?\d)")
_WHOLE = re.compile(r"(?<![\d.,])(\d+)\.0+(?!\.?\d)")


class KnownQuestions:
    """Texts and clusters of a set of questions, to recognise questions that occur again."""

    def __init__(self, questions: Iterable[Question]) -> None:
        known = list(questions)
        self.words = {_words(question) for question in known}
        self.clusters = {_plain(question.cluster) for question in known if question.cluster is not None}

    def holds(self, question: Question) -> bool:
        """Return whether a question has the words or the cluster of a known one; case and punctuation do not count."""
        in_cluster = question.cluster is not None and _plain(question.cluster) in self.clusters
        return in_cluster or _words(question) in self.words


@dataclass(frozen=True, slots=True)
class Overlap:
    """A question that occurs again.

    Attributes
    ----------
    question, known : Question
    reason : str
        What both have in common.
    """

    question: Question
    known: Question
    reason: Reason


class OverlapFinder:
    """Finds which of a set of known questions another question repeats, also if its words were changed a little."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self.questions = list(questions)
        self._texts = {_numbers_kept(question): question for question in self.questions}
        self._passages = {_plain(each.context): each for each in self.questions if each.context.strip()}
        self._clusters = {_plain(each.cluster): each for each in self.questions if each.cluster is not None}
        self._sets = [_word_set(question) for question in self.questions]
        self._counts = Counter(word for words in self._sets for word in words)
        self._with_word: dict[tuple[tuple[str, ...], str], list[int]] = defaultdict(list)
        for number, (question, words) in enumerate(zip(self.questions, self._sets, strict=True)):
            for word in self._rarest(words):
                self._with_word[_numbers(question), word].append(number)

    def find(self, question: Question) -> Overlap | None:
        """Return the first known question that a question repeats, and why; None if it is new."""
        if question.cluster is not None and (known := self._clusters.get(_plain(question.cluster))):
            return Overlap(question, known, "the same cluster")
        if (known := self._texts.get(_numbers_kept(question))) is not None:
            return Overlap(question, known, SAME_TEXT)
        if question.context.strip() and (known := self._passages.get(_plain(question.context))):
            return Overlap(question, known, "the same passage")
        words, numbers = _word_set(question), _numbers(question)
        near = {number for word in words for number in self._with_word.get((numbers, word), ())}
        for number in sorted(near):
            if _jaccard(words, self._sets[number]) >= NEAR or _is_within(self.questions[number], question):
                return Overlap(question, self.questions[number], "nearly the same text")
        return None

    def _rarest(self, words: frozenset[str]) -> Sequence[str]:
        """Return the rarest words of a text: two texts that are near share one of these (prefix filtering)."""
        most = len(words) - math.ceil(NEAR * len(words)) + 1
        return sorted(words, key=lambda word: (self._counts[word], word))[:most]


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _is_within(known: Question, question: Question) -> bool:
    words = _plain(_shown(known))
    return words.count(" ") >= _FEWEST - 1 and f" {words} " in f" {_plain(_shown(question))} "


def _shown(question: Question) -> str:
    """Return the words of a question and its options, without those that frame all pairs."""
    return "\n".join([question.text.removeprefix(ASK), *sorted(text for _, text in question.options)])


def _normal(text: str) -> str:
    """Return a text in lower case, without what is not seen, and with one spelling of each number and operator."""
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", text)).casefold().translate(_SIGNS)
    plain = _FOREIGN_DIGIT.sub(lambda found: str(unicodedata.digit(found[0])), plain)
    return _WHOLE.sub(r"\1", _THOUSANDS.sub(lambda found: found[0].replace(",", ""), plain))


def _numbers(question: Question) -> tuple[str, ...]:
    """Return the numbers and operators of a question in order, and its images."""
    numbers = [part.strip().rstrip(".,") for part in _NUMBERS.findall(_normal(_shown(question)))]
    return (*numbers, *(image.digest for image in question.images))


def _word_set(question: Question) -> frozenset[str]:
    return frozenset(_plain(_shown(question)).split())


def _numbers_kept(question: Question) -> tuple[str, tuple[str, ...]]:
    """Return the words of a question with what the numbers and operators among them are."""
    return _words(question), _numbers(question)


def _words(question: Question) -> str:
    options = sorted(_plain(text) for _, text in question.options)
    images = [image.digest for image in question.images]
    return "\0".join([_plain(question.text), _plain(question.context), *options, *images])


def _plain(text: str) -> str:
    return " ".join(re.sub(r"\W+", " ", _normal(text)).split())

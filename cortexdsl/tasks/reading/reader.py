"""The reader of replies to one question: strict, lenient, what other steps read, and where the answer stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import eq
from typing import Literal

from cortexdsl.core import Reading, equal_parts, list_items, separated
from cortexdsl.tasks.reading.beliefs import read_belief, without_beliefs
from cortexdsl.tasks.reading.kinds import KINDS, LINES, MIXED_WANT, AnswerKind, KindEntry
from cortexdsl.tasks.reading.others import without_others
from cortexdsl.tasks.reading.statements import (
    answer_block,
    answer_line,
    answer_lines,
    boxes,
    read_choice,
    read_number,
    read_quotes,
    read_ranking,
    read_review,
    read_selection,
    read_similarity,
    read_text,
    read_verdict,
    statements,
    until_next_question,
)
from cortexdsl.tasks.reading.text import (
    Unparsed,
    clean,
    holds_any,
    read_confidence,
    repeats,
    without_brackets,
    without_confidence,
    without_form_lines,
    without_forms,
)

MOST = 2_000
"""Words that are read, from the end: answers come late, and a reply may have a million words."""

_TAIL = 20_000
_WORD = re.compile(r"\S+")
_MARKS = "*_`\"'()[]{}<>.,;:!?$\\"


def place_of(kind: AnswerKind, answer: str, text: str) -> tuple[int, int] | None:
    """Find the place in a reply that its answer was read from.

    Parameters
    ----------
    kind : AnswerKind
        Of the answer.
    answer : str
        In canonical form, as it was read.
    text : str
        The reply as it came.

    Returns
    -------
    (int, int) or None
        Start and end, in characters. If the text after `Answer:` at the beginning of a line reads as the answer: its
        first word that does, else all of it. Else the last box that holds it; else the last occurrence of its
        spelling; else the last word that reads as it. None if there is no such place, and for free texts, which
        are the reply.
    """
    if KINDS[kind.name].is_whole or not answer:
        return None
    return next(_places(kind, answer, text), None)


def _places(kind: AnswerKind, answer: str, text: str) -> Iterator[tuple[int, int]]:
    for start, end in answer_lines(text):
        if kind.exact(text[start:end]) == answer:
            yield from _words(kind, answer, text, _WORD.finditer(text, start, end))
            yield _trimmed(text, start, end)
    for start, content in reversed(boxes(text)):
        if kind.exact(content) == answer:
            begin = text.index(content.strip(), start)
            yield begin, begin + len(content.strip())
    begin = max(0, len(text) - _TAIL)
    spelled = list(re.finditer(rf"(?<![\w.]){re.escape(answer)}(?!\w|\.\d)", text[begin:], re.IGNORECASE))
    if spelled and len(answer) > 1:
        yield begin + spelled[-1].start(), begin + spelled[-1].end()
    yield from _words(kind, answer, text, reversed(list(_WORD.finditer(text, begin))[-MOST:]))


def _words(kind: AnswerKind, answer: str, text: str, words: Iterable[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """Yield the words that read as the answer."""
    for word in words:
        start, end = _trimmed(text, *word.span())
        if start < end and kind.exact(text[start:end]) == answer:
            yield start, end


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Leave out space and marks around a part of a text."""
    while start < end and (text[start].isspace() or text[start] in _MARKS):
        start += 1
    while start < end and (text[end - 1].isspace() or text[end - 1] in _MARKS):
        end -= 1
    return start, end


_REFUSAL = re.compile(
    r"\b(?:(?:i|we) (?:\w+ ){0,2}(?:cannot|can't|can not|am unable to|are unable to|do not|don't|am not able to"
    r"|am not qualified to|won't) (?:\w+ ){0,3}"
    r"(?:answer|provide|determine|help|have (?:\w+ ){0,3}(?:expertise|knowledge))"
    r"|(?:cannot|can't|impossible to|unable to) (?:be )?(?:determined?|answer(?:ed)?)|as an ai\b"
    r"|outside (?:of )?my (?:scope|expertise|area))",
    re.IGNORECASE,
)

# Without one of these words no reply refuses.
_REFUSES = (
    *("cannot", "can't", "can not", "impossible", "unable", "don't", "do not", "not able", "not qualified", "won't"),
    *("as an ai", "outside"),
)

# Debates that share a beginning read the same replies; one process may run many of them.
MOST_KEPT, LONGEST_KEPT = 4096, 8192


def answer_format(want: str, form: str = LINES) -> str:
    """Return the text that asks for the closing lines of a reply."""
    return (
        f"End your reply with exactly {form.format(want=want)}\n"
        "Confidence: <how sure you are of this answer, a number from 0 to 1>"
    )


_COPIED = "copies the format of its prompt"


@dataclass(frozen=True, slots=True)
class AnswerReader:
    """Reads replies to one question. Pure; never raises on a reply's content (implements `terms.Reader`).

    Attributes
    ----------
    kind : AnswerKind
        What an answer is.
    reading : str
        Which reading `read` returns for answers.
    equal : callable
        The equality of two answers that grades them.
    agents : tuple of str
        Names of the debate's agents and roles: a reply may go on with an invented turn of one of them.
    passage : str
        That of the question: quotes are looked up in it.
    """

    kind: AnswerKind
    reading: Literal["lenient", "strict"] = "lenient"
    equal: Callable[[str, str], bool] = eq
    agents: tuple[str, ...] = ()
    passage: str = ""

    def read(self, reads: str, text: str) -> Reading:
        """Read a reply to a step that reads `reads`, or the number with this name."""
        if reads == "answer" and len(text) <= LONGEST_KEPT:
            return _answer(self, text)
        if reads == "answer":
            return self.lenient(text) if self.reading == "lenient" else self.strict(text)
        if reads == "quotes":  # as they stand in the reply, so that their marks find them there
            return read_quotes(separated(text)[0], self.passage)
        text = clean(text)
        if reads in ("summary", "comment"):
            return read_text(text)
        text = without_forms(text)
        if reads == "review":
            return read_review(text)
        if reads == "verdict":
            return read_verdict(text)
        if reads == "selection":
            return read_selection(text)
        if reads == "choice":
            return read_choice(text)
        if reads == "ranking":
            return read_ranking(text)
        if reads == "belief":
            return read_belief(self.kind, text)
        return read_similarity(text) if reads == "similarity" else read_number(reads, text)

    def without_confidence(self, text: str) -> str:
        """Return a reply without its confidence line, as other agents see it."""
        return without_confidence(text)

    def same(self, answer: str, earlier: str) -> bool:
        """Return whether two answers are graded as one."""
        return self.equal(answer, earlier)

    def parts(self, text: str, most: int, *, is_list: bool) -> tuple[str, ...]:
        """Return at most so many items of the list in a text, or parts of the text of about equal length."""
        return list_items(clean(text), most) if is_list else equal_parts(text, most)

    def place_of(self, answer: str, text: str) -> tuple[int, int] | None:
        """Return where in a reply its answer stands; None if it cannot be found."""
        return place_of(self.kind, answer, text)

    def strict(self, text: str) -> Reading:
        """Read the asked format alone: the last line that begins `Answer:`, with an answer and nothing else."""
        return self._strict(self._opened(text))

    def lenient(self, text: str) -> Reading:
        """Read an answer in any form: the last statement that names one, else the reply's end."""
        return self._lenient(self._opened(text))

    def both(self, text: str) -> tuple[Reading, Reading]:
        """Read a reply strictly and leniently."""
        opened = self._opened(text)
        return self._strict(opened), self._lenient(opened)

    @property
    def _declared(self) -> KindEntry:
        return KINDS[self.kind.name]

    def _opened(self, text: str) -> _Opened:
        cleaned = clean(text)
        answered = without_beliefs(without_form_lines(cleaned, (self.kind.want, MIXED_WANT)))
        has_form = answered != cleaned
        if not self._declared.is_whole:
            answered = without_brackets(answered)
        return _Opened(without_confidence(answered), read_confidence(cleaned), has_form, text)

    def _strict(self, reply: _Opened) -> Reading:
        if self._declared.is_raw:
            return _reading(self.kind.exact(reply.whole), reply.confidence)
        fragment = answer_block(reply.text) if self._declared.is_whole else answer_line(reply.text)
        if fragment is None:
            return Reading(None, reply.lacks_answer, reply.confidence)
        return _reading(self.kind.exact(fragment), reply.confidence)

    def _lenient(self, reply: _Opened) -> Reading:
        if self._declared.is_raw:
            return _reading(self.kind.search(reply.whole), reply.confidence)
        text, confidence = until_next_question(reply.text, self.agents), reply.confidence
        if not text.strip():
            return Reading(None, reply.lacks_answer, confidence)
        if self._declared.is_whole:
            block = answer_block(text) or ("" if reply.has_form else text)
            return _reading(self.kind.exact(block), confidence) if block else Reading(None, _COPIED, confidence)
        own = without_others(text, names=self._declared.is_judged)
        for fragment in statements(own, choosing=self._declared.is_chosen):
            found = self.kind.within(fragment)
            if found is not None:
                return _reading(found, confidence)
        if reply.has_form:
            return Reading(None, _COPIED, confidence)
        if repeats(text):
            return Reading(None, "repeats itself until it is cut off", confidence)
        refusal = _REFUSAL.search(text) if holds_any(text.lower(), _REFUSES) else None
        if refusal:
            return Reading(None, f"refuses: {refusal[0]!r}", confidence)
        return _reading(self.kind.search(own), confidence)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A cleaned reply without copied forms and without its confidence.

    Attributes
    ----------
    text : str
    confidence : float or None
    has_form : bool
        Whether the reply copied a form of its prompt. Then an explicit statement of an answer counts, but its last
        sentence does not.
    whole : str
        The reply as it came.
    """

    text: str
    confidence: float | None
    has_form: bool
    whole: str

    @property
    def lacks_answer(self) -> str:
        """Why a reply without an answer line has no answer."""
        if self.has_form:
            return _COPIED
        return "no answer line" if self.text.strip() else "empty reply"


@lru_cache(maxsize=MOST_KEPT)
def _answer(reader: AnswerReader, text: str) -> Reading:
    return reader.lenient(text) if reader.reading == "lenient" else reader.strict(text)


def _reading(found: str | Unparsed, confidence: float | None) -> Reading:
    if isinstance(found, Unparsed):
        return Reading(None, found.reason, confidence)
    return Reading(found, None, confidence)

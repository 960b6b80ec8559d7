"""The reader of replies to one question: strict, lenient, and the other things that steps read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from cortexdsl.tasks.reading.confidence import read_confidence, without_confidence
from cortexdsl.tasks.reading.kinds import Kind
from cortexdsl.tasks.reading.places import place_of
from cortexdsl.tasks.reading.statements import answer_block, answer_line, statements, until_next_question
from cortexdsl.tasks.reading.steps import (
    read_choice,
    read_review,
    read_selection,
    read_similarity,
    read_text,
    read_verdict,
)
from cortexdsl.tasks.reading.text import Unparsed, clean, repeats
from cortexdsl.terms import Reading, Reads

_REFUSAL = re.compile(
    r"\b(?:(?:i|we) (?:\w+ ){0,2}(?:cannot|can't|can not|am unable to|are unable to|do not|don't|am not able to"
    r"|am not qualified to|won't) (?:\w+ ){0,3}"
    r"(?:answer|provide|determine|help|have (?:\w+ ){0,3}(?:expertise|knowledge))"
    r"|(?:cannot|can't|impossible to|unable to) (?:be )?(?:determined?|answer(?:ed)?)|as an ai\b"
    r"|outside (?:of )?my (?:scope|expertise|area))",
    re.IGNORECASE,
)

# Debates that share a beginning read the same replies; one process may run many of them.
MOST_KEPT, LONGEST_KEPT = 4096, 8192


def answer_format(want: str) -> str:
    """Return the text that asks for the two closing lines of a reply."""
    return (
        "End your reply with exactly these two lines:\n"
        f"Answer: <{want}>\n"
        "Confidence: <how sure you are of this answer, a number from 0 to 1>"
    )


@dataclass(frozen=True, slots=True)
class AnswerReader:
    """Reads replies to one question. Pure; never raises on a reply's content (implements `terms.Reader`).

    Attributes
    ----------
    kind : Kind
        What an answer is.
    reading : str
        Which reading `read` returns for answers.
    """

    kind: Kind
    reading: Literal["lenient", "strict"] = "lenient"

    def read(self, reads: Reads, text: str) -> Reading:
        """Read a reply to a step that reads `reads`."""
        if reads == "answer" and len(text) <= LONGEST_KEPT:
            return _answer(self, text)
        if reads == "answer":
            return self.lenient(text) if self.reading == "lenient" else self.strict(text)
        text = clean(text)
        if reads == "review":
            return read_review(text)
        if reads == "verdict":
            return read_verdict(text)
        if reads == "selection":
            return read_selection(text)
        if reads == "choice":
            return read_choice(text)
        if reads == "similarity":
            return read_similarity(text)
        return read_text(text)

    def without_confidence(self, text: str) -> str:
        """Return a reply as others may hear it: whole but for its confidence line."""
        return without_confidence(text)

    def place_of(self, answer: str, text: str) -> tuple[int, int] | None:
        """Return where in a reply its answer stands; None where it cannot be found."""
        return place_of(self.kind, answer, text)

    def strict(self, text: str) -> Reading:
        """Read the asked format alone: the last line that begins `Answer:`, with an answer and nothing else."""
        return self._strict(*_opened(text))

    def lenient(self, text: str) -> Reading:
        """Read the answer however it is said: the last statement that names one, else the reply's end."""
        return self._lenient(*_opened(text))

    def both(self, text: str) -> tuple[Reading, Reading]:
        """Read a reply strictly and leniently."""
        opened = _opened(text)
        return self._strict(*opened), self._lenient(*opened)

    def _strict(self, text: str, confidence: float | None) -> Reading:
        fragment = answer_block(text) if self.kind.name == "free" else answer_line(text)
        if fragment is None:
            return Reading(None, "no answer line" if text.strip() else "empty reply", confidence)
        return _reading(self.kind.exact(fragment), confidence)

    def _lenient(self, text: str, confidence: float | None) -> Reading:
        name, text = self.kind.name, until_next_question(text)
        if not text.strip():
            return Reading(None, "empty reply", confidence)
        if name == "free":
            return _reading(self.kind.exact(answer_block(text) or text), confidence)
        for fragment in statements(text, choosing=name == "choice", boxed_first=name == "expression"):
            found = self.kind.within(fragment)
            if found is not None:
                return _reading(found, confidence)
        if repeats(text):
            return Reading(None, "repeats itself until it is cut off", confidence)
        refusal = _REFUSAL.search(text)
        if refusal:
            return Reading(None, f"refuses: {refusal[0]!r}", confidence)
        return _reading(self.kind.search(text), confidence)


@lru_cache(maxsize=MOST_KEPT)
def _answer(reader: AnswerReader, text: str) -> Reading:
    return reader.lenient(text) if reader.reading == "lenient" else reader.strict(text)


def _opened(text: str) -> tuple[str, float | None]:
    """A reply, cleaned and without its confidence, and the confidence."""
    text = clean(text)
    return without_confidence(text), read_confidence(text)


def _reading(found: str | Unparsed, confidence: float | None) -> Reading:
    if isinstance(found, Unparsed):
        return Reading(None, found.reason, confidence)
    return Reading(found, None, confidence)

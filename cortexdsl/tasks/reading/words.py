"""Short text and free text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cortexdsl.tasks.reading.text import Unparsed, first_sentence, unwrapped

_ARTICLE = re.compile(r"^(?:the|an|a)\s+(?=\S)", re.IGNORECASE)
_TRAILING = re.compile(r"(?<![.])[.。!?]+$")
_LONGEST_TEXT = 300


def canonical_text(text: str) -> str:
    """Spell a short answer: lower case, single spaces, no quotes, leading article or closing dot.

    Every metric of short text lowers case and drops articles itself, so nothing that is graded gets lost, and
    `The Beatles.` and `the Beatles` are one answer in a vote.
    """
    text = " ".join(unwrapped(text).split())
    if re.search(r"\b[A-Za-z]\.[A-Za-z]\.$", text) is None:  # keep the dot of "Washington D.C."
        text = _TRAILING.sub("", text)
    return _ARTICLE.sub("", unwrapped(text)).lower()


@dataclass(frozen=True, slots=True)
class Text:
    """The kind `text`: a name, a date, a phrase."""

    name: str = "text"
    want: str = "a few words, no sentence"

    def canonical(self, gold: str) -> str | None:
        """Keep a gold as it is: its metric normalises it."""
        return gold

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line."""
        value = canonical_text(fragment)
        if not value:
            return Unparsed("nothing on the answer line")
        return value if len(value) <= _LONGEST_TEXT else Unparsed("the answer line is no short answer")

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read a statement's first sentence."""
        value = canonical_text(first_sentence(fragment))
        return value if value and len(value) <= _LONGEST_TEXT else None

    def search(self, text: str) -> str | Unparsed:
        """Read a reply that is nothing but a short answer."""
        value = canonical_text(text)
        if value and len(value) <= _LONGEST_TEXT and "\n" not in text.strip():
            return value
        return Unparsed("no statement of an answer" if value else "empty reply")


@dataclass(frozen=True, slots=True)
class Free:
    """The kind `free`: a summary, code, an essay; read as it stands."""

    name: str = "free"
    want: str = "your full answer, as long as it needs"

    def canonical(self, gold: str) -> str | None:
        """Keep a gold as it is."""
        return gold

    def exact(self, fragment: str) -> str | Unparsed:
        """Take all that follows the answer line's beginning."""
        return fragment.strip() or Unparsed("nothing after the answer line")

    def within(self, fragment: str) -> str | Unparsed | None:
        """Free text states nothing within a sentence."""
        return None

    def search(self, text: str) -> str | Unparsed:
        """Take the whole reply."""
        return text.strip() or Unparsed("empty reply")

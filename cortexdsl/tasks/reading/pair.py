"""Verdicts on two replies: A, B, or a tie if the dataset has ties."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cortexdsl.tasks.reading.text import (
    Unparsed,
    first_sentence,
    last_sentence,
    shown,
    unwrapped,
    without_text_commands,
)

FIRST, SECOND, TIE = "A", "B", "tie"
SIDES = (FIRST, SECOND)
OTHER = {FIRST: SECOND, SECOND: FIRST, TIE: TIE}
"""The verdict that names the same reply after the two have changed places."""
ASK = "Which of the two replies to this request is better?"
"""The line above the request of every pair."""

_WORD = r"(?:reply|response|assistant|answer|output|option|model|candidate)"
_SIDE = rf"(?:(?:the )?{_WORD}[ _])?[(\[*_`\"']{{0,3}}(?P<side>[AB])\b[)\]*_`\"']{{0,3}}"
_EQUAL = (
    r"(?:(?:it(?:'s| is) )?an? )?(?:tie|draw)\b|\bboth (?:\w+ ){0,3}(?:are |equally )"
    r"(?:equal|equally|good|bad|similar|the same)\w*|\bequal(?:ly good|ly bad)?\b|\b(?:neither|no) (?:\w+ )?is better\b"
)
_ALONE = re.compile(
    rf"(?:{_SIDE}(?: (?:is (?:the )?better|wins)(?: \w+)?)?|(?P<tie>{_EQUAL})[^.]*)[.!]?", re.IGNORECASE
)
# "Reply A is better", "A is the better reply", "I prefer reply B", "the winner is A", `[[A]]` as in MT-Bench's prompts
_BETTER = re.compile(
    rf"(?<!\w){_SIDE} (?:is|was|wins|would be|seems|gives|provides|does)(?: (?:clearly|slightly|overall|much|the|a))*"
    r" ?(?:better|best|superior|preferable|winner|stronger|wins\b|more (?:helpful|accurate|useful)\b)"
    r"|(?<!\w)(?P<winner>[AB]) wins\b",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    rf"\b(?:prefer|choose|chose|pick|select|go with|favou?r|(?:winner|better(?: one| {_WORD})?|choice|verdict"
    rf"|preference) (?:is|goes to):?) {_SIDE}",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"\[\[([ABC])\]\]")


@dataclass(frozen=True, slots=True)
class PairKind:
    """The kind `pair`: which of two replies is better.

    Attributes
    ----------
    has_ties : bool
        Whether a tie is an answer.
    """

    has_ties: bool = True
    name: str = "pair"

    @property
    def want(self) -> str:
        """Description of an answer line's content, in words for a prompt."""
        return "A, B, or tie" if self.has_ties else "A or B"

    def canonical(self, gold: str) -> str | None:
        """Spell a gold; None if it is neither a side nor a tie."""
        found = _ALONE.fullmatch(unwrapped(gold).strip("()[]. "))
        return None if found is None else _verdict(found)

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line, which should be a side or a tie and nothing else."""
        value = self.canonical(without_text_commands(fragment))
        return self._allowed(value, fragment) if value else Unparsed(f"neither A nor B: {shown(fragment)!r}")

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read the side that a statement names, or its tie."""
        sentence = first_sentence(without_text_commands(fragment))[:300]
        value = self.canonical(sentence) or _one(_named(sentence))
        if value is None:
            start = re.match(
                rf"\W{{0,4}}{_SIDE}(?=[,;:.)]|\s+(?:because|since|as|is|\()|\s*$)", sentence, re.IGNORECASE
            )
            value = start["side"].upper() if start else None
        return self._allowed(value, sentence) if value else None

    def search(self, text: str) -> str | Unparsed:
        """Read a reply without an answer line: `[[A]]`, else its last sentence."""
        if bracketed := _BRACKETED.findall(text):
            return self._allowed({"C": TIE}.get(bracketed[-1], bracketed[-1]), text)
        closing = last_sentence(text)
        value = self.canonical(closing) or _one(_named(closing))
        if value is None:
            return Unparsed("names no better reply" if text.strip() else "empty reply")
        return self._allowed(value, closing)

    def _allowed(self, value: str, text: str) -> str | Unparsed:
        if value == TIE and not self.has_ties:
            return Unparsed(f"says that the replies are equal, where one must be better: {shown(text)!r}")
        return value


def _verdict(match: re.Match[str]) -> str:
    return TIE if match["tie"] else match["side"].upper()


def _named(sentence: str) -> Iterator[str]:
    for match in _BETTER.finditer(sentence):
        yield (match["side"] or match["winner"]).upper()
    for match in _PREFERS.finditer(sentence):
        yield match["side"].upper()
    if re.search(_EQUAL, sentence, re.IGNORECASE):
        yield TIE


def _one(values: Iterator[str]) -> str | None:
    """Return the only value; None if there is none, or if there are several."""
    found = set(values)
    return found.pop() if len(found) == 1 else None

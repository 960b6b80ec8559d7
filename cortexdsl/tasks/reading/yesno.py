"""Yes or no, also said as true or false."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cortexdsl.tasks.reading.text import (
    Unparsed,
    first_sentence,
    last_sentence,
    shown,
    unwrapped,
    without_text_commands,
)

_WORDS = {"yes": "yes", "true": "yes", "no": "no", "false": "no", "是": "yes", "否": "no"}
_WORD = re.compile(
    r"\b(?:yes|true|no|false)\b(?!\s(?:more|one|longer|evidence|information|way|doubt|such)\b)|^[是否]", re.I
)
_FIRST = re.compile(r"[^\w]{0,6}(yes|no|true|false)\b(?=\s{0,2}(?:[,.;:!*)\]\n-]|$))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class YesNo:
    """The kind `yesno`."""

    name: str = "yesno"
    want: str = "yes or no"

    def canonical(self, gold: str) -> str | None:
        """Spell a gold."""
        return _WORDS.get(unwrapped(gold).rstrip(".!").lower())

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line that should be yes or no."""
        value = self.canonical(fragment.strip(" ()[]."))
        return value if value is not None else Unparsed(f"neither yes nor no on the answer line: {shown(fragment)!r}")

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read the first yes or no of a statement."""
        sentence = first_sentence(without_text_commands(fragment))[:300]
        if sentence.lstrip().lower().startswith("not "):
            return Unparsed(f"only says what the answer is not: {shown(sentence)!r}")
        found = [_WORDS[word.lower()] for word in _WORD.findall(sentence)]
        if re.search(r"\byes (?:and|or|/) ?no\b|\btrue or false\b", sentence, re.IGNORECASE):
            return Unparsed(f"both answers: {shown(sentence)!r}")
        return found[0] if found else None

    def search(self, text: str) -> str | Unparsed:
        """Read a reply that opens with yes or no, else the one that its last sentence holds."""
        opening = _FIRST.match(text.lstrip())
        if opening:
            return _WORDS[opening[1].lower()]
        found = {_WORDS[word.lower()] for word in _WORD.findall(last_sentence(text))}
        if len(found) == 1:
            return found.pop()
        return Unparsed("no yes or no in the reply" if not found else "both yes and no in the last sentence")

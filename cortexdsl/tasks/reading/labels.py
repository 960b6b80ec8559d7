"""One of a closed set of labels (FEVER's three, True and False, valid and invalid ...)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from cortexdsl.tasks.reading.text import (
    Unparsed,
    first_sentence,
    last_sentence,
    shown,
    unwrapped,
    without_text_commands,
)

# Other ways to say a label, where a dataset's own labels are among the keys.
_SYNONYMS = {
    "supports": ("support", "supported", "true"),
    "refutes": ("refute", "refuted", "false"),
    "not enough info": ("not enough information", "nei", "not enough evidence", "insufficient information"),
}


@dataclass(frozen=True)
class Labels:
    """The kind `labels`.

    Attributes
    ----------
    labels : tuple of str
        The set, spelled as the dataset spells it.
    """

    labels: tuple[str, ...]
    name: str = "labels"

    @property
    def want(self) -> str:
        """What the answer line should hold."""
        return "one of: " + ", ".join(self.labels)

    @cached_property
    def _spellings(self) -> dict[str, str]:
        spellings = {label.lower(): label for label in self.labels}
        for label in self.labels:
            for other in _SYNONYMS.get(label.lower(), ()):
                spellings.setdefault(other, label)
        return spellings

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._spellings, key=len, reverse=True)
        return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, longest_first)) + r")(?!\w)", re.IGNORECASE)

    def _found(self, text: str) -> list[str]:
        return [self._spellings[spelling.lower()] for spelling in self._pattern.findall(text)]

    def canonical(self, gold: str) -> str | None:
        """Spell a gold as the label set does."""
        return self._spellings.get(" ".join(unwrapped(gold).replace("_", " ").rstrip(".").lower().split()))

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line that should be one label."""
        value = self.canonical(fragment.strip(" ()[]."))
        return value if value is not None else Unparsed(f"no label on the answer line: {shown(fragment)!r}")

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read the one label that a statement names."""
        found = self._found(first_sentence(without_text_commands(fragment))[:300])
        if len(set(found)) > 1 and re.search(r"\b(?:and|or)\b|[/&,]", fragment[:300]):
            return Unparsed(f"several labels: {shown(fragment)!r}")
        return found[0] if found else None

    def search(self, text: str) -> str | Unparsed:
        """Read the one label of a short reply, or of the last sentence."""
        for part in (text if len(text) <= 60 else "", last_sentence(text)):
            found = set(self._found(part))
            if len(found) == 1:
                return found.pop()
        return Unparsed("no single label in the reply's last sentence")

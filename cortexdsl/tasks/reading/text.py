"""What every reader does to a reply first, and the small cuts that they share."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Replies beyond this many characters are read by their head and tail; answers stand at either end.
LONGEST = 60_000
_HEAD = 10_000

# Marks that change no meaning but break patterns: nulls, bidirectional controls, zero-width characters.
_INVISIBLE = dict.fromkeys(
    [0x00, 0xAD, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A)], None
)
# Full-width ASCII as Chinese and Japanese replies write it, and spaces that are not U+0020.
_PLAIN = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0xA0: 0x20, 0x202F: 0x20}
_TABLE = _INVISIBLE | _PLAIN

_CALCULATOR = re.compile(r"<<[^<>\n]{0,200}>>")
_ABBREVIATED = (
    r"(?<!\bMr.)(?<!\bMrs.)(?<!\bMs.)(?<!\bDr.)(?<!\bSt.)(?<!\bJr.)(?<!\bSr.)(?<!\bvs.)(?<!\bMt.)"
    r"(?<!\bFt.)(?<!\bProf.)(?<!\bGen.)(?<!\bLt.)(?<!\bCol.)(?<!\bCapt.)(?<!\bRev.)(?<!\bInc.)"
    r"(?<!\bLtd.)(?<!\bCo.)(?<!\bVol.)(?<!\bapprox.)"
)
# A single capital before the dot is an initial, as in "J. Smith" or "D.C."
_SENTENCE_END = re.compile(rf"[.!?](?<!\b[A-Z].){_ABBREVIATED}(?=[\s*\"')\]}}]*(?:\s[^a-z]|\Z))|\n|[。！？]")
_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mbox)\s?\{([^{}]{0,400})\}")
_WRAPPING = " \t\r\n*_`\"'“”‘’「」"


@dataclass(frozen=True, slots=True)
class Unparsed:
    """Why a reply, or a part of it, gives no answer although it was looked at in full."""

    reason: str


def clean(text: str) -> str:
    """Return a reply without invisible marks, full-width ASCII made plain, and bounded in length.

    Linear in the reply's length. Of a reply beyond `LONGEST` characters the head and the tail are kept.
    """
    if len(text) > LONGEST:
        text = text[:_HEAD] + "\n" + text[_HEAD - LONGEST :]
    return _CALCULATOR.sub("", text.translate(_TABLE))


def first_sentence(text: str) -> str:
    """Return the text up to its first sentence end or line break."""
    text = text.lstrip()
    end = _SENTENCE_END.search(text)
    return text if end is None else text[: end.start()]


def last_sentence(text: str) -> str:
    """Return the last sentence that holds anything."""
    text = text.rstrip()
    tail = text[-2000:]
    cuts = [match.end() for match in _SENTENCE_END.finditer(tail) if tail[match.end() :].strip(_WRAPPING)]
    return tail[cuts[-1] if cuts else 0 :].strip()


def without_text_commands(text: str) -> str:
    r"""Return a text with `\\text{B}` and its like replaced by what they hold."""
    return _TEXT_COMMAND.sub(r"\1", text) if "\\" in text else text


def repeats(text: str) -> bool:
    """Whether a reply ends in a loop: its last 400 characters repeat a period of at most 130."""
    tail = text.rstrip()[-400:]
    return len(tail) == 400 and any(tail[period:] == tail[:-period] for period in range(1, 131))


def unwrapped(text: str) -> str:
    """Return the text without surrounding spaces, quotes and markdown emphasis."""
    return text.strip(_WRAPPING)


def shown(text: str) -> str:
    """Return the beginning of a text for a reason, on one line."""
    flat = " ".join(text[:200].split())
    return flat if len(flat) <= 60 else flat[:57] + "..."

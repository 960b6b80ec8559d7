"""Text that can do nothing but be read: control characters are written as escapes.

Replies, messages of servers, names and files may hold commands for a terminal, or characters that turn the reading
direction. All output passes here: the streams of a verb, errors, the display of a run, and pages.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_UNCERTAIN = re.compile(r"[^\n\t -~]")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_OUR_COLOURS = re.compile(r"(\x1b\[(?:0|3[1-3])m)")
"""Colours of verdicts, the only commands that a verb itself prints."""


def printable(text: str) -> str:
    """Return text with all but visible characters, spaces, tabs and line ends written as escapes.

    Terminal commands, characters that turn the reading direction and lone surrogates become `\\x1b`, `\\u202e`,
    `\\ud800`.
    """
    return _UNCERTAIN.sub(_escaped, text.replace("\r\n", "\n"))


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    is_hidden = unicodedata.category(character) in _HIDDEN
    return character.encode("unicode_escape").decode("ascii") if is_hidden else character


class PlainStream:
    """A text stream that writes printable text alone; everything else is that of the stream that it wraps.

    Parameters
    ----------
    stream : text stream
        `wrapped` is for the displays that move the cursor themselves.
    """

    def __init__(self, stream: Any) -> None:
        self.wrapped = stream

    def write(self, text: str) -> int:
        """Write text, and return its length as it was given."""
        parts = _OUR_COLOURS.split(text) if "\x1b" in text else [text]
        self.wrapped.write("".join(part if k % 2 else printable(part) for k, part in enumerate(parts)))
        return len(text)

    def writelines(self, lines: Iterator[str]) -> None:
        """Write lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped, name)


@contextmanager
def plain_output() -> Iterator[None]:
    """Have what is printed meanwhile pass through `printable`."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = PlainStream(sys.stdout), PlainStream(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def unwrapped(stream: Any) -> Any:
    """Return the stream under a `PlainStream`, for a display that moves the cursor."""
    return stream.wrapped if isinstance(stream, PlainStream) else stream

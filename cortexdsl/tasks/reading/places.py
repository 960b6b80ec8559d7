"""Where in a reply its answer stands: in the line that was asked for, else where it was last said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cortexdsl.tasks.reading.kinds import Kind
from cortexdsl.tasks.reading.statements import answer_lines, boxes

MOST = 2_000
"""Words that are looked at, from the end: an answer is said late, and a reply may be a million words."""

_TAIL = 20_000
_WORD = re.compile(r"\S+")
_MARKS = "*_`\"'()[]{}<>.,;:!?$\\"


def place_of(kind: Kind, answer: str, text: str) -> tuple[int, int] | None:
    """Find an answer that was read of a reply.

    Parameters
    ----------
    kind : Kind
        Of the answer.
    answer : str
        In canonical form, as it was read.
    text : str
        The reply as it came.

    Returns
    -------
    (int, int) or None
        From and to which character. Of what follows `Answer:` at the beginning of a line, where that reads as the
        answer, the first word that does, else all of it; else the last box that holds it; else the last place where
        the answer stands as it is spelled; else the last word that reads as it. None where there is no such place,
        and for free texts, which are the reply.
    """
    if kind.name == "free" or not answer:
        return None
    return next(_places(kind, answer, text), None)


def _places(kind: Kind, answer: str, text: str) -> Iterator[tuple[int, int]]:
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


def _words(kind: Kind, answer: str, text: str, words: Iterable[re.Match[str]]) -> Iterator[tuple[int, int]]:
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

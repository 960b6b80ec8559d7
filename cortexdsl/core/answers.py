"""Answers: the visible part of a reply, the one spelling of numbers, and what a group of them has in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

_NUMBER = re.compile(r"-?\d{1,40}(\.\d{1,40})?(/\d{1,40})?")


def canonical_value(value: Fraction) -> str:
    """Spell an exact value: an integer, a finite decimal, else a fraction in lowest terms."""
    if value.denominator == 1:
        return str(value.numerator)
    rest, places, twos, fives = value.denominator, 0, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


_TAG = re.compile(
    r"""<(?P<close>/?)(?:seed:)?(?:think|thinking|thought)>   # DeepSeek, Qwen, EXAONE, Seed
      | \[(?P<square>/?)THINK\]                               # Magistral
      | ◁(?P<wedge>/?)think▷                                  # Kimi
    """,
    re.VERBOSE | re.IGNORECASE,
)


def separated(text: str) -> tuple[str, str]:
    """Split a reply into what it says and what it thought, by its tags.

    Blocks may be several; one that nothing closes (the reply was cut) reaches to the end; a tag that closes what
    nothing opened (the chat template opened it, outside the reply) ends a block that reaches back to the beginning.
    A text without tags comes back as it is.

    Returns
    -------
    (str, str)
        The text and the reasoning, each without the tags and without space around it.
    """
    visible: list[str] = []
    thought: list[str] = []
    at, is_thinking, has_tags = 0, False, False
    for tag in _TAG.finditer(text):
        has_tags = True
        piece, at = text[at : tag.start()], tag.end()
        is_close = bool(tag["close"] or tag["square"] or tag["wedge"])
        if is_close and not is_thinking:
            thought += [*visible, piece]
            visible = []
        else:
            (thought if is_thinking else visible).append(piece)
        is_thinking = not is_close
    if not has_tags:
        return text, ""
    (thought if is_thinking else visible).append(text[at:])
    return "".join(visible).strip(), "\n\n".join(filter(None, map(str.strip, thought)))


@lru_cache(maxsize=4096)
def number_of(answer: str | None) -> Fraction | None:
    """Return the exact value of an answer in its canonical spelling; None if it is not a number."""
    if answer is None or not _NUMBER.fullmatch(answer):
        return None
    whole, _, under = answer.partition("/")
    divisor = int(under or 1)
    return Fraction(whole) / divisor if divisor else None


def quantile(values: Sequence[Fraction], share: Fraction) -> Fraction:
    """Return a quantile of sorted values, interpolated between the two nearest (Hyndman and Fan 1996, type 7).

    Parameters
    ----------
    values : sequence of Fraction
        At least one, rising.
    share : Fraction
        In [0, 1]; 1/2 is the median.
    """
    at = share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def trimmed_mean(values: Sequence[Fraction], share: float) -> Fraction:
    """Return the mean of sorted values without the lowest and the highest `floor(share * n)` of them.

    Parameters
    ----------
    values : sequence of Fraction
        At least one, rising.
    share : float
        In [0, 0.5]; 0 is the mean, 0.5 the median.
    """
    if share >= 0.5:
        return quantile(values, Fraction(1, 2))
    cut = int(share * len(values) + 1e-9)
    middle = values[cut : len(values) - cut]
    return sum(middle, Fraction(0)) / len(middle)


_QUOTE_TAG = r"(?:(?:un)?verified_)?quote>"
QUOTE = re.compile(
    rf"<{_QUOTE_TAG}(?P<quote>(?:(?!</?{_QUOTE_TAG}).)*)</{_QUOTE_TAG}|</?(?:un)?verified_quote>",
    re.IGNORECASE | re.DOTALL,
)
"""A quote in a reply, or (without the group `quote`) a stray mark. Agents may repeat the marks that they were shown, or
invent them, so that these are only other brackets of a quote."""

_MARKED = re.compile(
    r"^(?P<indent>[^\S\n]{0,3})(?:(?P<number>(?P<bold>\**)\(?\d{1,3}[.):](?P=bold))|[-*•])[^\S\n]+(?=\S)", re.MULTILINE
)
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*\s+|\n\s*\n")


def list_items(text: str, most: int) -> tuple[str, ...]:
    """Return the first items of the list in a text: numbered ones if there are any, else those with bullets.

    An item ends at the next one or at an empty line, and has the lists that are indented below it. A text without a
    list is one item.
    """
    marks = list(_MARKED.finditer(text))
    least = min((len(mark["indent"]) for mark in marks), default=0)
    marks = [mark for mark in marks if len(mark["indent"]) <= least + 1]  # numbers may be aligned at their ends
    marks = [mark for mark in marks if mark["number"]] or marks
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    items = [text[mark.end() : end].split("\n\n")[0].strip() for mark, end in zip(marks, ends, strict=False)]
    return tuple(item for item in items or [text.strip()] if item)[:most]


def equal_parts(text: str, most: int) -> tuple[str, ...]:
    """Return a text in parts of about equal length, cut at ends of sentences: at most so many."""
    ends = [end.end() for end in _SENTENCE_END.finditer(text)]
    goals = [len(text) * k / most for k in range(1, most)]
    cuts = sorted({min(ends, key=lambda end: abs(end - goal)) for goal in goals} if ends else ())
    parts = [text[a:b].strip() for a, b in zip((0, *cuts), (*cuts, len(text)), strict=True)]
    return tuple(part for part in parts if part)

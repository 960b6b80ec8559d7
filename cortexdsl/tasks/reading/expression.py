r"""Mathematical expressions: `\boxed{...}`, `$...$`, or the end of the last sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cortexdsl.tasks.reading.number import canonical_number, concluding_number, numbers_in, plain_latex
from cortexdsl.tasks.reading.statements import boxes
from cortexdsl.tasks.reading.text import Unparsed, first_sentence, last_sentence, shown, unwrapped

_MATHS = re.compile(r"\$\$([^$]{1,800})\$\$|\$([^$\n]{1,400})\$|\\\((.{1,400}?)\\\)|\\\[(.{1,800}?)\\\]", re.DOTALL)
_SPACING = re.compile(r"(?<!\\)\\[!,;: ]|\\q?quad\b|~")
_SIZING = re.compile(r"\\(?:left|right|displaystyle|big|Big|bigl|bigr)(?![a-zA-Z])")
_SPACE = re.compile(r"(\\[a-zA-Z]+)?\s+(?=([a-zA-Z])?)")
_PLAIN_NUMBER = re.compile(r"\\?\$?[-+−]?\\?\$?[\d.,]+")
_SHORT_FRACTION = re.compile(r"\\frac\s?(\d)\s?(\d)(?!\d)")
_FRACTION = re.compile(r"(-?)\\frac\s?\{?\s?(\d+)\s?\}?\s?\{\s?(\d+)\s?\}")
_PROSE = re.compile(r"(?<!\\)\b(?!(?:sqrt|sin|cos|tan|log|cup|cap)\b)[a-zA-Z]{3,}\b")
_NO_ANSWER = re.compile(
    r"(?:as follows|correct|incorrect|wrong|right|not|that|based|given|found|obtained|simply|the)\b", re.I
)
_TEXT = re.compile(r"\\(?:text|mathrm|mbox|textbf|begin|end)\s?\{[^{}]{0,200}\}")
_CONCLUDES = re.compile(
    r"\s*(?:[*_]{0,2})(?:therefore|thus|hence|so|finally|in total|in conclusion|altogether)\b", re.IGNORECASE
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n")
_LONGEST = 400


def canonical_expression(text: str) -> str:
    r"""Spell an expression so that trivial variants are equal strings.

    Surrounding `$`, spacing and sizing commands, spaces, a closing dot go; `\dfrac` and `\tfrac` are `\frac`;
    a plain number is spelled as numbers are (`26,\!000` is `26000`), a fraction of integers as
    `a/b`. What means something stays: nothing is simplified.
    """
    text = unwrapped(unwrapped(text).rstrip("."))
    for opening, closing in (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]")):
        inner = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.endswith(closing) and inner and opening not in inner:
            text = inner
    inside = boxes(text)
    if inside and text.lstrip().startswith(("\\boxed", "\\fbox")):
        text = inside[-1][1]
    text = _SIZING.sub("", _SPACING.sub("", text)).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    text = _SHORT_FRACTION.sub(r"\\frac{\1}{\2}", text).strip().rstrip(".").strip()
    number = canonical_number(text) if _PLAIN_NUMBER.fullmatch(text) else None
    if number is not None:
        return number
    fraction = _FRACTION.fullmatch(text)
    if fraction:
        return "".join((fraction[1], fraction[2], "/", fraction[3]))
    if _PROSE.search(_TEXT.sub("", text)):
        return " ".join(text.split())
    # the space that ends a command before a letter stays: `\\pi r` must not become `\\pir`
    return _SPACE.sub(lambda space: (space[1] or "") + (" " if space[1] and space[2] else ""), text)


@dataclass(frozen=True, slots=True)
class Expression:
    """The kind `expression`."""

    name: str = "expression"
    want: str = "the final expression in LaTeX, simplified"

    def canonical(self, gold: str) -> str | None:
        """Spell a gold."""
        return canonical_expression(gold) or None

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line that should be one expression."""
        value = canonical_expression(fragment)
        if not value or len(value) > _LONGEST:
            return Unparsed(f"no expression on the answer line: {shown(fragment)!r}")
        return value

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read the formula of a statement: what is set as mathematics, else the statement without its prose."""
        fragment = fragment[:1_500]
        maths = [canonical_expression(_right_side(_inside(match))) for match in _MATHS.finditer(fragment)]
        if not _prose(fragment):  # a box, a field, a line that is nothing but the expression
            return canonical_expression(_right_side(_one_of(fragment))) or None
        if any(maths):
            return next(value for value in maths if value)
        sentence = first_sentence(fragment).strip()
        if not sentence or len(sentence) > _LONGEST:
            return None
        numbers = numbers_in(plain_latex(sentence))
        words = _prose(sentence)
        if numbers and words and (numbers[0].start <= 40 or words <= 6):
            return numbers[0].value
        if words <= 3 and not _NO_ANSWER.match(sentence) and not sentence.endswith(":"):
            return canonical_expression(sentence) or None
        return None

    def search(self, text: str) -> str | Unparsed:
        """Read a reply that is an expression and little else, else the formula or number that it concludes with."""
        if "\n" not in text.strip() and len(text) <= _LONGEST and _prose(text) <= 2:
            whole = _right_side(text) if text.count("=") > 1 else text
            return canonical_expression(whole) or Unparsed("nothing but marks in the reply")
        closing = last_sentence(text)
        concluded = [part for part in _SENTENCES.split(text[-3_000:]) if _CONCLUDES.match(part)]
        for sentence in [closing, *concluded[-1:]]:
            value = _concluding(sentence)
            if value:
                return value
        return Unparsed("no formula and no number in the reply's conclusion")


def _one_of(text: str) -> str:
    """`2/5 or 0.4` is 2/5, said twice; other alternatives stay together."""
    parts = text.strip().rstrip(".").split(" or ")
    values = {canonical_number(part) for part in parts}
    return parts[0] if len(parts) > 1 and len(values) == 1 and None not in values else text


def _prose(text: str) -> int:
    return len(_PROSE.findall(_TEXT.sub("", text)))


def _concluding(sentence: str) -> str | None:
    """The last formula of a sentence, or the number that it comes to if that stands behind."""
    maths = [(match.end(), canonical_expression(_right_side(_inside(match)))) for match in _MATHS.finditer(sentence)]
    outside = _MATHS.sub(lambda match: " " * len(match[0]), sentence)
    number = concluding_number(outside)
    if number and number.value:
        maths.append((number.end, number.value))
    return max(maths)[1] or None if maths else None


def _inside(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None)


def _right_side(formula: str) -> str:
    """What a chain of equalities ends in: `x = 2 + 3 = 5` is `5`, but `y = 2x` stays."""
    parts = re.split(r"(?<![<>!\\])=|\\approx|≈", formula)
    last = parts[-1].strip(" &\\")
    return last if last and (len(parts) > 2 or not re.search("[a-zA-Z]", last)) else formula

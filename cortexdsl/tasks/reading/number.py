r"""Numbers and expressions: one canonical spelling, so that equal values are equal strings.

A number is an exact decimal or fraction. An expression is read from `\boxed{...}`, `$...$`, or the end of the last
sentence.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from cortexdsl.core import canonical_value
from cortexdsl.tasks.reading.statements import boxes
from cortexdsl.tasks.reading.text import (
    Unparsed,
    first_sentence,
    last_sentence,
    shown,
    unwrapped,
    without_text_commands,
)

_CURRENCY = "$€£¥₹"
Mark: TypeAlias = Literal[".", ","]
"""The decimal mark of a dataset's numbers."""

_PLAIN = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:[ '’]\d{3})+(?![\d/])|\d+)(?:\.\d+)?|\.\d+"
_END = r"\d(?:[\d.,]{0,40}\d)?"
# Numbers that are written like one: `4-6`, `4 to 6`, `3 ± 1`, `7:30`, and `3,5`, whose comma may be a decimal mark.
_SEVERAL = (
    rf"{_END}(?:(?:\s?[-–—±]\s?|\sto\s)[{_CURRENCY}]?{_END}|:\d\d)(?![\d/])"
    r"|(?!\d{1,3}(?:,\d{3})+(?![,\d]))\d{1,40}(?:,\d{1,40}){1,40}(?![.\d])"
)
_SCALES = {
    **{"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12},
    **{"k": 10**3, "m": 10**6, "b": 10**9, "bn": 10**9},
}
_SCALE_WORD = r"[ -]?\b(?i:dozen|hundred|thousand|million|billion|trillion)\b"
NUMBER = re.compile(
    rf"(?<![\w.])(?P<sign>(?:[-−–+]\s?)?)(?P<currency>[{_CURRENCY}])?\s?(?P<sign2>[-−]?)"
    rf"(?:(?P<several>{_SEVERAL})|(?:(?P<whole>\d{{1,4}}) (?=\d{{1,3}}/\d))?(?P<value>{_PLAIN}))"
    r"(?:(?:\^|\*\*)\{?(?P<raised>[-−]?\d{1,3})\}?(?![\w.]\w))?"
    r"(?:\s?/\s?(?P<under>\d+(?:\.\d+)?)(?![\d/]))?"
    r"(?:\s?(?:[x×*·]|\\times|\\cdot)\s?10\s?(?:\^|\*\*)\s?\{?(?P<power>[-−+]?\d{1,3})\}?|[eE](?P<exponent>[-+]?\d{1,3})(?!\w))?"
    rf"(?P<scale>{_SCALE_WORD}|k\b|(?(currency) ?(?:[KMB]|bn)\b|(?!)))?"
)
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?\{\s?(-?[\d.,]{1,40})\s?\}\s?\{\s?(-?[\d.,]{1,40})\s?\}")
_SEPARATOR = re.compile("[, '’]")
_GROUPED_BY_POINTS = re.compile(r"(?<![\w.,])(\d{1,3}(?:\.\d{3})+),(\d+)(?![\d,]|\.\d)")
_DECIMAL_COMMA = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d+)(?![\d,]|\.\d)")
_SHORT_FRACTION_SIGN = re.compile(r"(\d ?)?([¼½¾⅐-⅞])")
_SUPERSCRIPT = re.compile(r"(?<=\d)(⁻?[⁰¹²³⁴-⁹]+)")
_LATEX_SPACING = re.compile(r"\\[!,;: ]|\{,\}|\\(?=[$%])")
# Text that may follow a number without changing its value: a sign of a unit, words of a unit, closing marks.
_AFTER = re.compile(
    r"\s?(?:[%$€£¥₹°]|\^?\{?\\circ\}?|\\(?:text|mathrm|mbox)\s?\{[^{}\d]{0,40}\}|\s[^\W\d_](?![^\W_])"
    r"|(?!and\b|or\b)[^\W\d_]{2,}(?:\^\{?[23]\}?|[²³])?)?"
    r"(?:[\s/*.-]{1,2}(?!and\b|or\b)[^\W\d_]+(?:\^\{?[23]\}?|[²³])?){0,6}[\s.,;:!?)\]}$*]*"
)
_WORDS = {
    word: str(value)
    for value, word in enumerate(
        (
            *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
            *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
            *("nineteen", "twenty"),
        )
    )
}
_WORD = re.compile(rf"(?<![\w-])(?P<word>{'|'.join(_WORDS)})(?P<scale>{_SCALE_WORD})?(?![\w-]| of\b)", re.IGNORECASE)
_ALTERNATIVE = re.compile(r"^\s?[^\W\d]{0,20}\s?(?:or|and|/|,)\s?$", re.IGNORECASE)
_FROM = re.compile(r"\bbetween\s[^\s]{1,20}\s(?:[^\W\d]{1,12}\s)?and\s[$\\(]{0,2}$", re.IGNORECASE)
_NEGATED = re.compile(r"\s{0,3}(?:not\b|n't\b|impossible|undefined|unknown|unclear)", re.IGNORECASE)
_COMES_TO = re.compile(
    r"(?:[=≈]|\b(?:is|are|be|equals?|makes?|costs?|earns?|total(?: of)?|needs?|has|have|got|takes?|spen[dt]s?)(?= ))"
    r" ?(?:(?:approximately|about|exactly|only|just|a total of|equal to|still) )?[$\\(]{0,2}"
)
# `> 12` and `12 < x` bound a value, and `<12>`, `-> 12` and `<b>12` do not; so do words, but a sentence that
# concludes "at least 4 buses are needed" may answer a question for the least number.
_SIGN_BEFORE = re.compile(r"(?:(?<![-=<>\w/\"'])[<>]=?|[≤≥]|\\[lg]eq?(?![a-z]))[\s$]{0,3}$")
_SIGN_AFTER = re.compile(r"\s?(?:[<>]=?(?=[\s\d])|[≤≥]|\\[lg]eq?(?![a-z]))")
_WORDS_BEFORE = re.compile(r"\b(?:at (?:least|most)|(?:more|less|fewer|greater) than)[\s$]{1,3}$", re.IGNORECASE)
_WORDS_AFTER = re.compile(r"(?: [^\W\d]{1,20})?,? or (?:more|less|fewer)\b", re.IGNORECASE)
_REASON = re.compile(r"\b(?:because|since|as|given that)\b")
_ARROWS = re.compile(r"(?<![<>])=>?|[≈→⇒]|\\approx|\\Rightarrow|\\implies")

# A number of more digits than this is a loop and not an answer; int() would refuse it, too.
LONGEST = 400


def canonical_number(text: str, decimal: Mark = ".") -> str | None:
    """Spell a number in the one canonical way, exactly.

    Parameters
    ----------
    text : str
        One number with commas, currency sign, percent sign, unit words, a trailing dot or none of them.
    decimal : str
        The decimal mark of the dataset's numbers.

    Returns
    -------
    str or None
        `18`, `18.0`, `$18.` and `18 eggs` are all `18`; `1/3` stays `1/3`; `0.50` is `0.5`; `20%` is `20`
        (a percent sign is a unit). `4 200`, `1.2 million`, `10^6` and `1½` are numbers, too. None if the text is not a
        number, or has a second number.
    """
    text = plain(unwrapped(text), decimal)
    match = NUMBER.search(text)
    if match is None:
        return None
    before, after = text[: match.start()], text[match.end() :]
    if before.strip(" $([{\\") or len(after) > 60 or not _AFTER.fullmatch(after):
        return None
    return value_of(match)


def value_of(match: re.Match[str]) -> str | None:
    """Spell a `NUMBER` match canonically; None if it is too long or divides by zero."""
    if match.end() - match.start() > LONGEST:
        return None
    if match["several"]:
        return None
    over, whole, power, exponent, scale = match.group("under", "whole", "power", "exponent", "scale")
    said, raised = _SEPARATOR.sub("", match["value"]), (match["raised"] or "").replace("−", "-")
    is_negative = (match["sign"].strip() in ("-", "−", "–")) != (match["sign2"] in ("-", "−"))
    if said.isdecimal() and not (
        over or whole or power or exponent or raised or scale
    ):  # by far most; a tenth of the time of a fraction
        return str(-int(said) if is_negative else int(said))
    value = Fraction(said)
    if raised and (not value or abs(int(raised)) * len(said) > LONGEST):
        return None
    value **= int(raised or 1)
    if over:
        under = Fraction(over)
        if not under:
            return None
        value /= under
    value += int(whole or 0)
    value *= Fraction(10) ** int((power or exponent or "0").replace("−", "-")) * _scale(scale)
    return canonical_value(-value if is_negative else value)


def _scale(word: str | None) -> int:
    """Return the factor of a word such as `million`, or of no word."""
    return _SCALES[word.strip(" -").lower()] if word else 1


def with_point(text: str) -> str:
    """Write the numbers of a text with decimal commas with decimal points: `1.234,5` becomes `1234.5`."""
    return _DECIMAL_COMMA.sub(lambda number: number[0].replace(".", "").replace(",", "."), text)


def plain(text: str, decimal: Mark = ".") -> str:
    """Return a text with plain numbers: no LaTeX, decimal commas, or signs for fractions (`26,\\!000`, `1½`)."""
    if "\\" in text or "{," in text:
        text = _LATEX_FRACTION.sub(r" \1/\2", _LATEX_SPACING.sub("", text))
    if not text.isascii():
        text = _SUPERSCRIPT.sub(lambda power: "^" + unicodedata.normalize("NFKC", power[0]), text)
        text = _SHORT_FRACTION_SIGN.sub(_spelled_out, text)
    if "," not in text and decimal == ".":
        return text
    return with_point(text) if decimal == "," else _GROUPED_BY_POINTS.sub(lambda number: with_point(number[0]), text)


def _spelled_out(match: re.Match[str]) -> str:
    fraction = unicodedata.normalize("NFKC", match[2]).replace("⁄", "/")
    return f"{match[1].strip()} {fraction}" if match[1] else fraction


@dataclass(frozen=True, slots=True)
class NumberMatch:
    """A number in a text: where, and its canonical spelling (None if it is too long, or several numbers)."""

    start: int
    end: int
    value: str | None


def numbers_in(text: str, words: bool = True) -> list[NumberMatch]:
    """Return the numbers of a text in their order; with `words`, those up to twenty that are spelled out too."""
    found = [NumberMatch(match.start(), match.end(), value_of(match)) for match in NUMBER.finditer(text)]
    if words:
        found += [NumberMatch(word.start(), word.end(), _value_in_words(word)) for word in _WORD.finditer(text)]
        found.sort(key=lambda number: number.start)
    return found


def _value_in_words(match: re.Match[str]) -> str:
    return str(int(_WORDS[match["word"].lower()]) * _scale(match["scale"]))


def concluding_number(sentence: str) -> NumberMatch | None:
    """Return the number that a plain closing sentence comes to: after `=` or `is`, else its last one."""
    for match in reversed(list(_COMES_TO.finditer(sentence))):
        number = NUMBER.match(sentence, match.end())
        if number:
            return NumberMatch(number.start(), number.end(), value_of(number))
    return last_number(sentence)


def last_number(text: str) -> NumberMatch | None:
    """Return the last number of a text that is not spelled out."""
    last = None
    for last in NUMBER.finditer(text):  # noqa: B007 (only the last one is computed)
        pass
    return last and NumberMatch(last.start(), last.end(), value_of(last))


def _is_bound(text: str, number: NumberMatch, *, words: bool = True) -> bool:
    """Return whether a number of a text only bounds a value, by a sign or, with `words`, by words."""
    before, after = text[max(0, number.start - 20) : number.start], text[number.end : number.end + 30]
    if _SIGN_BEFORE.search(before) or _SIGN_AFTER.match(after):
        return not (before.rstrip().endswith("<") and after.lstrip().startswith(">"))
    return words and bool(_WORDS_BEFORE.search(before) or _WORDS_AFTER.match(after))


@dataclass(frozen=True, slots=True)
class NumberKind:
    """The kind `number`."""

    decimal: Mark = "."
    name: str = "number"
    want: str = "the number alone, without units"

    def canonical(self, gold: str) -> str | None:
        """Spell a gold."""
        return canonical_number(gold, self.decimal)

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line that should be one number."""
        value = canonical_number(fragment, self.decimal)
        return value if value is not None else Unparsed(f"no single number on the answer line: {shown(fragment)!r}")

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read the number that a statement gives: after its last `=`, else the first one."""
        sentence = plain(without_text_commands(first_sentence(fragment)), self.decimal)[:1_000]
        if _NEGATED.match(sentence):
            return None
        claim = _REASON.split(sentence, maxsplit=1)[0]
        sentence = claim if numbers_in(claim) else sentence
        for part in reversed(_ARROWS.split(sentence)):
            numbers = numbers_in(part)
            if len(numbers) > 1 and self.value(part, numbers[1]) != self.value(part, numbers[0]):
                between = part[numbers[0].end : numbers[1].start]
                # `4, 6` and nothing after it is a list; `12, 000` may be one number, and `5, 3 more than 2` names 5
                second = part[numbers[1].start :].strip(" .")
                is_list = second == part[numbers[1].start : numbers[1].end].strip(" .") and len(second) != 3
                if _ALTERNATIVE.match(between) and (between.strip(" ,") or (between.strip() and is_list)):
                    return Unparsed(f"several answers: {shown(part)!r}")
            if numbers and _is_bound(part, numbers[0]):
                return Unparsed(f"a bound, and not a number: {shown(part)!r}")
            if numbers:
                return self.value(part, numbers[0]) or Unparsed(f"not one number: {shown(part)!r}")
        return None

    def value(self, text: str, number: NumberMatch) -> str | None:
        """Spell a number of a text."""
        return number.value

    def search(self, text: str) -> str | Unparsed:
        """Read the last number of a reply that states nothing outright, of its last sentence if that has one."""
        sentence = plain(last_sentence(text), self.decimal)
        concluded = concluding_number(sentence)
        if concluded and _is_bound(sentence, concluded, words=False):
            return Unparsed(f"a bound, and not a number: {shown(sentence)!r}")
        if concluded and _FROM.search(sentence[max(0, concluded.start - 40) : concluded.start]):
            return Unparsed(f"a range, and not a number: {shown(sentence)!r}")
        whole = sentence if concluded else plain(text[-3_000:], self.decimal)
        number = concluded or last_number(whole)
        if number is None:
            return Unparsed("no number in the reply")
        return self.value(whole, number) or Unparsed("the last number is too long, or several numbers")


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
_COPULA = re.compile(r"\b(?:is|are|gives)\b")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n")
_LONGEST = 400


def canonical_expression(text: str) -> str:
    r"""Spell an expression so that trivial variants are equal strings.

    Surrounding `$`, spacing and sizing commands, spaces and a closing dot are removed; `\dfrac` and `\tfrac`
    become `\frac`; a plain number is spelled as numbers are (`26,\!000` is `26000`), a fraction of integers as
    `a/b`. The expression is not simplified.
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
class ExpressionKind:
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
            whole = _MATHS.fullmatch(fragment.strip(" *_.\n"))
            return canonical_expression(_right_side(_inside(whole) if whole else _one_of(fragment))) or None
        if any(maths):
            return next(value for value in maths if value)
        sentence = first_sentence(fragment).strip()
        if not sentence or len(sentence) > _LONGEST:
            return None
        numbers = numbers_in(plain(sentence))
        words = _prose(sentence)
        if numbers and words and (numbers[0].start <= 40 or words <= 6):
            return numbers[0].value
        if words <= 3 and not _NO_ANSWER.match(sentence) and not sentence.endswith(":"):
            return canonical_expression(sentence) or None
        return None

    def search(self, text: str) -> str | Unparsed:
        """Read a reply that is an expression and little else, else the formula or number that it concludes with."""
        closing = last_sentence(text)
        is_one = "\n" not in text.strip() and len(text) <= _LONGEST and _prose(text) <= 2
        if is_one and not (_COPULA.search(closing) and _concluding(closing)):
            whole = _right_side(text) if text.count("=") > 1 else text
            return canonical_expression(whole) or Unparsed("nothing but marks in the reply")
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
    """Return the last formula of a sentence, or its result if that follows."""
    maths = [(match.end(), canonical_expression(_right_side(_inside(match)))) for match in _MATHS.finditer(sentence)]
    outside = _MATHS.sub(lambda match: " " * len(match[0]), sentence)
    number = concluding_number(plain(outside))
    if number and number.value:
        maths.append((number.end, number.value))
    return max(maths)[1] or None if maths else None


def _inside(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None)


def _right_side(formula: str) -> str:
    """Return the end of a chain of equalities: `x = 2 + 3 = 5` gives `5`, but `y = 2x` stays."""
    parts = re.split(r"(?<![<>!\\])=|\\approx|≈", formula)
    last = re.sub(r"\\\\\s*$", "", parts[-1]).strip(" &")
    return last if last and (len(parts) > 2 or not re.search("[a-zA-Z]", last)) else formula

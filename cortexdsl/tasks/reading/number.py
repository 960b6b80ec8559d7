"""Numbers: exact decimals in one canonical spelling, so that equal values are equal strings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from cortexdsl.tasks.reading.text import Unparsed, first_sentence, last_sentence, shown, unwrapped

_CURRENCY = "$€£¥₹"
_SIGN = r"(?:(?<![\w)\]}.])[-−–+]\s?|(?<=[^\S\n])[-−]\s?)?"
_PLAIN = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+"
NUMBER = re.compile(
    rf"(?<![\w.])(?P<sign>(?:[-−–+]\s?)?)[{_CURRENCY}]?\s?(?P<sign2>[-−]?)"
    rf"(?P<value>{_PLAIN})"
    r"(?:\s?/\s?(?P<under>\d+(?:\.\d+)?)(?![\d/]))?"
    r"(?:\s?(?:[x×*·]|\\times|\\cdot)\s?10\s?(?:\^|\*\*)\s?\{?(?P<power>[-−+]?\d{1,3})\}?|[eE](?P<exponent>[-+]?\d{1,3})(?!\w))?"
)
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?\{\s?(-?[\d.,]{1,40})\s?\}\s?\{\s?(-?[\d.,]{1,40})\s?\}")
_LATEX_SPACING = re.compile(r"\\[!,;: ]|\{,\}|\\(?=[$%])")
_UNIT = re.compile(r"[\s%$€£¥°]|[^\W\d]|\\[a-zA-Z]{1,12}|[{}()./^*²³-]")
_WORDS = {
    word: str(value)
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"]
    )
}
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_ALTERNATIVE = re.compile(r"^\s?[^\W\d]{0,20}\s?(?:or|and|/|,)\s?$", re.IGNORECASE)
_NEGATED = re.compile(r"\s{0,3}(?:not\b|n't\b|impossible|undefined|unknown|unclear)", re.IGNORECASE)
_ARROWS = re.compile(r"[=≈→⇒]|\\approx|\\Rightarrow|\\implies")

# A number of more digits than this is no answer but a loop; int() would refuse it as well.
LONGEST = 400


def canonical_number(text: str) -> str | None:
    """Spell a number in the one canonical way, exactly.

    Parameters
    ----------
    text : str
        One number with commas, currency sign, percent sign, unit words, a trailing dot or none of them.

    Returns
    -------
    str or None
        `18`, `18.0`, `$18.` and `18 eggs` are all `18`; `1/3` stays `1/3`; `0.50` is `0.5`; `20%` is `20`
        (a percent sign is a unit). None where the text is no number or has another number beside it.
    """
    text = plain_latex(unwrapped(text))
    match = NUMBER.search(text)
    if match is None:
        return None
    before, after = text[: match.start()], text[match.end() :]
    if before.strip(" $([{\\") or len(after) > 60 or _UNIT.sub("", after).strip(" ,;:!?)]}"):
        return None
    return value_of(match)


def value_of(match: re.Match[str]) -> str | None:
    """Spell a `NUMBER` match canonically; None if it is too long or divides by zero."""
    if match.end() - match.start() > LONGEST:
        return None
    value = Fraction(match["value"].replace(",", ""))
    if match["under"]:
        under = Fraction(match["under"])
        if not under:
            return None
        value /= under
    power = int((match["power"] or match["exponent"] or "0").replace("−", "-"))
    value *= Fraction(10) ** power
    if (match["sign"].strip() in ("-", "−", "–")) != (match["sign2"] in ("-", "−")):
        value = -value
    return spelled(value)


def spelled(value: Fraction) -> str:
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


def plain_latex(text: str) -> str:
    """Return a text whose LaTeX spacing and simple fractions are written plainly (`26,\\!000`, `\\frac{1}{2}`)."""
    return _LATEX_FRACTION.sub(r" \1/\2", _LATEX_SPACING.sub("", text)) if "\\" in text or "{," in text else text


@dataclass(frozen=True, slots=True)
class Number:
    """The kind `number`."""

    name: str = "number"
    want: str = "the number alone, without units"

    def canonical(self, gold: str) -> str | None:
        """Spell a gold."""
        return canonical_number(gold)

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line that should be one number."""
        value = canonical_number(fragment)
        return value if value is not None else Unparsed(f"no single number on the answer line: {shown(fragment)!r}")

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read the number that a statement gives: after its last `=`, else the first one."""
        sentence = plain_latex(first_sentence(fragment))[:1_000]
        if _NEGATED.match(sentence):
            return None
        parts = _ARROWS.split(sentence)
        for part in reversed(parts):
            numbers = [(match, value_of(match)) for match in NUMBER.finditer(part)]
            if not numbers:
                continue
            first, value = numbers[0]
            if len(numbers) > 1 and numbers[1][1] != value:
                between = part[first.end() : numbers[1][0].start()]
                if _ALTERNATIVE.match(between) and between.strip(" ,"):
                    return Unparsed(f"several answers: {shown(part)!r}")
            return value
        word = _WORD.search(sentence[:80])
        return _WORDS[word[0].lower()] if word else None

    def search(self, text: str) -> str | Unparsed:
        """Read the last number of a reply that states nothing outright."""
        for part in (last_sentence(text), text[-3_000:]):
            numbers = list(NUMBER.finditer(plain_latex(part)))
            if numbers:
                value = value_of(numbers[-1])
                return value if value is not None else Unparsed("the last number is no number of any sense")
        return Unparsed("no number in the reply")

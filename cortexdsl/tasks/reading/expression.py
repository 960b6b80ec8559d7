r"""Mathematical expressions: `\boxed{...}`, `$...$`, or the end of the last sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cortexdsl.tasks.reading.number import NUMBER, canonical_number, plain_latex
from cortexdsl.tasks.reading.statements import boxes
from cortexdsl.tasks.reading.text import Unparsed, first_sentence, last_sentence, shown, unwrapped

_MATHS = re.compile(r"\$\$([^$]{1,800})\$\$|\$([^$\n]{1,400})\$|\\\((.{1,400}?)\\\)|\\\[(.{1,800}?)\\\]", re.DOTALL)
_SPACING = re.compile(r"\\[!,;: ]|\\q?quad\b|~")
_SIZING = re.compile(r"\\(?:left|right|displaystyle|big|Big|bigl|bigr)(?![a-zA-Z])")
_PROSE = re.compile(r"(?<!\\)\b[a-zA-Z]{3,}\b")
_TEXT = re.compile(r"\\(?:text|mathrm|mbox|textbf)\s?\{[^{}]{0,200}\}")
_LONGEST = 400


def canonical_expression(text: str) -> str:
    r"""Spell an expression so that trivial variants are equal strings.

    Surrounding `$`, spacing and sizing commands, spaces, a closing dot go; `\dfrac` and `\tfrac` are `\frac`;
    a plain number is spelled as numbers are (`26,\!000` is `26000`). What means something stays: nothing is
    simplified.
    """
    text = unwrapped(text)
    for opening, closing in (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]")):
        if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening + closing):
            text = text[len(opening) : -len(closing)]
    inside = boxes(text)
    if inside and text.lstrip().startswith(("\\boxed", "\\fbox")):
        text = inside[-1][1]
    text = _SIZING.sub("", _SPACING.sub("", text)).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    text = text.strip().rstrip(".").strip()
    number = canonical_number(text) if re.fullmatch(r"\\?\$?[-+−]?\\?\$?[\d.,]+", text) else None
    if number is not None:
        return number
    return text if _TEXT.search(text) or _PROSE.search(text) else re.sub(r"(?<!\\)\s+|(?<=\\)\s+", "", _kept(text))


def _kept(text: str) -> str:
    """Keep the space that ends a command before a letter: `\\pi r` must not become `\\pir`."""
    return re.sub(r"(\\[a-zA-Z]+)\s+(?=[a-zA-Z])", r"\1{}", text)


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
        maths = _formulas(fragment[:1_500])
        if maths:
            return maths[0]
        sentence = first_sentence(fragment).strip()
        if not sentence or len(sentence) > _LONGEST:
            return None
        if len(_PROSE.findall(_TEXT.sub("", sentence))) <= 3 and not sentence.startswith("not "):
            bare = NUMBER.match(plain_latex(sentence).lstrip())
            words = bare and _PROSE.search(plain_latex(sentence)[bare.end() :])
            return canonical_expression(bare[0] if bare and words else sentence) or None
        numbers = list(NUMBER.finditer(plain_latex(sentence)))
        return canonical_expression(numbers[0][0]) if numbers else None

    def search(self, text: str) -> str | Unparsed:
        """Read the last formula or number of the last sentence, else of the reply's end."""
        for part in (last_sentence(text), text[-1_500:]):
            found = [(match.end(), _inside(match)) for match in _MATHS.finditer(part)]
            outside = _MATHS.sub(lambda match: " " * len(match[0]), part)
            found += [(match.end(), match[0]) for match in NUMBER.finditer(outside)]
            if found:
                return canonical_expression(_right_side(max(found)[1])) or Unparsed("an empty formula at the end")
        return Unparsed("no formula and no number in the reply")


def _inside(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None)


def _right_side(formula: str) -> str:
    """What a chain of equalities ends in: `x = 2 + 3 = 5` is `5`, but `y = 2x` stays."""
    parts = re.split(r"(?<![<>!\\])=|\\approx|≈", formula)
    last = parts[-1].strip(" &\\")
    return last if last and (len(parts) > 2 or not re.search("[a-zA-Z]", last)) else formula


def _formulas(fragment: str) -> list[str]:
    values = (canonical_expression(_right_side(_inside(match))) for match in _MATHS.finditer(fragment))
    return [value for value in values if value]

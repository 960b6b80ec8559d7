r"""The process that runs math-verify: one JSON request a line in, one JSON answer a line out.

It is a separate process because math-verify limits time by signals, which work only in a main thread, and because
an expression can keep sympy busy without end: then the process is ended and another one is started.

The gold comes first. Guards refuse the documented false positives of math-verify 0.9:

- equations: `3x - y + 13 = 0` passes for `3x + 4y + 14 = 0` if they are parsed as plain text (its issue 60),
  so two equations must also be multiples of each other;
- approximations: `3.4641016` passes for `2\sqrt{3}`; a decimal must equal the gold exactly;
- bases: `204` passes for `204_5`; the base must be there if the gold has one;
- order: `\{1, 2\}` passes for the pair `(1, 2)`;
- words: letters of a word are multiplied as symbols, so anagrams pass; words are compared as words.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from fractions import Fraction

import sympy  # type: ignore[import-untyped]
from math_verify import parse, verify
from math_verify.parser import LatexExtractionConfig

logging.disable(logging.CRITICAL)

_SECONDS = 3
_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mbox|textit)\s?\{([^{}]*)\}")
_BASE = re.compile(r"\d\s?_\s?\{?\s?(\d+)")
_DECIMAL = re.compile(r"[-+]?\d*\.\d+")
_EQUATION = re.compile(r"^([^=<>]+)=([^=<>]+)$")
_WORD = re.compile(r"(?<!\\)\b(?!(?:sin|cos|tan|log|exp|sqrt|min|max|mod|arcsin|arctan|cot|sec|csc)\b)[a-zA-Z]{3,}")


def is_equal(gold: str, answer: str) -> bool:
    """Return whether an answer is mathematically the gold. Never raises; what cannot be parsed is not."""
    try:
        return _verified(_tidy(gold), _tidy(answer))
    except Exception:  # sympy and the LaTeX parser fail in many ways on what models write
        return False


def _verified(gold: str, answer: str) -> bool:
    if _WORD.search(_TEXT.sub(r"\1", gold)) and not re.search(r"\d", gold):
        return _words(gold) == _words(answer)
    if _BASE.findall(gold) != _BASE.findall(answer):
        return False
    if (gold.startswith(("(", "[")) and answer.startswith("\\{")) or (
        gold.startswith("\\{") and answer.startswith("(")
    ):
        return False
    wanted, said = _parsed(gold), _parsed(answer)
    if not wanted or not said:
        return False
    if _DECIMAL.fullmatch(answer):
        return _exactly(wanted[0], answer)
    if not verify(wanted, said, timeout_seconds=_SECONDS):
        return False
    return _same_equation(gold, answer)


def _parsed(text: str) -> list[object]:
    return list(parse(f"${text}$", extraction_config=[LatexExtractionConfig()], parsing_timeout=_SECONDS))


def _exactly(wanted: object, decimal: str) -> bool:
    exact = Fraction(decimal)
    difference = sympy.sympify(wanted) - sympy.Rational(exact.numerator, exact.denominator)
    return bool(sympy.simplify(sympy.nsimplify(difference)) == 0)


def _same_equation(gold: str, answer: str) -> bool:
    """Two equations in the same unknowns must be multiples of each other; anything else passes."""
    sides = [_EQUATION.match(text) for text in (gold, answer)]
    if not all(sides):
        return True
    zeros = []
    for match in sides:
        assert match is not None
        left, right = _parsed(match[1]), _parsed(match[2])
        if not left or not right:
            return True
        zeros.append(sympy.expand(sympy.sympify(left[0]) - sympy.sympify(right[0])))
    if zeros[0].free_symbols != zeros[1].free_symbols or zeros[1] == 0:
        return bool(zeros[0] == zeros[1])
    return not sympy.simplify(zeros[0] / zeros[1]).free_symbols


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", _TEXT.sub(r" \1 ", text).lower())


def _tidy(text: str) -> str:
    """Write plain-text mathematics as LaTeX: `sqrt(3)`, `2**(1/4)`, `74°`."""
    text = text.strip().strip("$").replace("°", "^\\circ").replace("−", "-").replace("**", "^").replace("π", "\\pi ")
    text = re.sub(r"(?<!\\)\bsqrt\s?\(", r"\\sqrt(", text)
    for opener in (r"\\sqrt\(", r"\^\("):
        text = _braced(text, opener)
    return re.sub(r"(?<=[\w)}])\s?\*\s?(?=[\w(\\])", r" \\cdot ", text)


def _braced(text: str, opener: str) -> str:
    """Turn the parentheses that follow an opener into braces."""
    start = 0
    while match := re.compile(opener).search(text, start):
        opening, depth = match.end() - 1, 0
        start = match.end()
        for at in range(opening, len(text)):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            if depth == 0:
                text = f"{text[:opening]}{{{text[opening + 1 : at]}}}{text[at + 1 :]}"
                break
    return text


def main() -> None:
    """Answer requests until standard input ends."""
    out = sys.stdout
    sys.stdout = sys.stderr  # whatever a library prints must not look like an answer
    for line in sys.stdin:
        gold, answer = json.loads(line)
        out.write(json.dumps(is_equal(gold, answer)) + "\n")
        out.flush()


if __name__ == "__main__":
    main()

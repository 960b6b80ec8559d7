r"""The string rule of the MATH benchmark (Hendrycks et al. 2021, arXiv 2103.03874): equality after clean-up.

What the official `is_equiv` does, step by step: spacing and sizing commands, units, degrees, dollar and
percent signs go; `\tfrac`, `\dfrac` are `\frac`; a leading zero is written before a dot; `k = ` before an
answer goes; `\sqrt3`, `\frac12` get their braces; `0.5` and `a/b` of integers are fractions.
"""

from __future__ import annotations

import re

_GONE = ("\n", "\\!", "\\left", "\\right", "^{\\circ}", "^\\circ", "\\$", "\\%", "%")


def equivalent(answer: str, gold: str) -> bool:
    """Whether two answers are equal after the clean-up."""
    return strip_string(answer) == strip_string(gold)


def strip_string(text: str) -> str:
    """Clean up an answer as the official script does."""
    text = text.replace("\\\\", "\\").replace("tfrac", "frac").replace("dfrac", "frac")
    for part in _GONE:
        text = text.replace(part, "")
    if text.count("\\text{ ") == 1:  # units on the right
        text = text.split("\\text{ ")[0]
    text = text.replace(" .", " 0.").replace("{.", "{0.")
    if text.startswith("."):
        text = "0" + text
    sides = text.split("=")
    if len(sides) == 2 and len(sides[0]) <= 2:
        text = sides[1]
    text = re.sub(r"\\sqrt(?=[^{])(.)", r"\\sqrt{\1}", text, flags=re.DOTALL)
    text = _braced_fractions(text.replace(" ", ""))
    if text == "0.5":
        return "\\frac{1}{2}"
    simple = re.fullmatch(r"(-?\d+)/(-?\d+)", text)
    if simple and len(text) < 100:
        return f"\\frac{{{int(simple[1])}}}{{{int(simple[2])}}}"
    return text


def _braced_fractions(text: str) -> str:
    parts = text.split("\\frac")
    fixed = [parts[0]]
    for part in parts[1:]:
        if part.startswith("{") or len(part) < 2:
            fixed.append(part)
        elif part[1] == "{":
            fixed.append(f"{{{part[0]}}}{part[1:]}")
        else:
            fixed.append(f"{{{part[0]}}}{{{part[1]}}}{part[2:]}")
    return "\\frac".join(fixed)

"""Written-out steps for a+b*c+d-e*f: right ones, ones with a slip, and what is wrong with steps that somebody wrote."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

EXPRESSION = re.compile(r"(\d+)\+(\d+)\*(\d+)\+(\d+)-(\d+)\*(\d+)")
_EQUATION = re.compile(r"(?<![\d=])(-?\d+)([-+*])(-?\d+)=(-?\d+)")
STEPS = 6


@dataclass(frozen=True, slots=True)
class Working:
    """Steps, one a line, and the value that they end with."""

    lines: tuple[str, ...]
    value: int


def numbers_of(text: str) -> tuple[int, ...] | None:
    """Return the six numbers of the expression in a text; None where there is none."""
    found = EXPRESSION.search(text)
    return tuple(map(int, found.groups())) if found else None


def work(numbers: tuple[int, ...], slips: frozenset[int] = frozenset(), chance: random.Random | None = None) -> Working:
    """Work an expression out: the two products, then from left to right, what is taken away by its tens and its units.

    A difference in one step is what these models learn last by far; in two it comes with the rest.

    Parameters
    ----------
    numbers : six int
    slips : set of int
        Steps, from 0, that come out wrong; what follows goes on from there.
    chance : random.Random or None
        Draws the slips.
    """
    a, b, c, d, e, f = numbers
    lines: list[str] = []

    def step(x: int, sign: str, y: int) -> int:
        value = applied(x, sign, y)
        if len(lines) in slips and chance is not None:
            value = _slipped(x, sign, y, chance)
        lines.append(f"{x}{sign}{y}={value}")
        return value

    first, second = step(b, "*", c), step(e, "*", f)
    value = step(step(a, "+", first), "+", d)
    for part in (second // 10 * 10, second % 10):
        value = step(value, "-", part)
    return Working(tuple(lines), value)


def applied(x: int, sign: str, y: int) -> int:
    """Return x + y, x - y or x * y."""
    return x + y if sign == "+" else x - y if sign == "-" else x * y


def _slipped(x: int, sign: str, y: int, chance: random.Random) -> int:
    """Return a wrong value as people write them: a neighbour in the times table, a ten or a unit lost or gained.

    It is not negative where the right one is not.
    """
    right = applied(x, sign, y)
    near = [right + 10, right - 10, right + 1, right - 1]
    if sign == "*":
        near += [right + x, right - x, right + y, right - y]
    return chance.choice([value for value in near if value != right and value >= min(0, right)])


def wrong_lines(text: str) -> list[tuple[str, int]]:
    """Return the equations in a text that do not hold, each once, with what the right value is."""
    found = {}
    for x, sign, y, said in _EQUATION.findall(text):
        right = applied(int(x), sign, int(y))
        if right != int(said):
            found[f"{x}{sign}{y}={said}"] = right
    return list(found.items())


def equations(text: str) -> list[str]:
    """Return all equations in a text, in order."""
    return ["{}{}{}={}".format(*parts) for parts in _EQUATION.findall(text)]

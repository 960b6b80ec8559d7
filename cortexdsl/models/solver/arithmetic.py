"""Mental arithmetic as the built-in solver does it: step by step, with the mistakes that people make.

Integers with + - * and parentheses. Mistakes are of real kinds: working from left to right where multiplication
comes first, a neighbouring row of the times table, a lost or surplus carry, a slip by one, a sign that is
overlooked. Some expressions are harder than others, and tempt everybody to the same mistake: a vote does not
heal that.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

USUAL_CHANCES = 6
"""Chances for a mistake in `a+b*c+d-e*f`: five operations, and their order."""
HARD_SHARE, HARD, EASY = 0.25, -1.8, 0.6
"""Share of expressions that are hard, and what hard and easy add to the log odds of being right."""
TEMPTED = 0.7
"""How often a mistake is the one that its expression tempts to."""

_EXPRESSION = re.compile(r"(?<![\w.])\(*-?\d{1,12}\)*(?:\s?[-+*×−]\s?\(*-?\d{1,12}\)*)+(?!\.?\d)(?!\w)")
_BINARY = re.compile(r"(?<=[\d)])[-+*]")


@dataclass(frozen=True, slots=True)
class ArithmeticTask:
    """An arithmetic expression, ready to be worked out.

    Attributes
    ----------
    text : str
        Without spaces.
    postfix : tuple of int or str
        Numbers and operators in the order of working by precedence.
    flat : tuple of int or str
        The same worked strictly from left to right; equal to `postfix` where that changes nothing.
    """

    text: str
    postfix: tuple[int | str, ...]
    flat: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: the value it came to, and the steps as they would be written down."""

    value: int
    steps: tuple[str, ...]


@functools.lru_cache(maxsize=4096)
def find_expression(text: str) -> ArithmeticTask | None:
    """Return the first arithmetic expression in a text, or None."""
    for match in _EXPRESSION.finditer(text):
        expression = match[0].replace("×", "*").replace("−", "-").replace(" ", "")
        try:
            return ArithmeticTask(expression, *_postfix(expression))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _postfix(expression: str) -> tuple[tuple[int | str, ...], tuple[int | str, ...]]:
    """Order numbers and operators for working: by precedence, and strictly from left to right."""
    plain = re.sub(r"\b0+(?=\d)", "", expression)
    operators = _BINARY.findall(plain)
    return _ordered(plain, operators), _ordered(plain.replace("*", "+"), operators)


def _ordered(expression: str, operators: Sequence[str]) -> tuple[int | str, ...]:
    """Return an expression in postfix order, with operators of these names in the order of the text."""
    names = iter(operators)

    def postfix(node: ast.expr) -> tuple[int | str, ...]:
        if not isinstance(node, ast.BinOp):
            return (ast.literal_eval(node),)
        left, name = postfix(node.left), next(names)
        return (*left, *postfix(node.right), name)

    return postfix(ast.parse(expression, mode="eval").body)


def work_out(expression: ArithmeticTask, rate: float, rng: random.Random) -> Attempt:
    """Work an expression out once.

    Parameters
    ----------
    expression : ArithmeticTask
    rate : float
        Probability of a mistake at each chance: each operation, and the order of working where it matters.
    rng : Random
    """
    lure = _lure(expression.text)
    order = expression.postfix
    if expression.flat != order and rng.random() < rate:
        order = expression.flat
        rate = 0.0 if rng.random() < TEMPTED else 0.5  # some are confused for good
    stack: list[int] = []
    steps: list[str] = []
    for token in order:
        if isinstance(token, int):
            stack.append(token)
            continue
        b, a = stack.pop(), stack.pop()
        value = a + b if token == "+" else a - b if token == "-" else a * b
        if rng.random() < rate:
            pick = lure if rng.random() < TEMPTED else rng.getrandbits(16)
            value = _mistaken(token, a, b, value, pick)
        steps.append(f"{a}{token}{b if b >= 0 else f'({b})'} = {value}")
        stack.append(value)
    return Attempt(stack[0], tuple(steps))


def _mistaken(token: str, a: int, b: int, value: int, pick: int) -> int:
    """Return a wrong value of one operation, of the kind and direction that `pick` chooses."""
    up = 1 if pick & 1 else -1
    kind = (pick >> 1) % 3
    if token == "*":
        return value + up * (a or 1) if kind == 0 else value + 10 * up if kind == 1 else value + up * (b or 1)
    if token == "-" and kind == 0 and b != 0:
        return a + b
    return value + 10 * up if kind < 2 else value + up


def mistake_rate(text: str, skill: float) -> float:
    """Return the probability of a mistake at each chance, for an expression and a skill in [0, 1]."""
    return 1.0 - math.pow(odds_of_right(text, skill), 1.0 / USUAL_CHANCES)


def odds_of_right(text: str, skill: float) -> float:
    """Return the probability that an expression of usual length comes out right at once."""
    centre = _centre(skill)
    if math.isinf(centre):
        return 1.0
    return _logistic(centre + (HARD if is_hard(text) else EASY))


def usual_accuracy(skill: float) -> float:
    """Return the share of expressions of usual length that come out right at once."""
    return 0.08 + 0.92 * skill


@functools.lru_cache(maxsize=64)
def _centre(skill: float) -> float:
    """Return the log odds about which hard and easy expressions average to the accuracy of a skill."""
    target = usual_accuracy(skill)
    if target >= 1.0:
        return math.inf
    low, high = -20.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = HARD_SHARE * _logistic(middle + HARD) + (1 - HARD_SHARE) * _logistic(middle + EASY)
        low, high = (middle, high) if mean < target else (low, middle)
    return low


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def is_hard(text: str) -> bool:
    """Say whether an expression is one of the hard ones; the same for every solver."""
    return _lure(text) >> 8 < HARD_SHARE * 2**24


@functools.lru_cache(maxsize=4096)
def _lure(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

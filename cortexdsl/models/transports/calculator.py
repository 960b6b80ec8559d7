"""Exact arithmetic over fractions in bounded time, for the tool `calculator`."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction

LONGEST_EXPRESSION = 400
"""Characters of an expression."""
LARGEST = 10**300
"""Larger numbers, and fractions with a larger part, are not valid results."""
DIGITS = 15
"""Significant digits of a number that is not whole."""


class NoNumberError(ValueError):
    """The expression is not arithmetic, or has no result; the message says why."""


def value_of(expression: str) -> Fraction:
    """Return the value of an arithmetic expression.

    Parameters
    ----------
    expression : str
        Numbers, `+ - * / // % **` (or `^`, times and division signs), parentheses, percentages (`15%`), and abs, min,
        max, round, floor, ceil, sqrt. Commas between thousands and an equals sign at the end are passed over.

    Raises
    ------
    NoNumberError
        It is something else, divides by zero, or its result is too large. The work is bounded.
    """
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", expression.strip().rstrip("=?").strip().strip("$"))
    text = text.replace("^", "**").replace("\u00d7", "*").replace("\u00f7", "/").replace("\u2212", "-")
    text = re.sub(r"(\d+(?:\.\d+)?)\s*%(?!\s*[\w(])", r"(\1/100)", text)
    if len(text) > LONGEST_EXPRESSION:
        raise NoNumberError(f"longer than {LONGEST_EXPRESSION} characters")
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise NoNumberError("not an arithmetic expression") from None
    return _value(tree.body, text)


def written(value: Fraction) -> str:
    """Write a number: whole ones whole, others with at most `DIGITS` significant digits."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.{DIGITS}g}"


_TWO: dict[type, Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda one, other: Fraction(one // other),
    ast.Mod: operator.mod,
}
_ONE: dict[type, Callable[[Fraction], Fraction]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


def _value(node: ast.expr, text: str) -> Fraction:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            result = _number(ast.get_source_segment(text, node) or "")
        case ast.UnaryOp(op=op, operand=inner) if type(op) in _ONE:
            result = _ONE[type(op)](_value(inner, text))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            result = _power(_value(left, text), _value(right, text))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _TWO:
            one, other = _value(left, text), _value(right, text)
            if not other and not isinstance(op, ast.Add | ast.Sub | ast.Mult):
                raise NoNumberError("division by zero")
            result = _TWO[type(op)](one, other)
        case ast.Call(func=ast.Name(id=name), args=inside, keywords=[]) if name in _FUNCTIONS and inside:
            result = _called(name, [_value(each, text) for each in inside])
        case _:
            raise NoNumberError("not an arithmetic expression")
    if max(abs(result.numerator), result.denominator) > LARGEST:
        raise NoNumberError("too large")
    return result


def _number(text: str) -> Fraction:
    if not re.fullmatch(r"[\d_]*\.?[\d_]*(?:[eE][+-]?\d{1,3})?", text):
        raise NoNumberError("not an arithmetic expression")
    return Fraction(text.replace("_", ""))


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator == 1:
        size = max(abs(base.numerator), base.denominator, 2)
        if abs(exponent) * math.log10(size) > 300:
            raise NoNumberError("too large")
        if not base and exponent < 0:
            raise NoNumberError("division by zero")
        return Fraction(base ** int(exponent))
    return _real(lambda: float(base) ** float(exponent))


def _root(value: Fraction) -> Fraction:
    whole = Fraction(math.isqrt(max(0, value.numerator)), math.isqrt(value.denominator))
    return whole if whole * whole == value else _real(lambda: math.sqrt(value))


def _real(compute: Callable[[], float | complex]) -> Fraction:
    try:
        result = compute()
    except (ValueError, OverflowError, ZeroDivisionError):
        raise NoNumberError("no real number") from None
    if isinstance(result, complex) or not math.isfinite(result):
        raise NoNumberError("no real number")
    return Fraction(result)


def _called(name: str, values: list[Fraction]) -> Fraction:
    try:
        return Fraction(_FUNCTIONS[name](*values))
    except TypeError:
        raise NoNumberError(f"{name} takes other numbers") from None


_FUNCTIONS: dict[str, Callable[..., Fraction | int]] = {
    "abs": abs,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "round": lambda value, digits=Fraction(0): round(value, int(digits)) if abs(digits) <= 100 else value,
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": _root,
}

"""A small safe arithmetic: numbers, names, + - * / **, parentheses and a few functions, over numpy arrays.

Used for edge weights (`credibility * reliability / (self_orientation + 1)`) and for counts over settings
(`ceil(5 / 2) - 1`). Text is parsed with `ast` and walked; nothing is ever evaluated as Python.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import numpy as np

NAMES = (
    "credibility", "reliability", "similarity", "intimacy", "self_orientation", "participation",
    "confidence", "peer_score", "round", "n_agents",
)  # fmt: skip
"""The names that a weight may use. Per speaker: credibility, reliability, self_orientation, participation,
confidence, peer_score. Per pair: similarity, intimacy. One number: round, n_agents."""

MAX_LENGTH = 500

_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: np.true_divide, ast.Pow: np.float_power,
}  # fmt: skip
_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {  # name: fewest arguments, function
    "min": (2, lambda *values: reduce(np.minimum, values)),
    "max": (2, lambda *values: reduce(np.maximum, values)),
    "sqrt": (1, np.sqrt),
    "log": (1, np.log),
    "exp": (1, np.exp),
    "ceil": (1, np.ceil),
}
FUNCTIONS = tuple(_FUNCTIONS)


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression: its text, its syntax tree and the names that it uses."""

    text: str
    tree: ast.expr
    names: frozenset[str]


@cache
def parse(text: str) -> Expression:
    """Check an expression.

    Parameters
    ----------
    text : str
        At most 500 characters.

    Returns
    -------
    Expression

    Raises
    ------
    ValueError
        What is not arithmetic, with what is allowed.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the expression has {len(text)} characters; {MAX_LENGTH} are allowed")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        names: set[str] = set()
        _check(tree, names)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is not an arithmetic expression") from error
    return Expression(text.strip(), tree, frozenset(names))


def _check(node: ast.expr, names: set[str]) -> None:
    match node:
        case ast.Constant(value=value) if isinstance(value, int | float) and not isinstance(value, bool):
            if not np.isfinite(float(value) if abs(value) < 1e300 else np.inf):
                raise ValueError("a number in the expression is too large")
        case ast.Name(id=name):
            names.add(name)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _check(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check(left, names)
            _check(right, names)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            fewest = _FUNCTIONS[name][0]
            if len(arguments) < fewest or (fewest == 1 and len(arguments) > 1):
                raise ValueError(f"{name}() takes {'one value' if fewest == 1 else 'two values or more'}")
            for argument in arguments:
                _check(argument, names)
        case _:
            raise ValueError(
                f"{ast.unparse(node)!r} is not allowed; allowed are numbers, names, + - * / **, "
                f"parentheses and {', '.join(FUNCTIONS)}"
            )


def evaluate(expression: Expression, values: Mapping[str, Any]) -> Any:
    """Compute an expression over numbers and arrays that broadcast together.

    Division by zero and overflow give inf or nan, as numpy does without its warnings: the caller knows
    which agent an entry belongs to and says so.

    Raises
    ------
    KeyError
        A name without a value.
    """
    with np.errstate(all="ignore"):
        return _evaluate(expression.tree, values)


def _evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]  # _check let numbers alone pass
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=op, operand=operand):
            value = _evaluate(operand, values)
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name][1](*(_evaluate(argument, values) for argument in arguments))
        case _:  # pragma: no cover - _check let nothing else pass
            raise AssertionError(ast.dump(node))


def count(text: str) -> int:
    """Evaluate an expression without names to a whole number >= 0: the passes of a loop.

    Raises
    ------
    ValueError
        It has names, or its value is no whole number >= 0.
    """
    expression = parse(text)
    if expression.names:
        raise ValueError(f"{text!r} names {', '.join(sorted(expression.names))}, which no setting gives a value")
    value = float(evaluate(expression, {}))
    if not np.isfinite(value) or value < 0 or value != round(value):
        raise ValueError(f"{text!r} is {value:g}; a whole number of at least 0 is needed")
    return round(value)

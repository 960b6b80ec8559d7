"""Parse and evaluate expressions.

Numbers, names, arithmetic (`+ - * / % **`), comparisons, `and`, `or`, `not`, a few functions, and reductions over
agents, computed over numpy arrays. Text is parsed with `ast` and checked node by node. It never runs as
Python: there are no loops, attributes or other calls, and its length is bounded.

True is 1 and false 0. A name that belongs to an agent has one value per speaker (a column), a name that belongs to a
pair one per (speaker, listener), and a name that belongs to the debate is a number. `mine(x)` is the listener's value
of what belongs to an agent (a row). `theirs(x)` is the speaker's (a column); of a pair, or of what was reduced to one
value per listener, the value with speaker and listener exchanged. `chosen(rank)` is computed from the readings of the
step `rank` only. A reduction goes over the speakers that a listener could hear (of a pair: all but the listener
itself); if no speakers are left, over the agents. `before(x)` is the value that a name had before the last answers,
and `last_pass(x)` its value at the end of the pass of the loop before this one.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import numpy as np

from cortexdsl.expressions.names import ANSWER, LEARNED, OF_STEPS, STATED, VARS

BEFORE, LAST_PASS = "before", "last_pass"
EARLIER = (BEFORE, LAST_PASS)
"""The functions that return an earlier value of a name."""
MAX_LENGTH = 500
"""The most characters of an expression that a person writes."""
MAX_FITTED = 100_000
"""The most characters of an expression in which fitted functions stand for their names."""
NAMED = (VARS, LEARNED, STATED)
"""Names that always say which of several values is meant: `vars(NAME)`."""
MAX_NUMBER = 1e300

_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: np.true_divide, ast.Mod: np.mod, ast.Pow: np.float_power,
}  # fmt: skip
_COMPARISONS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal,
    ast.Eq: np.equal, ast.NotEq: np.not_equal,
}  # fmt: skip
_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {  # name: fewest arguments, function
    "min": (2, lambda *values: reduce(np.minimum, values)),
    "max": (2, lambda *values: reduce(np.maximum, values)),
    "sqrt": (1, np.sqrt),
    "log": (1, np.log),
    "exp": (1, np.exp),
    "ceil": (1, np.ceil),
    "floor": (1, np.floor),
    "abs": (1, np.abs),
    "mine": (1, np.transpose),
    "theirs": (1, lambda values: values if _is_column(values) else np.transpose(values)),
}


def _is_column(values: Any) -> bool:
    return np.ndim(values) == 2 and np.shape(values)[0] > 1 == np.shape(values)[1]


_REDUCTIONS: Mapping[str, Callable[..., Any]] = {
    "mean": np.mean, "sum": np.sum,
    "any": lambda values, axis: np.any(values != 0, axis=axis),
    "all": lambda values, axis: np.all(values != 0, axis=axis),
}  # fmt: skip
FUNCTIONS = (*_FUNCTIONS, *_REDUCTIONS)


@dataclass(frozen=True, slots=True)
class ParsedExpression:
    """A valid expression.

    Attributes
    ----------
    text : str
    tree : ast.expr
    names : set of str
        The names that it uses, without their steps.
    keys : set of str
        The keys of their values: `chosen`, or `chosen(rank)` for one step, or `before(chosen)` for an earlier value.
    """

    text: str
    tree: ast.expr
    names: frozenset[str]
    keys: frozenset[str]


@cache
def split_key(key: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a key, of now or of an earlier value, and its steps (empty: all), or the number it names."""
    while (inner := earlier_key(key)) is not None:
        key = inner
    name, _, steps = key.partition("(")
    return name, tuple(steps[:-1].split(", ")) if steps else ()


@cache
def earlier_key(key: str) -> str | None:
    """Return the key whose earlier value a key stands for; None if it stands for a value of now."""
    function, _, inner = key.partition("(")
    return inner[:-1] if function in EARLIER else None


def _key(node: ast.Call) -> str:
    return ast.unparse(node)


@cache
def parse(text: str) -> ParsedExpression:
    """Parse and validate an expression.

    Parameters
    ----------
    text : str
        As written, or with fitted functions in it.

    Returns
    -------
    ParsedExpression

    Raises
    ------
    ValueError
        It is not an expression; says what is allowed.
    """
    if len(text) > MAX_FITTED:
        raise ValueError(f"the expression has {len(text)} characters; {MAX_FITTED} are allowed")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        keys: set[str] = set()
        _check(tree, keys)
        _check_answers(tree)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is not an expression") from error
    return ParsedExpression(text.strip(), tree, frozenset(split_key(key)[0] for key in keys), frozenset(keys))


def _check(node: ast.expr, keys: set[str]) -> None:
    match node:
        case ast.Constant(value=value) if isinstance(value, int | float) and not isinstance(value, bool):
            if not abs(value) < MAX_NUMBER:
                raise ValueError("a number in the expression is too large")
        case ast.Name(id=name) if name in NAMED:
            raise ValueError(f"{name} says which number: {name}(NAME)")
        case ast.Name(id=name):
            keys.add(name)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            _check(operand, keys)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check(left, keys)
            _check(right, keys)
        case ast.BoolOp(values=parts):
            for part in parts:
                _check(part, keys)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARISONS for op in ops):
            for part in (left, *others):
                _check(part, keys)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS or name in _REDUCTIONS:
            fewest = _FUNCTIONS[name][0] if name in _FUNCTIONS else 1
            if len(arguments) < fewest or (fewest == 1 and len(arguments) > 1):
                raise ValueError(f"{name}() takes {'one value' if fewest == 1 else 'two values or more'}")
            for argument in arguments:
                _check(argument, keys)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in OF_STEPS:
            if not arguments or not all(isinstance(argument, ast.Name) for argument in arguments):
                raise ValueError(f"{name}() takes the names of steps")
            keys.add(_key(node))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in NAMED:
            if len(arguments) != 1 or not isinstance(arguments[0], ast.Name):
                raise ValueError(f"{name}() takes the name of one number: {name}(NAME)")
            keys.add(_key(node))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in EARLIER:
            inner: set[str] = set()
            if len(arguments) == 1 and _is_name(arguments[0]):
                _check(arguments[0], inner)
            if not inner:
                such_as = f"write {name}(x) for each name, such as mean({name}(support))"
                raise ValueError(f"{name}() takes one name; {such_as}")
            keys.add(_key(node))
        case ast.Call(func=ast.Name(id=name)) if name not in (*FUNCTIONS, *EARLIER, *NAMED):
            of_steps = f"; of one step are {', '.join(f'{each}(STEP)' for each in OF_STEPS)}"
            raise ValueError(f"there is no function {name}; there are {', '.join((*FUNCTIONS, *EARLIER))}{of_steps}")
        case _:
            raise ValueError(
                f"{ast.unparse(node)!r} is not allowed; allowed are numbers, names, + - * / % **, < <= > >= == !=, "
                f"and, or, not, parentheses and {', '.join(FUNCTIONS)}"
            )


def _is_name(node: ast.expr) -> bool:
    """Return whether a node is a name, a name of some steps, or an earlier value of one."""
    match node:
        case ast.Name():
            return True
        case ast.Call(func=ast.Name(id=name), args=[argument]) if name in EARLIER:
            return _is_name(argument)
        case ast.Call(func=ast.Name(id=name)):
            return name in OF_STEPS or name == STATED
    return False


def _check_answers(tree: ast.expr) -> None:
    """Refuse answers outside of `==` and `!=` with answers: they are texts and have no order."""
    compared = {
        id(name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and all(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
        for sides in [(node.left, *node.comparators)]
        if all(_is_answer(side) for side in sides)
        for side in sides
        for name in ast.walk(side)
    }
    if any(name.id == ANSWER and id(name) not in compared for name in _value_names(tree)):
        raise ValueError("an answer can only be compared with an answer, by == or !=, such as answer != before(answer)")


def _value_names(node: ast.AST) -> Iterator[ast.Name]:
    """Yield the names of values; the names of steps in `mean_score(STEP)` and of numbers in `vars(NAME)` are none."""
    match node:
        case ast.Name():
            yield node
        case ast.Call(func=ast.Name(id=name), args=arguments):
            for argument in () if name in OF_STEPS or name in NAMED else arguments:
                yield from _value_names(argument)
        case _:
            for part in ast.iter_child_nodes(node):
                yield from _value_names(part)


def _is_answer(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name):
            return name == ANSWER
        case ast.Call(func=ast.Name(id="before" | "last_pass" | "mine" | "theirs"), args=[argument]):
            return _is_answer(argument)
    return False


def evaluate(expression: ParsedExpression, values: Mapping[str, Any]) -> Any:
    """Compute an expression over numbers and arrays that broadcast together.

    Division by zero and overflow give inf or nan, without numpy's warnings; the caller knows which agent an entry
    belongs to and reports it.

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
            return float(value)  # type: ignore[arg-type]  # _check accepts only numbers
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=op, operand=operand):
            value = _evaluate(operand, values)
            if isinstance(op, ast.Not):
                return _as_number(np.equal(value, 0))
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.BoolOp(op=op, values=parts):
            truths = [np.not_equal(_evaluate(part, values), 0) for part in parts]
            return _as_number(reduce(np.logical_and if isinstance(op, ast.And) else np.logical_or, truths))
        case ast.Compare(left=left, ops=ops, comparators=others):
            parts = [_evaluate(part, values) for part in (left, *others)]
            truths = [_COMPARISONS[type(op)](one, other) for op, one, other in zip(ops, parts, parts[1:], strict=False)]
            return _as_number(reduce(np.logical_and, truths))
        case ast.Call(func=ast.Name(id=name)) if name in OF_STEPS or name in (*EARLIER, *NAMED):
            return values[_key(node)]
        case ast.Call(func=ast.Name(id=name), args=arguments):
            computed = [_evaluate(argument, values) for argument in arguments]
            return _FUNCTIONS[name][1](*computed) if name in _FUNCTIONS else _reduced(name, computed[0])
        case _:  # pragma: no cover - _check accepts nothing else
            raise AssertionError(ast.dump(node))


def side_calls(expression: ParsedExpression, values: Mapping[str, Any]) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return each `mine(x)` and `theirs(x)` of an expression: function, text, and shape of x."""
    calls = [node for node in ast.walk(expression.tree) if isinstance(node, ast.Call)]
    split_key = [(node, node.func.id) for node in calls if isinstance(node.func, ast.Name)]
    with np.errstate(all="ignore"):
        return [(name, ast.unparse(node), np.shape(_evaluate(node.args[0], values)))
                for node, name in split_key if name in ("mine", "theirs")]  # fmt: skip


def _as_number(truth: Any) -> Any:
    return np.asarray(truth, dtype=float)[()]


def _reduced(name: str, value: Any) -> Any:
    """Reduce over the speakers of each listener except itself; over the agents if there are no speakers."""
    array = np.atleast_1d(np.asarray(value, dtype=float))
    if array.ndim == 2 and array.shape[0] == array.shape[1] > 1:
        others = ~np.eye(len(array), dtype=bool)
        return np.array([[float(_REDUCTIONS[name](array[others[:, k], k], axis=0)) for k in range(len(array))]])
    if array.size == 0:
        return 0.0
    return float(_REDUCTIONS[name](array, axis=None))

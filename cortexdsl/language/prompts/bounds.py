"""Bounds on the time and memory that one rendering may take, checked before each step and not after it.

The cost of a step is what it reads: characters and items of its operands, in units of work. A value counts with the
length of its text, so that a list that holds one long text many times is as large as its text would be. Steps whose
result may be larger than their operands (repeat, replace, join, format) are checked by a bound of the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import fields
from types import GeneratorType
from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.runtime import Undefined
from jinja2.utils import Namespace

from cortexdsl.core import Question

MOST_CHARACTERS = 10_000_000
"""Limit of a rendered prompt, and of the text of any value on the way."""

MOST_WORK = 2_000_000
"""Limit of loop passes, calls, and items and hundreds of characters that are read, in sum: a few seconds."""

MOST_BITS = 4_096
"""Limit of a whole number."""

MOST_PADDING = 100_000
"""Limit of numeric arguments."""

MOST_INDENT = 100
DEEPEST = 50  # lists in lists
CHARACTERS, ITEMS = 100, 10
"""Characters that are read, and items of a list that are copied, for a unit of work."""

_PADS = frozenset({"batch", "center", "indent", "round", "slice", "truncate", "wordwrap"})
_SLOW = frozenset({"pprint", "striptags", "title", "tojson", "wordcount", "wordwrap"})
SLOW_CHARACTERS = 5
"""Characters that a filter which goes through a text step by step reads for a unit of work."""

_SHORT = frozenset({int, float, bool, type(None)})
"""Types of values whose text is short: a whole number has `MOST_BITS` at most."""

TESTS_OF_TYPE = frozenset(
    {"boolean", "callable", "defined", "false", "float", "integer", "mapping", "none", "number", "sameas"}
    | {"string", "true", "undefined"}
)
"""Tests that look at the type of a value alone, and so take the same time for every value."""

WITHOUT_FILTERS = frozenset({"urlize", "xmlattr"})
"""Filters for web pages, which take minutes for a long text."""

_WIDTHS = re.compile(r"\d+")
_FIELDS = re.compile(r"[%{]")
_WIDTH_FROM_VALUE = re.compile(r"%[^%a-zA-Z]*\*|\{[^{}]*\{")

INCLUDE = 10
"""Units of work of an include."""

WITHOUT_METHODS = frozenset({"translate", "maketrans", "expandtabs", "format_map", "encode", "from_bytes", "to_bytes"})
"""Methods whose results cannot be bounded by their operands."""

NOT_REPEATABLE = "a prompt must be the same in each rendering; use the seed of the spec, or an agent's number"

_work: ContextVar[list[int] | None] = ContextVar("work of the rendering under way", default=None)


class WorkBudget:
    """The work that one rendering may do: `with WorkBudget(): template.render(...)`."""

    def __enter__(self) -> None:
        self._token = _work.set([MOST_WORK])

    def __exit__(self, *_: object) -> None:
        _work.reset(self._token)


def spend(amount: int) -> None:
    """Count work.

    Raises
    ------
    SecurityError
        The rendering has done too much.
    """
    left = _work.get()
    if left is None:
        return
    left[0] -= amount
    if left[0] < 0:
        raise SecurityError("it does too much: a loop that is too long, or a text that grows without end")


def check_length(length: int) -> None:
    """Refuse a text or list that is too long."""
    if length > MOST_CHARACTERS:
        raise SecurityError(f"a text or list of more than {MOST_CHARACTERS:,} characters or items")


def check_numbers(values: Iterable[Any], most: int = MOST_PADDING) -> None:
    """Refuse numeric arguments that pad or repeat too much."""
    for value in values:
        if isinstance(value, int | float) and abs(value) > most:
            raise SecurityError(f"{value} is more than {most:,}")


def size(value: Any) -> int:
    """Return the length of a text or a list; 0 for other values."""
    return len(value) if isinstance(value, str | bytes | list | tuple) else 0


def length_of(value: Any) -> int:
    """Return a bound of the length of a value's text: each place counts, also if it holds the same object."""
    if isinstance(value, str | bytes):
        return len(value)
    return _length(value, {}, 0)


def _length(value: Any, known: dict[int, int], depth: int) -> int:
    if isinstance(value, str | bytes):
        return len(value) + 2
    if isinstance(value, Undefined):  # looking at it closer is an error
        return 0
    if isinstance(value, int):
        return 8 + value.bit_length() // 3
    if isinstance(value, range):
        return 8 * len(value)
    if isinstance(value, Namespace):  # its text is that of its attributes
        value = value._Namespace__attrs
    if isinstance(value, Mapping):
        parts: Iterable[Any] = [part for item in value.items() for part in item]
    elif isinstance(value, Question):
        parts = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, list | tuple | set | frozenset) or hasattr(value, "mapping"):  # dict.items() and so on
        parts = value
    else:
        return 100
    if depth > DEEPEST:
        raise SecurityError(f"lists in lists, more than {DEEPEST} deep")
    if id(value) not in known:
        known[id(value)] = 2 + sum(2 + _length(part, known, depth + 1) for part in parts)
    return known[id(value)]


def items_of(value: Any) -> int:
    """Return how many items a filter goes through in a value; a text has one."""
    return 1 if isinstance(value, str | bytes | Undefined) or not hasattr(value, "__len__") else len(value)


def shown(value: Any) -> Any:
    """Return a value that a template writes out; refuse one that has no text of its own, or one too long."""
    if type(value) not in _SHORT and not isinstance(value, str | Undefined):
        check_length(length_of(value))
        if not isinstance(value, int | float):
            raise TypeError(f"{_KINDS.get(type(value), 'this')} is not a text: write {_PARTS}")
    return value


_KINDS: Mapping[type, str] = {dict: "a mapping", list: "a list", tuple: "a list", Question: "the question"}
_PARTS = "one of its parts, such as question.text or turn.text, or join a list: names | join(', ')"


def read(*values: Any) -> None:
    """Count values as read, and refuse those whose text would be too long."""
    for value in values:
        length = length_of(value)
        check_length(length)
        spend(length // CHARACTERS)


def read_through(value: Any) -> Any:
    """Return a value after counting it as read: an operand of a comparison or of a slice."""
    if type(value) is str:
        if len(value) >= CHARACTERS:
            check_length(len(value))
            spend(len(value) // CHARACTERS)
    elif type(value) not in _SHORT:
        read(value)
    return value


def counted(values: Any) -> Any:
    """Return the values of a loop, and count its passes."""
    if isinstance(values, Undefined):
        return values
    if hasattr(values, "__len__"):
        spend(len(values))
        return values
    return _passes(values)


def _passes(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        spend(1)
        yield value


def joined(parts: Iterable[Any]) -> str:
    """Join texts, as `~` does."""
    read(*parts)
    texts = [str(part) for part in parts]
    check_length(sum(map(len, texts)))
    return "".join(texts)


def check_operation(operator: str, left: Any, right: Any) -> None:
    """Refuse `left operator right` if its result may be too large, and count it."""
    if operator == "**":
        _check_power(left, right)
    elif operator == "*":
        _check_product(left, right)
    elif operator == "+":
        total = size(left) + size(right)
        check_length(total)
        spend(total // (CHARACTERS if isinstance(left, str) else ITEMS))
    elif operator == "%" and isinstance(left, str):
        _check_format(left, right)


def _check_power(base: Any, exponent: Any) -> None:
    if not (isinstance(base, int | float) and isinstance(exponent, int | float)):
        return
    bits = max(abs(base), 2).bit_length() if isinstance(base, int) else 0
    if bits * abs(exponent) > MOST_BITS:
        raise SecurityError(f"{base} ** {exponent} is too large a number")


def _check_product(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > MOST_BITS:
            raise SecurityError("a product is too large a number")
        return
    value, times = (left, right) if isinstance(right, int) else (right, left)
    if isinstance(times, int):
        check_length(size(value) * times)
        spend(max(0, size(value) * times) // (CHARACTERS if isinstance(value, str) else ITEMS))


def _check_format(form: Any, values: Any) -> None:
    """Refuse a format whose result may be too long: by its widths, and by its fields with all values in each."""
    text = form if isinstance(form, str) else ""
    if _WIDTH_FROM_VALUE.search(text):
        raise SecurityError("a width that comes from a value")
    widths = sum(int(width[:9]) for width in _WIDTHS.findall(text))
    total = len(text) + widths + len(_FIELDS.findall(text)) * length_of(values)
    if total > MOST_CHARACTERS:
        raise SecurityError("a text is padded to more characters than a prompt may have")
    spend(total // CHARACTERS)


def _check_replace(text: Any, old: Any = "", new: Any = "", *_: Any) -> None:
    if isinstance(text, str) and isinstance(old, str):
        found = text.count(old)
        check_length(len(text) + found * length_of(new))
        spend((len(text) + found * length_of(new)) // CHARACTERS)


def _check_join(parts: Any, between: Any = "", *_: Any) -> None:
    total = length_of(parts) + items_of(parts) * length_of(between)
    check_length(total)
    spend(total // CHARACTERS)


def _check_lines(text: Any, *margins: Any) -> None:
    """Check what is put at each line, or between any two characters."""
    wide = max((value if isinstance(value, int) else length_of(value) for value in margins), default=0)
    lines = text.count("\n") + 1 if isinstance(text, str) else 1
    check_length(length_of(text) + lines * wide)


def _check_wrap(text: Any, *margins: Any) -> None:
    between = max((length_of(value) for value in margins if isinstance(value, str)), default=1)
    check_length(length_of(text) * max(1, between))


def _check_sum(values: Any, *more: Any) -> None:
    if any(isinstance(value, list | tuple) for value in more):
        raise SecurityError("sum adds numbers; join texts with join, and lists with +")


def _check_indent(_: Any, *numbers: Any) -> None:
    check_numbers(numbers, MOST_INDENT)


_CHECKS: Mapping[str, Callable[..., None]] = {
    "replace": _check_replace,
    "join": _check_join,
    "format": lambda form, *values: _check_format(form, list(values)),
    "indent": _check_lines,
    "wordwrap": _check_wrap,
    "sum": _check_sum,
    "tojson": _check_indent,
}


def _refuse_random(*_: Any, **__: Any) -> None:
    raise SecurityError(f"random: {NOT_REPEATABLE}")


def bounded(name: str, function: Any) -> Any:
    """Return a filter or a test that is checked before it runs, and that returns lists rather than generators."""
    if name == "random":
        return _refuse_random
    check, has_context = _CHECKS.get(name), hasattr(function, "jinja_pass_arg")

    def filtered(*args: Any, **kwargs: Any) -> Any:
        own = args[1:] if has_context else args
        values = [*own, *kwargs.values()]
        texts = sum(len(value) for value in values[1:] if isinstance(value, str))
        spend(1 + items_of(values[0] if values else "") * (1 + texts // CHARACTERS))
        read(*values)
        if name in _SLOW:
            spend(sum(map(length_of, values)) // SLOW_CHARACTERS)
        if name in _PADS:
            check_numbers(values[1:])
        if check is not None:
            check(*values)
        result = function(*args, **kwargs)
        if isinstance(result, GeneratorType):
            result = list(_passes(result))
        return result

    filtered.__dict__.update(getattr(function, "__dict__", {}))  # such as whether Jinja passes the context
    return filtered


def check_method(owner: Any, name: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> None:
    """Check a call of a method of a value, and count it."""
    values = [*args, *kwargs.values()]
    read(owner, *values)
    spend(items_of(owner) // ITEMS)
    if not isinstance(owner, str):
        return
    check_numbers(values)
    if name == "replace":
        _check_replace(owner, *values)
    elif name == "join":
        _check_join(values[0] if values else "", owner)
    elif name == "format":
        _check_format(owner, values)

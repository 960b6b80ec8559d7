"""Checked access to the fields of a parsed JSON object: a wrong type is named, with the path that leads to it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from cortexdsl.terms import Floats

T = TypeVar("T")


class FieldError(ValueError):
    """A field is missing or has the wrong type; the message names it."""


class Fields:
    """A JSON object under a name, whose fields are taken by type.

    Parameters
    ----------
    value : object
        What JSON gave.
    where : str
        How messages call it: `turns[3]`; empty for the whole line.
    """

    def __init__(self, value: object, where: str = "") -> None:
        if not isinstance(value, dict):
            raise FieldError(f"{where or 'the line'} is {_kind(value)}, not an object")
        self._value: dict[str, Any] = value
        self._where = where

    def __contains__(self, key: str) -> bool:
        return key in self._value

    def name(self, key: str) -> str:
        """Return the path of a field."""
        return f"{self._where}.{key}" if self._where else key

    def raw(self, key: str) -> Any:
        """Return a field as it is; it must be there."""
        if key not in self._value:
            raise FieldError(f"{self.name(key)} is missing")
        return self._value[key]

    def text(self, key: str) -> str:
        """Return a string."""
        return _typed(self.raw(key), str, "a string", self.name(key))

    def text_or_none(self, key: str) -> str | None:
        """Return a string or null."""
        return None if self.raw(key) is None else self.text(key)

    def whole(self, key: str) -> int:
        """Return an integer; a bool is none."""
        return _typed(self.raw(key), int, "an integer", self.name(key))

    def whole_or_none(self, key: str) -> int | None:
        """Return an integer or null."""
        return None if self.raw(key) is None else self.whole(key)

    def number_or_none(self, key: str) -> float | None:
        """Return a number, as a float, or null."""
        return None if self.raw(key) is None else _number(self.raw(key), self.name(key))

    def truth(self, key: str) -> bool:
        """Return a bool."""
        value = self.raw(key)
        if not isinstance(value, bool):
            raise FieldError(f"{self.name(key)} is {_kind(value)}, not true or false")
        return value

    def word(self, key: str, allowed: Sequence[str]) -> str:
        """Return one of some words."""
        value = self.text(key)
        if value not in allowed:
            raise FieldError(f"{self.name(key)} is {value!r}, not one of {', '.join(allowed)}")
        return value

    def sequence(self, key: str, read: Callable[[Any, str], T]) -> tuple[T, ...]:
        """Return a list, each item read by a function of (value, its path)."""
        items = _typed(self.raw(key), list, "a list", self.name(key))
        return tuple(read(item, f"{self.name(key)}[{k}]") for k, item in enumerate(items))

    def mapping(self, key: str, read: Callable[[Any, str], T]) -> dict[str, T]:
        """Return an object, each value read by a function of (value, its path)."""
        items = _typed(self.raw(key), dict, "an object", self.name(key))
        return {name: read(item, f"{self.name(key)}.{name}") for name, item in items.items()}


def text_item(value: Any, where: str) -> str:
    """Read a string of a list."""
    return _typed(value, str, "a string", where)


def whole_item(value: Any, where: str) -> int:
    """Read an integer of a list."""
    return _typed(value, int, "an integer", where)


def number_item(value: Any, where: str) -> float:
    """Read a number of a list or object."""
    return _number(value, where)


def array_item(value: Any, where: str) -> Floats:
    """Read a list, or a list of equally long lists, of numbers; null is NaN."""
    items = _typed(value, list, "a list", where)
    rows = [item if isinstance(item, list) else [item] for item in items]
    nested = [isinstance(item, list) for item in items]
    if any(nested) != all(nested) or len({len(row) for row in rows}) > 1:
        raise FieldError(f"{where} is not a rectangle of numbers")
    numbers = [[np.nan if x is None else _number(x, f"{where}[{k}]") for x in row] for k, row in enumerate(rows)]
    array = np.array(numbers, dtype=np.float64)
    return array if any(nested) else array.reshape(len(items))


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(f"{where} is {_kind(value)}, not a number")
    if not abs(value) <= sys.float_info.max:
        raise FieldError(f"{where} is beyond every float")
    return float(value)


def _typed(value: Any, kind: type[T], words: str, where: str) -> T:
    if isinstance(value, bool) or not isinstance(value, kind):
        raise FieldError(f"{where} is {_kind(value)}, not {words}")
    return value


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a bool", int: "an integer", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)

"""Frozen dataclasses as JSON values, and back, by the annotations of their fields.

A dataclass is a JSON object with its fields as keys, in their order. A field with a default is left out if it has that
value, unless the codec names it. Numbers that are not finite are null where null is allowed. Readers check all values:
an error names the path of the field. If a field allows several classes, the object names its class under `is`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import partial
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Convert: TypeAlias = Callable[[Any], Any]
Form: TypeAlias = tuple[Convert, Convert]
"""How values of a type are written, and how they are read."""
EMPTY: Mapping[Any, Any] = MappingProxyType({})
CLASS = "is"
"""The key of an object that names its class, if its place allows several."""
_LARGEST = sys.float_info.max
_KINDS = {
    NoneType: "null", dict: "an object", list: "a list", str: "a string", bool: "a bool", int: "an integer",
    float: "a number",
}  # fmt: skip


def parse_json(content: str | bytes) -> Any:
    """Return the value of a JSON text from anywhere; None if it is not JSON, or nests too deeply to be read."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def json_at(value: Any, *path: str) -> Any:
    """Return what lies at a path of keys in a JSON value from anywhere; None if there is nothing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


class FieldError(ValueError):
    """A field is missing or wrong; the message begins with its path.

    Parameters
    ----------
    text : str
        What is wrong, `is missing`.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text, self.path = text, ""

    def inside(self, key: str | int) -> FieldError:
        """Return the error with the key of the object, or the place in the list, that the value belongs to."""
        self.path = (f"[{key}]" if isinstance(key, int) else f".{key}") + self.path
        return self

    def __str__(self) -> str:
        return f"{self.path.removeprefix('.')} {self.text}" if self.path else self.text


def refuse(value: object, expected: str) -> NoReturn:
    """Raise the error that a value is of the wrong type."""
    raise FieldError(f"is {_KINDS.get(type(value), type(value).__name__)}, not {expected}")


def read_at(key: str | int, read: Callable[[Any], T], value: Any) -> T:
    """Read the value of a key; the path of an error contains the key."""
    try:
        return read(value)
    except FieldError as error:
        raise error.inside(key) from None


def text(value: Any) -> str:
    """Read a string."""
    return value if isinstance(value, str) else refuse(value, "a string")


def integer(value: Any) -> int:
    """Read an integer; a bool is not an integer."""
    return value if type(value) is int else refuse(value, "an integer")


def boolean(value: Any) -> bool:
    """Read true or false."""
    return value if isinstance(value, bool) else refuse(value, "true or false")


def number(value: Any) -> float:
    """Read a number as a float; a bool is not a number."""
    if type(value) not in (float, int):
        refuse(value, "a number")
    if not -_LARGEST <= value <= _LARGEST:
        raise FieldError("is beyond every float")
    return float(value)


def sequence(read: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    """Return a function that reads a list."""

    def convert(value: Any) -> tuple[T, ...]:
        if not isinstance(value, list):
            refuse(value, "a list")
        done: list[T] = []
        try:
            for item in value:
                done.append(read(item))
        except FieldError as error:
            raise error.inside(len(done)) from None
        return tuple(done)

    return convert


def mapping(read: Callable[[Any], T]) -> Callable[[Any], dict[str, T]]:
    """Return a function that reads an object whose keys are not known."""

    def convert(value: Any) -> dict[str, T]:
        if not isinstance(value, dict):
            refuse(value, "an object")
        return {key: read_at(key, read, item) for key, item in value.items()}

    return convert


class Codec:
    """Converts dataclasses to JSON values and back.

    Parameters
    ----------
    forms : mapping of type or `Class.field` to Form
        Types and fields that have a form of their own.
    keys : mapping of `Class.field` to str
        Keys that differ from the names of their fields.
    always : collection of `Class.field`
        Fields that are written even if they have their default.
    checks : mapping of type to callable
        Functions that raise a `FieldError` if a value that was read contradicts itself.
    """

    def __init__(
        self,
        forms: Mapping[Any, Form] = EMPTY,
        keys: Mapping[str, str] = EMPTY,
        always: Collection[str] = (),
        checks: Mapping[type, Callable[[Any], None]] = EMPTY,
    ) -> None:
        self._forms, self._keys, self._always, self._checks = forms, keys, frozenset(always), checks
        self._writers: dict[type, Convert] = {}
        self._readers: dict[type, Convert] = {}

    def write(self, value: Any) -> dict[str, Any]:
        """Return a dataclass as a JSON object."""
        kind = type(value)
        if kind not in self._writers:
            self._writers[kind] = self._forms[kind][0] if kind in self._forms else self._object_writer(kind)
        made: dict[str, Any] = self._writers[kind](value)
        return made

    def read(self, kind: type[T], value: Any) -> T:
        """Read a dataclass.

        Raises
        ------
        FieldError
            A field is missing, or has the wrong type.
        """
        if kind not in self._readers:
            self._readers[kind] = self._forms[kind][1] if kind in self._forms else self._object_reader(kind)
        made: T = self._readers[kind](value)
        return made

    def _plan(self, kind: Any) -> Iterator[tuple[str, str, str, Any, Any]]:
        """Yield `Class.field`, the key, the name, the type, and the default of each field."""
        hints = get_type_hints(kind)
        for each in fields(kind):
            place = f"{kind.__name__}.{each.name}"
            default = each.default if each.default_factory is MISSING else each.default_factory()
            yield place, self._keys.get(place, each.name), each.name, hints[each.name], default

    def _object_writer(self, kind: Any) -> Convert:
        plan = [
            (key, name, self._forms[place][0] if place in self._forms else self._writer(hint),
             MISSING if place in self._always else default)
            for place, key, name, hint, default in self._plan(kind)
        ]  # fmt: skip

        def convert(value: Any) -> dict[str, Any]:
            made = {}
            for key, name, write, default in plan:
                item = getattr(value, name)
                if default is MISSING or item != default:
                    made[key] = item if write is None else write(item)
            return made

        return convert

    def _object_reader(self, kind: Any) -> Convert:
        plan = [
            (key, name, self._forms[place][1] if place in self._forms else self._reader(hint), default is MISSING)
            for place, key, name, hint, default in self._plan(kind)
        ]
        check = self._checks.get(kind)

        def convert(value: Any) -> Any:
            if not isinstance(value, dict):
                refuse(value, "an object")
            made, key = {}, ""
            try:
                for key, name, read, is_required in plan:
                    if key in value:
                        made[name] = read(value[key])
                    elif is_required:
                        raise FieldError("is missing")
            except FieldError as error:
                raise error.inside(key) from None
            value = kind(**made)
            if check is not None:
                check(value)
            return value

        return convert

    def _writer(self, hint: Any) -> Convert | None:
        """Return the function that writes values of a type; None if they are JSON values."""
        origin, parts = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType) and NoneType in parts:
            if float in parts and float not in self._forms:
                return _finite
            write = self._writer(_not_none(hint))
            return write and partial(_write_known, write)
        if origin in (Union, UnionType):
            return partial(_write_member, self.write) if any(map(_is_class, parts)) else None
        if origin is tuple:
            write = self._writer(parts[0])
            return list if write is None else partial(_write_items, write)
        if origin is Mapping:
            write = self._writer(parts[1])
            return dict if write is None else partial(_write_values, write)
        if hint in self._forms and not _is_class(hint):
            return self._forms[hint][0]
        if hint is float:
            return float
        return self.write if _is_class(hint) else None

    def _reader(self, hint: Any) -> Convert:
        origin, parts = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType) and NoneType in parts:
            of_value = self._reader(_not_none(hint))
            return lambda value: None if value is None else of_value(value)
        if words := _words(hint):
            return _word_reader(words)
        if origin in (Union, UnionType):
            return self._member_reader(parts)
        if origin is tuple:
            return sequence(self._reader(parts[0]))
        if origin is Mapping:
            return mapping(self._reader(parts[1]))
        if _is_class(hint) or hint in self._forms:
            return lambda value: self.read(hint, value)
        plain: Mapping[Any, Convert] = {str: text, int: integer, float: number, bool: boolean, Any: lambda value: value}
        return plain[hint]

    def _member_reader(self, parts: tuple[Any, ...]) -> Convert:
        """Return a function that reads a value of one of several types."""
        classes = {part.__name__: part for part in parts if _is_class(part)}
        words = tuple(word for part in parts for word in _words(part))
        plain = tuple(part for part in parts if part in (str, int, float, bool))

        def convert(value: Any) -> Any:
            if isinstance(value, dict) and value.get(CLASS) in classes:
                return self.read(classes[value[CLASS]], value)
            if type(value) in plain or (isinstance(value, str) and value in words):
                return value
            refuse(value, " or ".join([*classes, *words, *(part.__name__ for part in plain)]))

        return convert


def _is_class(hint: Any) -> bool:
    return hasattr(hint, "__dataclass_fields__")


def _write_member(write: Convert, value: Any) -> Any:
    return {CLASS: type(value).__name__, **write(value)} if _is_class(value) else value


def _write_known(write: Convert, value: Any) -> Any:
    return None if value is None else write(value)


def _write_items(write: Convert, value: Any) -> list[Any]:
    return [write(item) for item in value]


def _write_values(write: Convert, value: Any) -> dict[str, Any]:
    return {key: write(item) for key, item in value.items()}


def _not_none(hint: Any) -> Any:
    return Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007 - of a tuple


def _words(hint: Any) -> tuple[str, ...]:
    """Return the words that a type allows; empty if it is not a `Literal`, or several of them."""
    if get_origin(hint) in (Union, UnionType):
        parts = [_words(part) for part in get_args(hint)]
        return tuple(dict.fromkeys(word for words in parts for word in words)) if all(parts) else ()
    return get_args(hint) if get_origin(hint) is Literal else ()


def _word_reader(words: tuple[str, ...]) -> Convert:
    def convert(value: Any) -> str:
        if text(value) not in words:
            raise FieldError(f"is {value!r}, not one of {', '.join(words)}")
        return str(value)

    return convert


def _finite(value: float | None) -> float | None:
    """Return a number, or None if it is not finite, as a confidence of 1e999 that a reply states."""
    return None if value is None or not -_LARGEST <= value <= _LARGEST else float(value)

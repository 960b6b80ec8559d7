"""Checked access to parsed JSON: fields by type, and matrices. An error names the path of the field.

Matrices are lists that people can read. Above a size they are packed, exact to the last bit and a fifth as long. A
packed matrix is an object with its `shape` and one of

- `float64`: its numbers in rows, 8 bytes each, little-endian, in base64; NaN if a value is not a number;
- `upper`: the same of a symmetric matrix, of each row only the part from the diagonal to the right;
- `bits`: true and false in rows, eight to a byte, the first the highest, in base64;
- `complement`: the name of another factor; the matrix is 1 - that.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from cortexdsl.core import Bools, Floats
from cortexdsl.errors import RecordError

T = TypeVar("T")
_LARGEST = sys.float_info.max


class FieldError(ValueError):
    """A field is missing or has the wrong type; the message names it."""


class Fields:
    """A JSON object whose fields are read by type.

    Parameters
    ----------
    value : object
        The parsed JSON.
    where : str
        Its path in messages, `turns[3]`; empty for the whole line.
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
        """Return a field as it is; it must exist."""
        try:
            return self._value[key]
        except KeyError:
            raise FieldError(f"{self.name(key)} is missing") from None

    def text(self, key: str) -> str:
        """Return a string."""
        value = self.raw(key)
        return value if isinstance(value, str) else _refuse(value, "a string", self.name(key))

    def text_or_none(self, key: str) -> str | None:
        """Return a string or null."""
        return None if self.raw(key) is None else self.text(key)

    def integer(self, key: str) -> int:
        """Return an integer; a bool is not an integer."""
        value = self.raw(key)
        return value if type(value) is int else _refuse(value, "an integer", self.name(key))

    def integer_or_none(self, key: str) -> int | None:
        """Return an integer or null."""
        return None if self.raw(key) is None else self.integer(key)

    def number_or_none(self, key: str) -> float | None:
        """Return a number, as a float, or null."""
        value = self.raw(key)
        if value is None:
            return None
        number = _finite(value)
        return number_item(value, self.name(key)) if number is None else number

    def boolean(self, key: str) -> bool:
        """Return a bool."""
        value = self.raw(key)
        return value if isinstance(value, bool) else _refuse(value, "true or false", self.name(key))

    def word(self, key: str, allowed: Sequence[str]) -> str:
        """Return one of some words."""
        value = self.text(key)
        if value not in allowed:
            raise FieldError(f"{self.name(key)} is {value!r}, not one of {', '.join(allowed)}")
        return value

    def sequence(self, key: str, read: Callable[[Any, str], T]) -> tuple[T, ...]:
        """Return a list, each item read by a function of (value, its path)."""
        items = self.raw(key)
        if not isinstance(items, list):
            _refuse(items, "a list", self.name(key))
        if not items:
            return ()
        where = self.name(key)
        return tuple(read(item, f"{where}[{k}]") for k, item in enumerate(items))

    def mapping(self, key: str, read: Callable[[Any, str], T]) -> dict[str, T]:
        """Return an object, each value read by a function of (value, its path)."""
        items = self.raw(key)
        if not isinstance(items, dict):
            _refuse(items, "an object", self.name(key))
        where = self.name(key)
        return {name: read(item, f"{where}.{name}") for name, item in items.items()}


def text_item(value: Any, where: str) -> str:
    """Read a string of a list."""
    return value if isinstance(value, str) else _refuse(value, "a string", where)


def integer_item(value: Any, where: str) -> int:
    """Read an integer of a list."""
    return value if type(value) is int else _refuse(value, "an integer", where)


def number_item(value: Any, where: str) -> float:
    """Read a number of a list or object."""
    number = _finite(value)
    if number is not None:
        return number
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(value, "a number", where)
    raise FieldError(f"{where} is beyond every float")


def array_item(value: Any, where: str) -> Floats:
    """Read a list, or a list of equally long lists, of numbers; null is NaN."""
    if not isinstance(value, list):
        _refuse(value, "a list", where)
    rows = [item if isinstance(item, list) else [item] for item in value]
    nested = [isinstance(item, list) for item in value]
    if any(nested) != all(nested) or len({len(row) for row in rows}) > 1:
        raise FieldError(f"{where} is not a rectangle of numbers")
    numbers = [[np.nan if x is None else number_item(x, f"{where}[{k}]") for x in row] for k, row in enumerate(rows)]
    array = np.array(numbers, dtype=np.float64)
    return array if any(nested) else array.reshape(len(value))


def _finite(value: Any) -> float | None:
    """Return a number as a float; None if it is not a number, or too large for a float."""
    if type(value) is float:
        return value if -_LARGEST <= value <= _LARGEST else None
    return float(value) if type(value) is int and -_LARGEST <= value <= _LARGEST else None


def _refuse(value: Any, expected: str, where: str) -> NoReturn:
    raise FieldError(f"{where} is {_kind(value)}, not {expected}")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a bool", int: "an integer", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


LARGEST_LIST = 1024  # entries, those of 32 agents


def numbers_to_json(values: Floats, where: str) -> Any:
    """Return an array of any shape as JSON; NaN is null in a list.

    Raises
    ------
    RecordError
        A number is infinite: JSON has no such number.
    """
    array = np.asarray(values, dtype=np.float64)
    if np.isinf(array).any():
        raise RecordError(f"{where} is infinite and cannot be recorded; look for a division by zero in the weight")
    unknown = np.isnan(array)
    if array.size <= LARGEST_LIST:
        listed = array.astype(object)
        listed[unknown] = None
        return listed.tolist()
    array = np.where(unknown, np.nan, array)  # there are many NaN: with one of them equal records are equal bytes
    if array.ndim == 2 and np.array_equal(array, array.T, equal_nan=True):
        return {"shape": list(array.shape), "upper": _packed(array[np.triu_indices(len(array))])}
    return {"shape": list(array.shape), "float64": _packed(array)}


def flags_to_json(values: Bools) -> Any:
    """Return a bool matrix as JSON."""
    array = np.asarray(values, dtype=bool)
    if array.size <= LARGEST_LIST:
        return array.tolist()
    return {"shape": list(array.shape), "bits": base64.b64encode(np.packbits(array).tobytes()).decode()}


def factors_to_json(factors: Mapping[str, Floats], where: str) -> dict[str, Any]:
    """Return arrays by name; a large array that is 1 minus another one is written as its complement."""
    values: dict[str, Any] = {}
    for name in sorted(factors):
        array = np.asarray(factors[name])
        large = {other: factors[other] for other in factors if other > name and array.size > LARGEST_LIST}
        of = next((other for other, base in large.items() if np.array_equal(array, 1.0 - base, equal_nan=True)), None)
        shape = list(array.shape)
        values[name] = {"shape": shape, "complement": of} if of else numbers_to_json(array, f"{where}: {name}")
    return values


def numbers_from_json(value: Any, where: str) -> Floats:
    """Read an array of numbers."""
    if not isinstance(value, dict):
        return array_item(value, where)
    fields = Fields(value, where)
    shape = _shape(fields)
    if "upper" in fields:
        if len(shape) != 2 or shape[0] != shape[1]:
            raise FieldError(f"{where} is not square, so that its upper half does not make a matrix")
        half = _unpacked(fields, "upper", shape[0] * (shape[0] + 1) // 2)
        array = np.empty(shape)
        rows, columns = np.triu_indices(shape[0])
        array[rows, columns] = array[columns, rows] = half
        return array
    return _unpacked(fields, "float64", int(np.prod(shape))).reshape(shape)


def flags_from_json(value: Any, where: str) -> Bools:
    """Read a bool matrix; empty if its rows differ in length."""
    if isinstance(value, dict):
        fields = Fields(value, where)
        shape = _shape(fields)
        count = int(np.prod(shape))
        bits = np.frombuffer(_bytes(fields, "bits", -(-count // 8)), dtype=np.uint8)
        return np.unpackbits(bits, count=count).astype(bool).reshape(shape)
    if not isinstance(value, list):
        raise FieldError(f"{where} is not a list")
    for number, row in enumerate(value):
        if not isinstance(row, list) or not all(isinstance(item, bool) for item in row):
            raise FieldError(f"{where}[{number}] is not a list of true and false")
    widths = {len(row) for row in value}
    return np.array(value, dtype=bool).reshape(len(value), -1) if len(widths) == 1 else np.zeros((0, 0), dtype=bool)


def factors_from_json(fields: Fields) -> dict[str, Floats]:
    """Read the factors of a graph."""
    arrays: dict[str, Floats] = {}
    waiting: dict[str, str] = {}

    def read(value: Any, where: str) -> Floats:
        name = where.rpartition("factors.")[2]
        if isinstance(value, dict) and "complement" in value:
            waiting[name] = text_item(value["complement"], f"{where}.complement")
            return np.zeros(0)
        return numbers_from_json(value, where)

    arrays = fields.mapping("factors", read)
    for name, of in waiting.items():
        if of not in arrays or of in waiting:
            raise FieldError(f"{fields.name('factors')}.{name} is the complement of {of!r}, which is not there")
        arrays[name] = 1.0 - arrays[of]
    return arrays


def _packed(array: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode()


def _unpacked(fields: Fields, key: str, count: int) -> Floats:
    array: NDArray[np.float64] = np.frombuffer(_bytes(fields, key, 8 * count), dtype="<f8").astype(np.float64)
    if np.isinf(array).any():
        raise FieldError(f"{fields.name(key)} holds a number beyond every float")
    return array


def _bytes(fields: Fields, key: str, length: int) -> bytes:
    text = fields.text(key)
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError as error:  # binascii.Error is one
        raise FieldError(f"{fields.name(key)} is not base64") from error
    if len(content) != length:
        raise FieldError(f"{fields.name(key)} holds {len(content)} bytes, and its shape needs {length}")
    return content


def _shape(fields: Fields) -> tuple[int, ...]:
    shape = fields.sequence("shape", integer_item)
    if not 1 <= len(shape) <= 2 or min(shape) < 0:
        raise FieldError(f"{fields.name('shape')} is not a number of rows and columns")
    return shape

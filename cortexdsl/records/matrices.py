"""Matrices of debate records as JSON values, and back.

Matrices are lists that people can read. Above a size they are packed, exact to the last bit and a fifth as long. A
packed matrix is an object with its `shape` and one of

- `float64`: its numbers in rows, 8 bytes each, little-endian, in base64; NaN if a value is not a number;
- `upper`: the same of a symmetric matrix, of each row only the part from the diagonal to the right;
- `bits`: true and false in rows, eight to a byte, the first the highest, in base64;
- `complement`: the name of another factor; the matrix is 1 - that.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cortexdsl.core import Bools, Floats
from cortexdsl.errors import RecordError
from cortexdsl.expressions.spellings import as_recorded, from_record
from cortexdsl.typed_json import Codec, FieldError, mapping, number, read_at, refuse, sequence, text

LARGEST_LIST = 1024  # entries, those of 32 agents


@dataclass(frozen=True, slots=True)
class PackedMatrix:
    """A packed matrix; it has one field besides its shape."""

    shape: tuple[int, ...]
    upper: str | None = None
    float64: str | None = None
    bits: str | None = None


_CODEC = Codec()


def numbers_to_json(values: Floats, name: str) -> Any:
    """Return an array of any shape as JSON; NaN is null in a list.

    Raises
    ------
    RecordError
        A number is infinite: JSON has no such number.
    """
    array = np.asarray(values, dtype=np.float64)
    if np.isinf(array).any():
        raise RecordError(f"{name} is infinite and cannot be recorded; look for a division by zero in the weight")
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


def factors_to_json(factors: Mapping[str, Floats]) -> dict[str, Any]:
    """Return arrays by name; a large array that is 1 minus another one is written as its complement."""
    factors = {as_recorded(name): array for name, array in factors.items()}
    values: dict[str, Any] = {}
    for name in sorted(factors):
        array = np.asarray(factors[name])
        large = {other: factors[other] for other in factors if other > name and array.size > LARGEST_LIST}
        of = next((other for other, base in large.items() if np.array_equal(array, 1.0 - base, equal_nan=True)), None)
        shape = list(array.shape)
        values[name] = {"shape": shape, "complement": of} if of else numbers_to_json(array, name)
    return values


def numbers_from_json(value: Any) -> Floats:
    """Read an array of numbers."""
    if not isinstance(value, dict):
        return _listed_numbers(value)
    packed = _read_packed(value)
    if packed.upper is None:
        return _unpacked("float64", packed.float64, int(np.prod(packed.shape))).reshape(packed.shape)
    count = packed.shape[0]
    if packed.shape != (count, count):
        raise FieldError("is not square, so that its upper half does not make a matrix")
    array = np.empty(packed.shape)
    rows, columns = np.triu_indices(count)
    array[rows, columns] = array[columns, rows] = _unpacked("upper", packed.upper, count * (count + 1) // 2)
    return array


def flags_from_json(value: Any) -> Bools:
    """Read a bool matrix; empty if its rows differ in length."""
    if isinstance(value, dict):
        packed = _read_packed(value)
        count = int(np.prod(packed.shape))
        bits = np.frombuffer(_bytes("bits", packed.bits, -(-count // 8)), dtype=np.uint8)
        return np.unpackbits(bits, count=count).astype(bool).reshape(packed.shape)
    if not isinstance(value, list):
        raise FieldError("is not a list")
    for place, row in enumerate(value):
        if not isinstance(row, list) or not all(isinstance(item, bool) for item in row):
            raise FieldError("is not a list of true and false").inside(place)
    widths = {len(row) for row in value}
    return np.array(value, dtype=bool).reshape(len(value), -1) if len(widths) == 1 else np.zeros((0, 0), dtype=bool)


def factors_from_json(value: Any) -> dict[str, Floats]:
    """Read the factors of a graph."""
    listed = mapping(_factor_from_json)(value)
    for name, of in listed.items():
        if isinstance(of, str) and isinstance(listed.get(of, ""), str):
            raise FieldError(f"is the complement of {of!r}, which is not there").inside(name)
    return {from_record(name): 1.0 - listed[of] if isinstance(of, str) else of for name, of in listed.items()}


def _factor_from_json(value: Any) -> Any:
    """Read a factor, or the name of the one that it is the complement of."""
    if isinstance(value, dict) and "complement" in value:
        return read_at("complement", text, value["complement"])
    return numbers_from_json(value)


def _listed_numbers(value: Any) -> Floats:
    """Read a list, or a list of equally long lists, of numbers; null is NaN."""
    if not isinstance(value, list):
        refuse(value, "a list")
    rows = [item if isinstance(item, list) else [item] for item in value]
    nested = [isinstance(item, list) for item in value]
    if any(nested) != all(nested) or len({len(row) for row in rows}) > 1:
        raise FieldError("is not a rectangle of numbers")
    array = np.array(_READ_ROWS(rows), dtype=np.float64)
    return array if any(nested) else array.reshape(len(value))


_READ_ROWS = sequence(lambda row: [np.nan if item is None else number(item) for item in row])


def _packed(array: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode()


def _read_packed(value: Any) -> PackedMatrix:
    packed = _CODEC.read(PackedMatrix, value)
    if not 1 <= len(packed.shape) <= 2 or min(packed.shape) < 0:
        raise FieldError("is not a number of rows and columns").inside("shape")
    return packed


def _unpacked(key: str, content: str | None, count: int) -> Floats:
    array: NDArray[np.float64] = np.frombuffer(_bytes(key, content, 8 * count), dtype="<f8").astype(np.float64)
    if np.isinf(array).any():
        raise FieldError("holds a number beyond every float").inside(key)
    return array


def _bytes(key: str, content: str | None, length: int) -> bytes:
    if content is None:
        raise FieldError("is missing").inside(key)
    try:
        packed = base64.b64decode(content, validate=True)
    except ValueError as error:  # binascii.Error is one
        raise FieldError("is not base64").inside(key) from error
    if len(packed) != length:
        raise FieldError(f"holds {len(packed)} bytes, and its shape needs {length}").inside(key)
    return packed

"""Matrices in records: lists that anyone reads; above a size packed, exact to the last bit and a fifth as long.

A packed matrix is an object with its `shape` and one of

- `float64`: its numbers in rows, 8 bytes each, little-endian, in base64; what is not a number is NaN;
- `upper`: the same of a symmetric matrix, from the diagonal to the right of each row alone;
- `bits`: true and false in rows, eight to a byte, the first the highest, in base64;
- `complement`: the name of another factor, and the matrix is 1 - that.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cortexdsl.errors import RecordError
from cortexdsl.records.fields import FieldError, Fields, array_item, text_item, whole_item
from cortexdsl.terms import Bools, Floats

LARGEST_LIST = 1024  # entries; 32 agents: a table that a person may want to look at


def numbers_to_json(values: Floats, where: str) -> Any:
    """Return an array of any shape as JSON; NaN is null in a list.

    Raises
    ------
    RecordError
        A number is infinite: JSON has no such number, and no weight should be one.
    """
    array = np.asarray(values, dtype=np.float64)
    if np.isinf(array).any():
        raise RecordError(f"{where} is infinite and cannot be recorded; look for a division by zero in the weight")
    unknown = np.isnan(array)
    if array.size <= LARGEST_LIST:
        listed = array.astype(object)
        listed[unknown] = None
        return listed.tolist()
    array = np.where(
        unknown, np.nan, array
    )  # one NaN of the many that there are, so that equal records are equal bytes
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
    """Return arrays by name; a large one that is 1 less another is written as that."""
    found: dict[str, Any] = {}
    for name in sorted(factors):
        array = np.asarray(factors[name])
        large = {other: factors[other] for other in factors if other > name and array.size > LARGEST_LIST}
        of = next((other for other, base in large.items() if np.array_equal(array, 1.0 - base, equal_nan=True)), None)
        shape = list(array.shape)
        found[name] = {"shape": shape, "complement": of} if of else numbers_to_json(array, f"{where}: {name}")
    return found


def numbers_from_json(value: Any, where: str) -> Floats:
    """Read an array of numbers."""
    if not isinstance(value, dict):
        return array_item(value, where)
    fields = Fields(value, where)
    shape = _shape(fields)
    if "upper" in fields:
        if len(shape) != 2 or shape[0] != shape[1]:
            raise FieldError(f"{where} is no square, and its upper half is no matrix")
        half = _unpacked(fields, "upper", shape[0] * (shape[0] + 1) // 2)
        array = np.empty(shape)
        rows, columns = np.triu_indices(shape[0])
        array[rows, columns] = array[columns, rows] = half
        return array
    return _unpacked(fields, "float64", int(np.prod(shape))).reshape(shape)


def flags_from_json(value: Any, where: str) -> Bools:
    """Read a bool matrix; one whose rows differ in length has the shape of none."""
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
    found: dict[str, Floats] = {}
    waiting: dict[str, str] = {}

    def read(value: Any, where: str) -> Floats:
        name = where.rpartition("factors.")[2]
        if isinstance(value, dict) and "complement" in value:
            waiting[name] = text_item(value["complement"], f"{where}.complement")
            return np.zeros(0)
        return numbers_from_json(value, where)

    found = fields.mapping("factors", read)
    for name, of in waiting.items():
        if of not in found or of in waiting:
            raise FieldError(f"{fields.name('factors')}.{name} is the complement of {of!r}, which is not there")
        found[name] = 1.0 - found[of]
    return found


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
        found = base64.b64decode(text, validate=True)
    except ValueError as error:  # binascii.Error is one
        raise FieldError(f"{fields.name(key)} is no base64") from error
    if len(found) != length:
        raise FieldError(f"{fields.name(key)} holds {len(found)} bytes, and its shape needs {length}")
    return found


def _shape(fields: Fields) -> tuple[int, ...]:
    shape = fields.sequence("shape", whole_item)
    if not 1 <= len(shape) <= 2 or min(shape) < 0:
        raise FieldError(f"{fields.name('shape')} is no number of rows and columns")
    return shape

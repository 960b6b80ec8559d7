"""Packed matrices: what is written is read back to the last bit, small ones stay lists, and damage is named."""

from __future__ import annotations

import base64
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.errors import RecordError
from cortexdsl.records.matrices import (
    factors_from_json,
    factors_to_json,
    flags_from_json,
    flags_to_json,
    numbers_from_json,
    numbers_to_json,
)
from cortexdsl.typed_json import FieldError, read_at


@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32 - 1), st.booleans())
def test_numbers_and_flags_come_back_to_the_last_bit(rows: int, columns: int, seed: int, symmetric: bool) -> None:
    draw = np.random.default_rng(seed)
    array = draw.normal(size=(rows, columns)) * 10.0 ** draw.integers(-300, 300)
    array[draw.random(array.shape) < 0.1] = np.nan
    if symmetric and rows == columns:
        array = np.triu(array) + np.triu(array, 1).T
    flags = draw.random(array.shape) < 0.3
    np.testing.assert_array_equal(numbers_from_json(numbers_to_json(array, "weight")), array)
    np.testing.assert_array_equal(flags_from_json(flags_to_json(flags)), flags)


def test_32_agents_are_a_list_and_33_are_packed() -> None:
    """1,024 entries are the largest list. One double is the eight bytes of IEEE 754, the lowest first."""
    assert isinstance(numbers_to_json(np.ones((32, 32)), "weight"), list)
    assert isinstance(flags_to_json(np.ones((32, 32), dtype=bool)), list)
    array = np.zeros((33, 33))
    array[0, 1] = 0.1
    packed = numbers_to_json(array, "weight")
    assert packed["shape"] == [33, 33]
    assert base64.b64decode(packed["float64"])[8:16] == struct.pack("<d", 0.1)


def test_a_symmetric_matrix_is_its_upper_half_and_the_complement_of_another_its_name() -> None:
    similarity = np.full((40, 40), 0.3)
    written = factors_to_json({"intimacy": 1.0 - similarity, "similarity": similarity, "alone": np.ones(40)})
    assert written["intimacy"] == {"shape": [40, 40], "complement": "similarity"}
    assert len(base64.b64decode(written["similarity"]["upper"])) == 8 * 40 * 41 / 2
    read = factors_from_json(written)
    np.testing.assert_array_equal(read["intimacy"], 1.0 - similarity)
    np.testing.assert_array_equal(read["similarity"], similarity)
    assert read["alone"].shape == (40,)


def test_every_nan_is_the_same_bytes() -> None:
    """0/0 has a sign on some machines and none on others: records of equal debates are equal bytes."""
    one, other = np.zeros((40, 40)), np.zeros((40, 40))
    one[0, 1], other[0, 1] = np.nan, -np.nan
    assert numbers_to_json(one, "weight") == numbers_to_json(other, "weight")


def test_an_infinite_weight_is_refused_whatever_its_size() -> None:
    with pytest.raises(RecordError, match="weight is infinite"):
        numbers_to_json(np.full((40, 40), np.inf), "weight")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"shape": [2, 2], "float64": "AAAA"}, "weight.float64 holds 3 bytes, and its shape needs 32"),
        ({"shape": [2, 2], "float64": "?"}, "weight.float64 is not base64"),
        ({"shape": [2, 2]}, "weight.float64 is missing"),
        ({"float64": ""}, "weight.shape is missing"),
        ({"shape": [2, -2], "float64": ""}, "weight.shape is not a number of rows"),
        ({"shape": [1, 1, 1], "float64": ""}, "weight.shape is not a number of rows"),
        ({"shape": [], "float64": ""}, "weight.shape is not a number of rows"),
        ({"shape": [2, 3], "upper": ""}, "weight is not square"),
        ({"shape": [10**9, 10**9], "float64": "AAAA"}, "its shape needs"),
        (
            {"shape": [1, 1], "float64": base64.b64encode(struct.pack("<d", float("inf"))).decode()},
            "beyond every float",
        ),
    ],
)
def test_a_damaged_matrix_is_one_clear_error(value: Any, said: str) -> None:
    with pytest.raises(FieldError, match=said.replace("(", r"\(")):
        read_at("weight", numbers_from_json, value)


def test_the_complement_of_nothing_is_refused() -> None:
    factors = {"intimacy": {"shape": [1, 1], "complement": "similarity"}}
    with pytest.raises(FieldError, match="complement of 'similarity', which is not there"):
        factors_from_json(factors)

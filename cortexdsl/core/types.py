"""Types of scalars and arrays, the empty mapping, and fields that are words: what the other modules here build on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import MISSING, field
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar: TypeAlias = str | int | float | bool | None
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
EMPTY: Mapping[str, Any] = MappingProxyType({})
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def by_key(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the values of each key, both in order of appearance."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def word(default: Any = MISSING, *, key: str | None = None, **bounds: Any) -> Any:
    """Return a field that is a word of the language, too. The text below the field describes it in the manual.

    Parameters
    ----------
    default : value
        Without one the word must be written.
    key : str, optional
        The word, if it is not the name of the field.
    **bounds : values
        Bounds of numbers by the names that pydantic gives them, such as `ge=1`.
    """
    return field(default=default, metadata={"alias": key, "bounds": bounds})

"""Types of scalars and arrays, and the empty mapping: what every other module of this package builds on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Scalar: TypeAlias = str | int | float | bool | None
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
EMPTY: Mapping[str, Any] = MappingProxyType({})

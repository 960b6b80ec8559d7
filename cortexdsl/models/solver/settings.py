"""The parameters of the built-in solver."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from cortexdsl.errors import InputError


@dataclass(frozen=True, slots=True)
class SolverSettings:
    """The parameters of a built-in solver; every value is in [0, 1].

    Attributes
    ----------
    skill : float
        How rarely it makes a mistake: it solves about 0.08 + 0.92 skill of the arithmetic questions at once.
    overconfidence : float
        How far the confidence that it states is moved from what it may expect towards 1.
    stubbornness : float
        How little the answers that it hears weigh against its own attempts.
    malformed : float
        The share of its replies that cannot be read, or are cut, or refuse.
    """

    skill: float = 0.6
    overconfidence: float = 0.5
    stubbornness: float = 0.5
    malformed: float = 0.0


_PARAMETERS = tuple(part.name for part in fields(SolverSettings))


def solver_settings(options: Mapping[str, Any]) -> SolverSettings:
    """Return the settings that the options of a model entry mean.

    Raises
    ------
    InputError
        If an option is unknown (with the nearest spelling), no number, or outside [0, 1].
    """
    for name, value in options.items():
        if name not in _PARAMETERS:
            near = difflib.get_close_matches(name, _PARAMETERS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"builtin/solver has no parameter {name!r}{hint} (it has {', '.join(_PARAMETERS)})")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError(f"builtin/solver: {name} must be a number from 0 to 1, not {value!r}")
    return SolverSettings(**{name: float(value) for name, value in options.items()})

"""Numbers that are near enough: metrics with a tolerance, for grades and for votes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from cortexdsl.core.answers import number_of
from cortexdsl.errors import DataError

WITHIN = "within "
"""Prefix of metrics with a tolerance: `within 0.01`, or `within 5%` of the gold."""
_TOLERANCE = re.compile(rf"{WITHIN}(\d[\d.e-]*)(%?)")


def errors(answer: str | None, golds: Sequence[str]) -> Mapping[str, float | None]:
    """Return the absolute and the relative error of a number, by the nearest gold.

    None without a number; the relative error is also None if the gold is 0.
    """
    value = number_of(answer)
    known = [number for gold in golds if (number := number_of(gold)) is not None]
    if value is None or not known:
        return {"absolute_error": None, "relative_error": None}
    gold = min(known, key=lambda number: abs(value - number))
    distance = abs(value - gold)
    return {"absolute_error": float(distance), "relative_error": float(distance / abs(gold)) if gold else None}


def parts_of(answer: str) -> tuple[Fraction | None, str]:
    """Return the number and the unit of an answer in its canonical spelling."""
    number, _, unit = answer.partition(" ")
    return number_of(number), unit


@lru_cache
def within(metric: str) -> Callable[[str, str], bool]:
    """Return the equality of numbers up to a tolerance; a relative one is a share of the gold, or earlier answer."""
    written = _TOLERANCE.fullmatch(metric)
    if written is None:
        raise DataError(f"no metric {metric!r}\n    write tolerance: 0.01, or tolerance: 5%", word="metric")
    bound, is_relative = Fraction(written[1]), bool(written[2])

    def is_near(answer: str, gold: str) -> bool:
        (one, unit), (other, units) = parts_of(answer), parts_of(gold)
        if one is None or other is None or unit != units:
            return answer == gold
        return abs(one - other) <= bound * (abs(other) / 100 if is_relative else 1)

    return is_near

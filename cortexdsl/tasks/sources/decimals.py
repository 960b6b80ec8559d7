"""Decimal points and decimal commas in the answers of a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.number import canonical_number

Mark: TypeAlias = Literal[".", ","]

_DIGITS = re.compile(r"\d[\d.,]*")
_COMMA = re.compile(r"(\d{1,3}(\.\d{3})+|\d+),\d+|\d{1,3}(\.\d{3})+")  # 3,5 and 1.234,5 and 1.234
_POINT = re.compile(r"(\d{1,3}(,\d{3})+|\d+)\.\d+|\d{1,3}(,\d{3})+")  # 3.5 and 1,234.5 and 1,234
_THOUSANDS = re.compile(r"(?<=\d)\.(?=\d{3}(?!\d))")


def with_point(text: str) -> str:
    """Write a number with a decimal comma with a decimal point: `1.234,5` becomes `1234.5`."""
    return _THOUSANDS.sub("", text).replace(",", ".")


def is_number(text: str) -> bool:
    """Tell whether a text is a number, with a decimal point or a decimal comma."""
    return canonical_number(text) is not None or canonical_number(with_point(text)) is not None


def decimal_mark(answers: Sequence[tuple[str, str]], *, has_semicolons: bool) -> Mark:
    """Return the decimal mark that a column of numbers is written with.

    Parameters
    ----------
    answers : sequence of (place, text)
        Numbers as the file has them.
    has_semicolons : bool
        The file is a CSV table that semicolons divide: programs write it so where the comma is the decimal mark.

    Raises
    ------
    DataError
        Both marks are there, or the numbers of a file with semicolons can be read either way.
    """
    commas, points, either = [], [], []
    for place, text in answers:
        match = _DIGITS.search(text)
        digits = match[0].rstrip(".,") if match else ""
        as_comma, as_point = _COMMA.fullmatch(digits), _POINT.fullmatch(digits)
        if as_comma and as_point:
            either.append((place, text))
        elif as_comma:
            commas.append((place, text))
        elif as_point:
            points.append((place, text))
    if commas and points:
        (one, comma), (other, point) = commas[0], points[0]
        raise DataError(
            f"{one}: {comma!r} has a decimal comma, and {other}: {point!r} a decimal point\n"
            "    write all numbers alike, with a decimal point",
            word="decimal",
        )
    if either and has_semicolons and not commas and not points:
        place, text = either[0]
        raise DataError(
            f"{place}: {text!r} could be {canonical_number(text)} or {canonical_number(with_point(text))}\n"
            f'    write decimal: "," if the comma is the decimal mark, or decimal: "."',
            word="decimal",
        )
    return "," if commas else "."

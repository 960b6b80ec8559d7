"""Numbers for readers: one way to write each kind of number, without needless digits.

Thousands are separated by a comma, a minus is U+2212, percent signs follow a narrow space. The report, its tables and
figures use this module, and so can every other part that shows numbers to people.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["share", "number", "dollars"]
MINUS = "\u2212"
THIN = "\u202f"
HARD = "\u00a0"
NOTHING = "\u2013"
_FINEST = 9  # digits more than usual
_LONG = 1e9
_ROUNDING = 1e-10  # a value closer than this to the tested value counts as equal to it


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with so many significant digits; whole from 100 on, with commas between thousands.

    Numbers from a thousand millions on (operations) have an exponent: `5.41e12`.
    """
    if value is None or math.isnan(value):
        return NOTHING
    if abs(value) >= _LONG and digits > 1:
        return _signed(f"{value:.{digits - 1}e}".replace("e+", "e"))
    if abs(value) >= 10 ** (digits - 1):
        return _signed(f"{value:,.0f}")
    places = digits - 1 if value == 0 else max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return _signed(f"{value:,.{min(places, digits)}f}")


def estimate(value: float | None, kind: Kind) -> str:
    """Write the estimate of a metric, with its unit if that is a percent."""
    if value is None or math.isnan(value):
        return NOTHING
    return f"{100 * value:.1f}{THIN}%" if kind == "share" else _quantity(value, kind)


def difference(value: float | None, kind: Kind, *, unit: bool = True, finer: int = 0) -> str:
    """Write a difference with its sign: shares in percentage points. `finer` is how many more digits it gets."""
    if value is None or math.isnan(value):
        return NOTHING
    text = _share(value, finer) if kind == "share" else _quantity(value, kind, finer)
    sign = "" if text.startswith(MINUS) or not any(digit in text for digit in "123456789") else "+"
    points = " points" if unit and kind == "share" else ""
    return f"{sign}{text}{points}"


def interval(
    low: float | None,
    high: float | None,
    kind: Kind,
    *,
    signed: bool = False,
    null: tuple[float | None, float | None] = (None, None),
) -> str:
    """Write an interval in brackets, in the units of its estimate.

    `null` is the value to which the lower and the upper end are compared (0 for a difference): an end gets as many
    digits as are needed to show its side. The ends get more digits if they would look equal. Empty if an end is
    unknown, or if both are equal up to rounding (nothing varied).
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    if math.isclose(low, high, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
        return ""
    values = [0.0 if at is None and signed else at for at in null]

    def ends(more: int) -> list[str]:
        return [_end(end, kind, signed, at, more) for end, at in zip((low, high), values, strict=True)]

    shown = next((some for some in map(ends, range(_FINEST)) if some[0] != some[1]), ends(_FINEST))
    return f"[{', '.join(shown)}]"


def _end(value: float, kind: Kind, signed: bool, null: float | None, more: int) -> str:
    """One end of an interval, with some more digits than usual: -0.04 is not written as 0 if 0 is what matters."""

    def written(finer: int, end: float) -> str:
        if signed:
            return difference(end, kind, unit=False, finer=finer)
        return _share(end, finer) if kind == "share" else _quantity(end, kind, finer)

    if math.isinf(value):
        return f"{MINUS if value < 0 else '+' * signed}\u221e"
    if null is None or abs(value - null) < _ROUNDING:
        return written(more, value)
    finer = (finer for finer in range(more, _FINEST) if _read(written(finer, value)) != _read(written(finer, null)))
    return written(next(finer, _FINEST), value)


def in_dollars(value: float) -> str:
    """Write a sum of dollars without a sign: in cents; below a cent with as many digits as show that it is not 0."""
    if 0 < value < 0.005:
        return f"{value:.4f}" if value >= 0.00005 else f"{value:.1g}"
    return f"{value:,.2f}"


def _quantity(value: float, kind: Kind, finer: int = 0) -> str:
    """Write a number; dollars below one keep three digits after their zeros, as a question may cost a thousandth."""
    if kind == "dollars" and 0 < abs(value) < 1:
        return _signed(f"{value:.{2 + finer - math.floor(math.log10(abs(value)))}f}")
    return number(value, 3 + finer)


def _read(text: str) -> float:
    return float(text.replace(MINUS, "-").replace(",", ""))


def _share(value: float, finer: int) -> str:
    return _signed(f"{100 * value:.{1 + finer}f}")


def p_value(p: float | None) -> str:
    """Write a p value without its leading zero: three places, and `< .001` below."""
    if p is None or math.isnan(p):
        return NOTHING
    if p < 0.001:
        return "< .001"
    return "1" if p > 0.9995 else f"{p:.3f}".removeprefix("0")


def p_clause(p: float | None, name: str = "p") -> str:
    """Write `p = .012`, `p < .001`."""
    text = p_value(p)
    return f"{name} {'' if text.startswith('<') else '= '}{text}".replace(" ", HARD)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Write `1 question`, `1,200 questions`."""
    return f"{number(count, 1)} {noun if count == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """Write a share of 1 as a percent of at most two significant digits: `62 %`, `1.2 %`, `fewer than 0.1 %`."""
    value = 100 * share
    if value < 0.1:
        return f"fewer than 0.1{THIN}%"
    return f"{value:.0f}{THIN}%" if value >= 9.95 else f"{value:.1f}{THIN}%"


def _signed(text: str) -> str:
    """Put a true minus sign, and none before a zero."""
    digits = text.lstrip("-")
    return text.replace("-", MINUS) if any(digit in digits for digit in "123456789") else digits

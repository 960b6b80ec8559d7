"""Whether a claim could come out both ways: a threshold beyond what its metric can be is a slip of the pen."""

from __future__ import annotations

import math

from cortexdsl.spec.claim_terms import Comparison, fail
from cortexdsl.spec.metric_names import range_of


def check_range(claim: Comparison, where: str) -> None:
    """Refuse a comparison that no outcome can miss, or none can meet.

    Raises
    ------
    SpecError
        Says what the claimed quantity can be, and what was probably meant (80 for 0.80, 2 for 0.02).
    """
    if claim.is_ratio:
        return
    low, high = _range(claim)
    shown = f"it lies between {_number(low)} and {_number(high)}" if not math.isinf(high) else f"it is at least {low:g}"
    if claim.margin is not None:
        below, above = claim.offset - claim.margin, claim.offset + claim.margin
        if below <= low and above >= high:
            fail(where, claim.text, f"no outcome can miss a margin of {claim.margin:g}: {shown}", _meant(claim))
        if above < low or below > high:
            fail(
                where,
                claim.text,
                f"no outcome can be within {claim.margin:g} of {claim.offset:g}: {shown}",
                _meant(claim),
            )
        return
    upward, strict, null = claim.operator in (">", ">="), claim.operator in ("<", ">"), claim.offset
    reach, other = (high, low) if upward else (low, high)
    beyond, short = (null - reach, other - null) if upward else (reach - null, null - other)
    what = _subject(claim)
    if beyond > 0 or (beyond == 0 and strict):
        fail(
            where,
            claim.text,
            f"no outcome can bring {what} {'above' if upward else 'below'} {null:g}: {shown}",
            _meant(claim),
        )
    if short > 0 or (short == 0 and not strict):
        fail(where, claim.text, f"every outcome has {what} {claim.operator} {null:g}: {shown}", _meant(claim))


def _range(claim: Comparison) -> tuple[float, float]:
    """The values that the sum can have."""
    low = high = 0.0
    for coefficient, quantity in claim.terms:
        ends = sorted(coefficient * end for end in range_of(quantity.metric))
        low, high = low + ends[0], high + ends[1]
    return low, high


def _subject(claim: Comparison) -> str:
    return "the difference" if len(claim.terms) > 1 else str(claim.quantities[0])


def _meant(claim: Comparison) -> str:
    """What was probably meant: percent, where a share is claimed."""
    number = abs(claim.margin or claim.offset)
    if range_of(claim.metric) == (0.0, 1.0) and 1 <= number <= 100:
        return f"shares lie between 0 and 1: did you mean {number / 100:g} (or {number:g}%)?"
    return "claim a value that the experiment could miss"


def _number(value: float) -> str:
    return "any number" if math.isinf(value) else f"{value:g}"

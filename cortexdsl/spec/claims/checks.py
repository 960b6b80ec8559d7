"""Whether a claim can be answered: its metrics are known, it could come out both ways, and when it can be tested."""

from __future__ import annotations

import math

from cortexdsl.errors import Problem, SpecError
from cortexdsl.spec.claims.meaning import irreconcilable
from cortexdsl.spec.claims.metric_names import CALIBRATION_METRICS, CLAIMED_METRICS, range_of
from cortexdsl.spec.claims.terms import Claim, Comparison, fail, parts_of
from cortexdsl.spec.text.messages import nearest

FEWEST = 3
"""Teams, seeds or datasets: what they differ by is not known from fewer."""


def check_claim(claim: Claim, where: str) -> None:
    """Refuse a claim of a spec about a metric that there is not, or one whose outcome is known beforehand.

    Claims about tables of other programs, whose columns may have any name and scale, are not held to this.

    Raises
    ------
    SpecError
    """
    for metric in claim.metrics:
        if metric not in CLAIMED_METRICS:
            what = f"the claim {claim.text!r}: there is no metric {metric}"
            raise SpecError([Problem(where, what, nearest(metric, CLAIMED_METRICS, say="metrics"))])
    for part in parts_of(claim):
        if not isinstance(part, Comparison) and part.metric in CALIBRATION_METRICS:
            fail(where, claim.text, f"{part.metric} has no trend and no best", "compare two cells by it")
    check_ranges(claim, where)


def check_ranges(claim: Claim, where: str) -> None:
    """Refuse a claim that no outcome can meet, or none can miss."""
    for part in parts_of(claim):
        if isinstance(part, Comparison):
            check_range(part, where)
    if pair := irreconcilable(claim):
        one, other, is_same = pair
        what = f"says the same as `{other}`" if is_same else f"and `{other}` cannot both hold"
        fail(where, claim.text, f"`{one}` {what}", "keep one of them")


def needs_answers(claim: Claim) -> bool:
    """Whether a claim is about single agents or about confidences, so that scores of debates do not suffice."""
    comparisons = [part for part in parts_of(claim) if isinstance(part, Comparison)]
    return any(one.is_of_answers for part in comparisons for one in part.quantities)


def unlookable(claim: Claim) -> str:
    """Why a claim cannot be looked at before the run has ended (`stopping:`), or nothing."""
    for part in parts_of(claim):
        if isinstance(part, Comparison):
            if part.over is not None:
                return f"a claim over {part.over} needs all of them"
            if any(one.is_of_answers for one in part.quantities):
                return "calibration and single agents are tested once, at the end"
            if any(one.per for one in part.quantities):
                return "a ratio of ratios is tested once, at the end"
    return ""


def unexpectable(claim: Claim | None, value: float) -> str:
    """Why nobody can expect that the claimed quantity comes out so, or nothing; without a claim, of an accuracy."""
    if claim is None:
        low, high = -1.0, 1.0
    elif not isinstance(claim, Comparison):
        return ""
    elif claim.is_ratio:
        return "" if value > 0 else "a ratio lies above 0"
    else:
        low, high = _range(claim)
    return "" if low <= value <= high else f"it lies between {_number(low)} and {_number(high)}"


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

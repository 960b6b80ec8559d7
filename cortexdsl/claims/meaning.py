"""The meaning of claims, however they are written.

Which claims say the same, which cannot both hold, which no outcome could decide, when a claim can be tested, and in
what unit its estimate is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal, TypeAlias

from cortexdsl.claims.values import (
    CLAIMED_METRICS,
    OTHERS,
    POOLED_METRICS,
    All,
    Claim,
    Comparison,
    Front,
    Operator,
    Quantity,
    Simple,
    Trend,
    canonical,
    fail,
    parts_of,
    range_of,
)
from cortexdsl.core.metrics import find_metric
from cortexdsl.errors import Problem, SpecError, nearest

_DIGITS = 12


def meaning(claim: Claim) -> str:
    """Return a text that two claims share if and only if they say the same.

    `a > b` and `b < a` do; so do `a >= b` and `a > b`, which are the same test.
    """
    if isinstance(claim, All):
        return " and ".join(sorted({meaning(part) for part in claim.parts}))
    if isinstance(claim, Front):
        return repr(replace(claim, text="", metrics=tuple(sorted(map(canonical, claim.metrics)))))
    return repr(_turned(claim) if isinstance(claim, Comparison) else replace(claim, text=""))


EstimateForm: TypeAlias = Literal["mean", "difference", "slope", "ratio"]


def estimate_form(claim: Simple) -> EstimateForm:
    """Return what the estimate of a claim without parts is.

    Returns
    -------
    str
        `mean` of one cell, `difference` (any other contrast), `slope` (change per unit or step of an axis) or `ratio`.
    """
    if isinstance(claim, Comparison):
        return "ratio" if claim.is_ratio else "mean" if len(claim.terms) == 1 else "difference"
    return "slope" if isinstance(claim, Trend) and not claim.monotone else "difference"


def estimate_unit(claim: Claim, is_share: Callable[[str], bool]) -> Literal["share", "points", "ratio", "number"]:
    """Return the unit of a claim's estimate and interval.

    Parameters
    ----------
    claim : Claim
    is_share : callable
        Says whether a metric is a share of 1.

    Returns
    -------
    str
        `share` for one mean of a share of 1, `points` for a difference of shares, `ratio` for a ratio of two means, and
        `number` for anything else, also for a conjunction whose parts have different units.
    """
    if isinstance(claim, Front):  # a difference of the metric that decides
        return "points" if all(map(is_share, claim.metrics)) else "number"
    if isinstance(claim, All):
        units = {estimate_unit(part, is_share) for part in claim.parts}
        return units.pop() if len(units) == 1 else "number"
    form = estimate_form(claim)
    if form == "ratio":
        return "ratio"
    if not is_share(claim.metric):
        return "number"
    return "share" if form == "mean" else "points"


def repeated_claims(claims: Sequence[Claim]) -> Iterator[tuple[int, int]]:
    """Yield the index of each claim that repeats an earlier one, with the index of that one."""
    met: dict[str, int] = {}
    for i, claim in enumerate(claims):
        first = met.setdefault(meaning(claim), i)
        if first < i:
            yield i, first


def incompatible_parts(claim: Claim) -> tuple[str, str, bool] | None:
    """Return two parts of a claim that cannot both hold (False) or say the same (True); None if there are none."""
    parts = parts_of(claim)
    for first, second in combinations(parts, 2):
        if meaning(first) == meaning(second):
            return first.text, second.text, True
        if not (isinstance(first, Comparison) and isinstance(second, Comparison)):
            continue
        one, other = _turned(first), _turned(second)
        subject = [(part.terms, part.dataset, part.over, part.is_ratio) for part in (one, other)]
        if subject[0] != subject[1]:
            continue
        (low, high), (lowest, highest) = _claimed_interval(one), _claimed_interval(other)
        if max(low, lowest) >= min(high, highest):
            return first.text, second.text, False
    return None


def _turned(claim: Comparison) -> Comparison:
    """Return a comparison in the normal form that all of its spellings share."""
    terms = [(weight, _named(quantity)) for weight, quantity in claim.terms]
    operator, offset, factor, margin = claim.operator.rstrip("="), claim.offset, claim.factor, claim.margin
    ordered = sorted(terms, key=lambda term: str(term[1]))
    if OTHERS not in (claim.name, claim.reference) and (len(terms) > 1 or terms[0][0] < 0):
        if claim.is_ratio and ordered != terms:
            factor, ordered = 1 / factor, [(-weight, quantity) for weight, quantity in ordered]
            operator = _OTHER_WAY[operator]
        elif not claim.is_ratio:
            unit = ordered[0][0]
            ordered = [(round(weight / unit, _DIGITS), quantity) for weight, quantity in ordered]
            offset, margin = offset / unit, None if margin is None else margin / abs(unit)
            operator = _OTHER_WAY[operator] if unit < 0 else operator
        terms = ordered
    return replace(
        claim, text="", terms=tuple(terms), operator=_WRITTEN[operator], offset=round(offset, _DIGITS) + 0.0,
        factor=round(factor, _DIGITS), margin=None if margin is None else round(margin, _DIGITS),
    )  # fmt: skip


_OTHER_WAY: Mapping[str, str] = {">": "<", "<": ">", "": ""}
_WRITTEN: Mapping[str, Operator] = {">": ">", "<": "<", "": "=="}  # without their `=`


def _named(quantity: Quantity) -> Quantity:
    per = None if quantity.per is None else canonical(quantity.per)
    return replace(quantity, metric=canonical(quantity.metric), per=per)


def _claimed_interval(claim: Comparison) -> tuple[float, float]:
    """Return the interval in which a comparison puts its sum or ratio."""
    bound = claim.factor if claim.is_ratio else claim.offset
    if claim.margin is not None:
        return bound - claim.margin, bound + claim.margin
    return (bound, math.inf) if claim.operator == ">" else (-math.inf, bound)


FEWEST = 3
"""The fewest teams, seeds or datasets from which their variation can be estimated."""


def check_claim(claim: Claim, where: str) -> None:
    """Refuse a claim of a spec if a metric is unknown or no outcome could decide it.

    Tables of other programs may have columns of any name and scale, so their claims are not checked by this.

    Raises
    ------
    SpecError
    """
    for metric in claim.metrics:
        if find_metric(metric) is None:
            what = f"the claim {claim.text!r}: there is no metric {metric}"
            raise SpecError([Problem(where, what, nearest(metric, CLAIMED_METRICS, say="metrics"))])
    for part in parts_of(claim):
        pooled = [metric for metric in part.metrics if metric in POOLED_METRICS]
        if not isinstance(part, Comparison) and pooled:
            what = f"{pooled[0]} has no trend, no best and no front"
            fail(where, claim.text, what, "compare two cells by it")
    check_ranges(claim, where)


def check_ranges(claim: Claim, where: str) -> None:
    """Refuse a claim that every outcome or no outcome meets."""
    for part in parts_of(claim):
        if isinstance(part, Comparison):
            check_range(part, where)
    if pair := incompatible_parts(claim):
        one, other, is_same = pair
        what = f"says the same as `{other}`" if is_same else f"and `{other}` cannot both hold"
        fail(where, claim.text, f"`{one}` {what}", "keep one of them")


def needs_answers(claim: Claim) -> bool:
    """Return whether a claim is about single agents or confidences, so that scores of debates do not suffice."""
    comparisons = [part for part in parts_of(claim) if isinstance(part, Comparison)]
    return any(one.is_of_answers for part in comparisons for one in part.quantities)


def why_not_early(claim: Claim) -> str:
    """Return why a claim cannot be tested before the run has ended (`stopping:`); empty if it can."""
    for part in parts_of(claim):
        if isinstance(part, Front):
            return "a front is tested once, at the end"
        if isinstance(part, Comparison):
            if part.over is not None:
                return f"a claim over {part.over} needs all of them"
            if any(one.is_of_answers or one.metric in POOLED_METRICS for one in part.quantities):
                return "calibration and single agents are tested once, at the end"
            if any(one.per for one in part.quantities):
                return "a ratio of ratios is tested once, at the end"
    return ""


def impossible_value(claim: Claim | None, value: float) -> str:
    """Return why a claimed quantity (without a claim: a difference of accuracies) cannot have a value, or nothing."""
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
    """Refuse a comparison that every outcome or no outcome meets.

    Raises
    ------
    SpecError
        With the range of the claimed quantity, and what was probably meant (80 for 0.80, 2 for 0.02).
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
    """Return the range of the sum."""
    low = high = 0.0
    for coefficient, quantity in claim.terms:
        ends = sorted(coefficient * end for end in range_of(quantity.metric))
        low, high = low + ends[0], high + ends[1]
    return low, high


def _subject(claim: Comparison) -> str:
    return "the difference" if len(claim.terms) > 1 else str(claim.quantities[0])


def _meant(claim: Comparison) -> str:
    """Return what was probably meant: percent, if the metric is a share."""
    number = abs(claim.margin or claim.offset)
    if range_of(claim.metric) == (0.0, 1.0) and 1 <= number <= 100:
        return f"shares lie between 0 and 1: did you mean {number / 100:g} (or {number:g}%)?"
    return "claim a value that the experiment could miss"


def _number(value: float) -> str:
    return "any number" if math.isinf(value) else f"{value:g}"

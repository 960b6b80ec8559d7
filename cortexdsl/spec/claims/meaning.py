"""What claims mean, however they are written: which say the same, and which cannot both hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

from cortexdsl.spec.claims.metric_names import canonical
from cortexdsl.spec.claims.terms import NONE, OTHERS, All, Claim, Comparison, Operator, Quantity, parts_of

_DIGITS = 12


def meaning(claim: Claim) -> str:
    """A text that claims have in common where, and only where, they say the same.

    `a > b` and `b < a` do; so do `a >= b` and `a > b`, which are one test.
    """
    if isinstance(claim, All):
        return " and ".join(sorted({meaning(part) for part in claim.parts}))
    return repr(_turned(claim) if isinstance(claim, Comparison) else replace(claim, text=""))


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
    if isinstance(claim, All):
        units = {estimate_unit(part, is_share) for part in claim.parts}
        return units.pop() if len(units) == 1 else "number"
    if isinstance(claim, Comparison) and claim.is_ratio:
        return "ratio"
    if not is_share(claim.metric):
        return "number"
    return "share" if isinstance(claim, Comparison) and len(claim.terms) == 1 else "points"


def repeated(claims: Sequence[Claim]) -> Iterator[tuple[int, int]]:
    """Yield the places of claims that say what an earlier one says, and of that one."""
    met: dict[str, int] = {}
    for i, claim in enumerate(claims):
        first = met.setdefault(meaning(claim), i)
        if first < i:
            yield i, first


def irreconcilable(claim: Claim) -> tuple[str, str, bool] | None:
    """Two parts of a claim that cannot both hold, or that say the same (True); None where there are none."""
    parts = parts_of(claim)
    for first, second in combinations(parts, 2):
        if meaning(first) == meaning(second):
            return first.text, second.text, True
        if not (isinstance(first, Comparison) and isinstance(second, Comparison)) or first.dataset == NONE:
            continue
        one, other = _turned(first), _turned(second)
        subject = [(part.terms, part.dataset, part.over, part.is_ratio) for part in (one, other)]
        if subject[0] != subject[1]:
            continue
        (low, high), (lowest, highest) = _said(one), _said(other)
        if max(low, lowest) >= min(high, highest):
            return first.text, second.text, False
    return None


def _turned(claim: Comparison) -> Comparison:
    """The same comparison in the one form that all of its spellings have."""
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


def _said(claim: Comparison) -> tuple[float, float]:
    """Between which values a comparison says that its sum, or its ratio, lies."""
    bound = claim.factor if claim.is_ratio else claim.offset
    if claim.margin is not None:
        return bound - claim.margin, bound + claim.margin
    return (bound, math.inf) if claim.operator == ">" else (-math.inf, bound)

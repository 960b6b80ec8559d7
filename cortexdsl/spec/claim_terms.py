"""What a claim is: the frozen values that the claim language (`cortexdsl.spec.claims`) builds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeAlias

from cortexdsl.errors import Problem, SpecError
from cortexdsl.terms import EMPTY

HELP = (
    "write for instance `accuracy(a) > accuracy(b)`, `accuracy(a) >= accuracy(b) - 0.02`, "
    "`accuracy(a) == accuracy(b) +- 0.02`, `input_tokens(a) <= 0.7 * input_tokens(b)`, "
    "`accuracy(a[rounds]) increasing`, `best keep of a is mean`"
)


EVERY = "every dataset"
Operator: TypeAlias = Literal[">", "<", ">=", "<=", "=="]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`metric(name) operator factor * metric(reference) + offset`, within `margin` where it says `==`.

    Attributes
    ----------
    text : str
        The claim as it was written.
    metric, name : str
    operator : str
    reference : str or None
        None: the right side is the fixed value `offset`.
    factor : float
        1 unless the claim is about a ratio; never together with an offset.
    offset : float
        In units of the metric; -0.02 in a claim of non-inferiority by two points.
    margin : float or None
        Half the width of the region of equivalence; set where, and only where, the operator is `==`.
    dataset : str or None
        A dataset's name, `EVERY`, or None for the mean over datasets.
    """

    text: str
    metric: str
    name: str
    operator: Operator
    reference: str | None
    factor: float = 1.0
    offset: float = 0.0
    margin: float | None = None
    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """Grid points of a method: free axes in the order written, some with their levels in order, and fixed axes."""

    method: str
    free: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: EMPTY)
    fixed: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Trend:
    """The metric rises (or falls) along the one free axis of the slice."""

    text: str
    metric: str
    slice: Slice
    direction: Literal["increasing", "decreasing"]
    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class Best:
    """The point `value` of the one free axis has the highest (or lowest) mean of the metric."""

    text: str
    metric: str
    slice: Slice
    value: str
    extreme: Literal["highest", "lowest"]
    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class Interaction:
    """The effect of one of the two free axes of the slice depends on the other."""

    text: str
    metric: str
    slice: Slice
    dataset: str | None = None


Claim: TypeAlias = Comparison | Trend | Best | Interaction


def fail(where: str, text: str, what: str, remedy: str = HELP) -> NoReturn:
    """Refuse a claim with one problem."""
    raise SpecError([Problem(where, f"the claim {text!r}: {what}", remedy)])

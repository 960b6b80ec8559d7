"""Recalibration, as it is written: a named rule, three steps, or bins that cover [0, 1]."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, Self, TypeAlias, get_args

from pydantic import Discriminator, Field, Tag, model_validator

from cortexdsl.spec.grammar.values.words import Asked, Entry, Share, one_of, said
from cortexdsl.terms import Bin


def three_steps(high: float, middle: float, low: float) -> tuple[Bin, ...]:
    """Return CortexDebate's bins (Eq. 2): >= high is high, [middle, high) middle, [low, middle) kept, the rest low."""
    edges = (
        Bin(high, 1.0, high, high_closed=True),
        Bin(middle, high, middle),
        Bin(low, middle, None),
        Bin(0.0, low, low),
    )
    return tuple(bin_ for bin_ in edges if bin_.low < bin_.high or bin_.high_closed)


NAMED: dict[str, tuple[Bin, ...]] = {
    "none": (),
    "cortexdebate": three_steps(0.8, 0.6, 0.3),
    "reconcile": (
        Bin(1.0, 1.0, 1.0, high_closed=True),
        Bin(0.9, 1.0, 0.8),
        Bin(0.8, 0.9, 0.5),
        Bin(0.6, 0.8, 0.3, low_open=True),
        Bin(0.0, 0.6, 0.1, high_closed=True),
    ),
}
"""Sun et al. 2025 (arXiv 2507.03928), Algorithm 1; Chen et al. 2023 (arXiv 2309.13007), section 3."""


class StepsForm(Entry):
    """`{steps: [a, b, c]}`: >= a becomes a, [b, a) becomes b, [c, b) is kept, < c becomes c."""

    steps: Annotated[tuple[Share, ...], Field(min_length=3, max_length=3)]

    @model_validator(mode="after")
    def _falling(self) -> Self:
        if not self.steps[0] >= self.steps[1] >= self.steps[2]:
            raise said(f"steps {list(self.steps)} rise", "write them from the highest to the lowest: [0.8, 0.6, 0.3]")
        return self

    def term(self) -> tuple[Bin, ...]:
        """Return the bins, the highest first."""
        return three_steps(*self.steps)


class BinText(Entry):
    """One bin: `{from: 0.6, to: 0.8, value: 0.6}`; `above` is a `from` without its bound, `through` a `to` with it."""

    from_: Share | None = Field(None, alias="from", description="The lower bound, within the bin.")
    above: Share | None = Field(None, description="The lower bound, outside the bin.")
    to: Share | None = Field(None, description="The upper bound, outside the bin (but 1 is within the last bin).")
    through: Share | None = Field(None, description="The upper bound, within the bin.")
    value: Annotated[
        Annotated[Share, Tag("<value>")] | Annotated[Literal["keep"], Tag("<word>")],
        Discriminator(lambda value: "<word>" if isinstance(value, str) else "<value>"),
    ] = Field(description="What confidences of the bin become: a number, or keep.")

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if (self.from_ is None) == (self.above is None):
            raise said("a bin has one lower bound", "write from: x (x is in the bin) or above: x (it is not)")
        if (self.to is None) == (self.through is None):
            raise said("a bin has one upper bound", "write to: x (x is not in the bin) or through: x (it is)")
        bin_ = self.term()
        if bin_.low > bin_.high or (bin_.low == bin_.high and (bin_.low_open or not bin_.high_closed)):
            raise said("the bin is empty", "its lower bound lies below its upper bound")
        return self

    def term(self) -> Bin:
        """Return the bin."""
        low = self.from_ if self.from_ is not None else self.above
        high = self.to if self.to is not None else self.through
        assert low is not None
        assert high is not None
        value = None if isinstance(self.value, str) else self.value
        return Bin(low, high, value, low_open=self.above is not None, high_closed=self.through is not None)


class BinsForm(Entry):
    """`{bins: [...]}`: any number of bins that cover [0, 1] without holes or overlaps."""

    bins: Annotated[tuple[BinText, ...], Field(min_length=1, max_length=1_000)]

    @model_validator(mode="after")
    def _cover(self) -> Self:
        rising = self.term()[::-1]
        if rising[0].low > 0 or rising[0].low_open:
            raise said(f"no bin holds 0; the lowest begins at {rising[0].low:g}", "bins cover [0, 1]")
        if not rising[-1].high_closed:
            raise said(f"no bin holds 1; the highest ends at {rising[-1].high:g}", "bins cover [0, 1]")
        for lower, upper in pairwise(rising):
            if lower.high < upper.low or (lower.high == upper.low and not lower.high_closed and upper.low_open):
                raise said(f"no bin holds what lies between {lower.high:g} and {upper.low:g}", "bins leave no hole")
            if lower.high > upper.low or (lower.high_closed and not upper.low_open):
                raise said(f"two bins hold {upper.low:g}", "bins do not overlap")
        return self

    def term(self) -> tuple[Bin, ...]:
        """Return the bins, the highest first; the highest `to: 1` holds 1."""
        bins = sorted((bin_.term() for bin_ in self.bins), key=lambda b: (b.low, not b.low_open, b.high), reverse=True)
        top = bins[0]
        if top.high == 1.0 and not top.high_closed:
            bins[0] = Bin(top.low, 1.0, top.value, top.low_open, high_closed=True)
        return tuple(bins)


RecalibrationWord: TypeAlias = Literal["none", "cortexdebate", "reconcile"]
RecalibrationText: TypeAlias = Annotated[
    Annotated[RecalibrationWord, Tag("<word>")]
    | Asked
    | Annotated[StepsForm, Tag("<steps>")]
    | Annotated[BinsForm, Tag("<bins>")],
    one_of(get_args(RecalibrationWord), {"steps": "{steps: [a, b, c]}", "bins": "{bins: [{from, to, value}]}"}),
]


def bins(recalibration: str | StepsForm | BinsForm) -> tuple[Bin, ...]:
    """Return the bins that a checked `recalibration:` means."""
    return NAMED[recalibration] if isinstance(recalibration, str) else recalibration.term()

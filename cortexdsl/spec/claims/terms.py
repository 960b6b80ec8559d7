"""What a claim is: the frozen values that the claim language (`cortexdsl.spec.claims.language`) builds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeAlias

from cortexdsl.errors import Problem, SpecError
from cortexdsl.spec.claims.help import advice
from cortexdsl.spec.claims.metric_names import CALIBRATION_METRICS
from cortexdsl.terms import EMPTY

EVERY = "every dataset"
NONE = "no dataset"
OTHERS = "every other"
"""Where a cell is named: all other cells, one by one."""
Operator: TypeAlias = Literal[">", "<", ">=", "<=", "=="]
Over: TypeAlias = Literal["teams", "seeds", "datasets"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A named mean: `metric(name, round=0, agent=quick) per input_tokens`.

    Attributes
    ----------
    metric, name : str
        The name of a cell, or `OTHERS`.
    round : int or None
        After this round, 0 being the opening; None: at the end.
    agent : str or None
        Of this debater's own answers.
    per : str or None
        The mean is divided by the mean of this metric of the same cell.
    """

    metric: str
    name: str
    round: int | None = None
    agent: str | None = None
    per: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is a metric of a cell and nothing else."""
        return self.round is None and self.agent is None and self.per is None

    @property
    def is_of_answers(self) -> bool:
        """Whether it needs every answer and confidence, not the scores of debates alone."""
        return self.agent is not None or self.metric in CALIBRATION_METRICS

    def __str__(self) -> str:
        inside = [self.name]
        inside += [f"round={self.round}"] if self.round is not None else []
        inside += [f"agent={self.agent}"] if self.agent is not None else []
        return f"{self.metric}({', '.join(inside)})" + (f" per {self.per}" if self.per else "")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A sum of named means, each times its coefficient, held against `offset`; or two means by their ratio.

    Attributes
    ----------
    text : str
        The claim as it was written.
    terms : tuple of (float, Quantity)
        Left side less right side. Of a difference of two and of one mean alone the first coefficient is 1.
    operator : str
        It stands between the sum and `offset`, or the ratio and `factor`.
    offset : float
        In units of the metric; -0.02 in a claim of non-inferiority by two points.
    factor : float
        1 unless the claim is about the ratio of two means; never together with an offset.
    margin : float or None
        Half the width of the region of equivalence; set where, and only where, the operator is `==`.
    dataset : str or None
        A dataset's name, `EVERY`, `NONE` (it holds on none of them), or None for the mean over datasets.
    over : str or None
        What is taken as drawn, not as given: teams, seeds or datasets like these.
    """

    text: str
    terms: tuple[tuple[float, Quantity], ...]
    operator: Operator
    offset: float = 0.0
    factor: float = 1.0
    margin: float | None = None
    dataset: str | None = None
    over: Over | None = None

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """The named means, in the order of the terms."""
        return tuple(quantity for _, quantity in self.terms)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that it needs."""
        named = [metric for one in self.quantities for metric in (one.metric, one.per) if metric]
        return tuple(dict.fromkeys(named))

    @property
    def metric(self) -> str:
        """The metric that it is about."""
        return self.quantities[0].metric

    @property
    def name(self) -> str:
        """The cell that it is about."""
        return self.quantities[0].name

    @property
    def reference(self) -> str | None:
        """The cell that it is compared with, in a claim about two means."""
        return self.quantities[1].name if len(self.terms) == 2 else None

    @property
    def is_plain(self) -> bool:
        """Whether it is one metric of one cell, or of two that are subtracted or divided, and nothing else."""
        simple = all(one.is_plain and one.metric == self.metric for one in self.quantities)
        coefficients = tuple(coefficient for coefficient, _ in self.terms)
        return simple and OTHERS not in (self.name, self.reference) and self.over is None and (
            coefficients in ((1.0,), (1.0, -1.0))
        )  # fmt: skip

    @property
    def is_ratio(self) -> bool:
        """Whether means are divided, not subtracted."""
        return self.factor != 1 or any(one.per for one in self.quantities)


@dataclass(frozen=True, slots=True)
class Slice:
    """Grid points of a method: free axes in the order written, some with their levels in order, and fixed axes."""

    method: str
    free: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: EMPTY)
    fixed: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Shape:
    """What claims about the grid points of a method have in common."""

    text: str
    metric: str
    slice: Slice

    over = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that it needs."""
        return (self.metric,)


@dataclass(frozen=True, slots=True)
class Trend(Shape):
    """The metric rises (or falls) along the one free axis of the slice: its slope, or with `monotone` every step."""

    direction: Literal["increasing", "decreasing"]
    dataset: str | None = None
    monotone: bool = False


@dataclass(frozen=True, slots=True)
class Best(Shape):
    """The point `value` of the one free axis has the highest (or lowest) mean of the metric."""

    value: str
    extreme: Literal["highest", "lowest"]
    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class Interaction(Shape):
    """The effect of one of the two free axes of the slice depends on the other."""

    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class All:
    """Every one of several claims holds."""

    text: str
    parts: tuple[Comparison | Trend | Best | Interaction, ...]

    over = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that it needs."""
        return tuple(dict.fromkeys(metric for part in self.parts for metric in part.metrics))

    @property
    def metric(self) -> str:
        """The metric that its first part is about."""
        return self.parts[0].metric

    @property
    def dataset(self) -> str | None:
        """The dataset that all parts are about, if it is one."""
        named = {part.dataset for part in self.parts}
        return named.pop() if len(named) == 1 else None


Simple: TypeAlias = Comparison | Trend | Best | Interaction
Claim: TypeAlias = Simple | All


def parts_of(claim: Claim) -> tuple[Simple, ...]:
    """The claims that a claim is made of: itself, unless it has parts."""
    return claim.parts if isinstance(claim, All) else (claim,)


def fail(where: str, text: str, what: str, remedy: str = "") -> NoReturn:
    """Refuse a claim with one problem; without a remedy, with the nearest claims that can be made."""
    raise SpecError([Problem(where, f"the claim {text!r}: {what}", remedy or advice(text))])

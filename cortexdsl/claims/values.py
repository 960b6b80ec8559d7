"""Claims as frozen values, the metrics that claims may name, and the error that refuses a claim.

All facts about metrics come from the declarations in `cortexdsl.core.metrics`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher, get_close_matches
from typing import Literal, NoReturn, TypeAlias

from cortexdsl.core import EMPTY
from cortexdsl.core.columns import column_metric
from cortexdsl.core.metric_types import Better
from cortexdsl.core.metrics import CALIBRATION, METRICS, POOLED, find_metric, names_of
from cortexdsl.errors import Problem, SpecError

KNOWN_METRICS = names_of(METRICS.values())
"""Metrics of debates, with their aliases."""

CALIBRATION_METRICS = names_of(CALIBRATION.values())
"""Metrics of all answers of a cell, with their aliases: for claims alone."""

POOLED_METRICS = names_of(POOLED.values())
"""Metrics of all answers or all debates of a cell together, with their aliases: they are not means."""

CLAIMED_METRICS = (*KNOWN_METRICS, *CALIBRATION_METRICS)
"""The metrics that a claim may name."""

AFTER_ROUNDS = names_of(metric for metric in METRICS.values() if "round" in metric.levels)
"""Metrics of a whole debate that are known after each of its rounds."""

BY_AGENT = (*names_of(metric for metric in METRICS.values() if "agent" in metric.levels), *CALIBRATION_METRICS)
"""Metrics that are known for each debater of a cell."""


def canonical(metric: str) -> str:
    """Return the name of a metric that may be given by an alias; any other name as it is."""
    known = find_metric(metric)
    return known.name if known else metric


def bound_of(metric: str) -> str:
    """Return what in a plan bounds a metric of one question, such as `calls` or `output_tokens`; or nothing."""
    known = find_metric(metric)
    return known.bound if known else ""


def range_of(metric: str) -> tuple[float, float]:
    """Return the range of the mean of a metric; (-inf, inf) for a name that is not declared."""
    return column_metric(metric).range


def better_of(metric: str) -> Better:
    """Return which direction of a metric or column is better."""
    return column_metric(metric).better


def one_line(claim: str) -> str:
    """Return a claim in the spelling by which claims are compared: spaces and line ends make no difference."""
    return " ".join(claim.split())


def alike(first: str, second: str) -> bool:
    """Say whether two metrics measure the same thing, so that their difference means something."""
    one, other = find_metric(first), find_metric(second)
    if one is None or other is None:
        return first == second
    return one is other or bool(one.kind and one.kind == other.kind)


FORMS = (
    "{m}({a}) > {m}({b})", "{m}({a}) >= {m}({b}) - 0.02", "{m}({a}) == {m}({b}) +- 0.02", "{m}({a}) > 0.8",
    "input_tokens({a}) <= 0.7 * input_tokens({b})", "{m}({a}) - {m}({b}) > {m}(c) - {m}(d)",
    "accuracy({a}, round=0) < accuracy({a})", "brier({a}, agent=quick) < brier({b}, agent=quick)",
    "accuracy({a}) per input_tokens > accuracy({b}) per input_tokens", "{m}({a}) > {m}(every other)",
    "{a} on front of {m}, total_tokens", "{m}({a}[rounds]) increasing",
    "{m}({a}[rounds]) monotone increasing",
    "best keep of {a} is mean", "{m}({a}) > {m}({b}) on every dataset",
    "{m}({a}) > {m}({b}) over teams", "{m}({a}) > {m}({b}) over prompts",
    "{m}({a}) > {m}({b}) and input_tokens({a}) < input_tokens({b})",
)  # fmt: skip
"""One example of each form; `{m}` is any metric, `{a}` and `{b}` are cells."""
SHOWN = 3
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(\s*([A-Za-z][\w.-]*)")
_RESERVED = {"every", "rounds"}
_OF_DEBATES = ("{m}({a}[", "on front of {m}")
"""Parts of forms that take no metric of all answers or debates of a cell."""


def nearest_claims(text: str) -> tuple[str, ...]:
    """Return the forms of claims most similar to a text, filled with the metric and the cells that it names."""
    calls = _CALL.findall(text[:500])
    close = get_close_matches(calls[0][0], CLAIMED_METRICS, 1) if calls else []
    cells = [name for name in dict.fromkeys(name for _, name in calls) if name not in _RESERVED]
    a, b = [*cells, *(name for name in "ab" if name not in cells)][:2]
    plain = " ".join(text[:500].split())
    metric = close[0] if close else "accuracy"
    sought = [form for form in FORMS if metric not in POOLED_METRICS or not any(part in form for part in _OF_DEBATES)]
    forms = [form.format(m=metric, a=a, b=b) for form in sought]
    return tuple(sorted(forms, key=lambda form: -SequenceMatcher(None, form, plain, autojunk=False).ratio())[:SHOWN])


_SPOKEN = re.compile(
    r"(?P<a>[A-Za-z][\w.-]*) (?:is |are |performs )?(?:much |significantly )?"
    r"(?:better|higher|greater|more accurate|(?P<less>worse|lower|less accurate|<)|beats|outperforms|>)"
    r"(?: than)? (?P<b>[A-Za-z][\w.-]*)"
)
"""A claim in English, or without a metric."""

_INSTEAD = {
    "!=": "a claim has a direction: write > or <",
    "or ": "write a claim for each of them: what one of several would show is not known beforehand",
    "not ": "claim the opposite, such as < for >",
}


def meant_by(rest: str) -> str:
    """Return what to write instead of the unreadable rest of a claim; empty if unknown."""
    return next((remedy for start, remedy in _INSTEAD.items() if rest.startswith(start)), "")


def advice(text: str) -> str:
    """Return the remedy for a claim that cannot be read: the claim that its words mean, or the nearest correct ones."""
    if spoken := _SPOKEN.fullmatch(" ".join(text[:500].split())):
        return f"write `accuracy({spoken['a']}) {'<' if spoken['less'] else '>'} accuracy({spoken['b']})`"
    return f"write for instance {', '.join(f'`{claim}`' for claim in nearest_claims(text))}"


EVERY = "every dataset"
OTHERS = "every other"
"""Keyword instead of a cell: all other cells, one by one."""
Operator: TypeAlias = Literal[">", "<", ">=", "<=", "=="]
Over: TypeAlias = Literal["teams", "seeds", "datasets", "prompts", "fits"]
LIKE_THESE = "questions like these"
"""What a claim is about: the questions are a sample."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """The mean of a metric of a cell: `metric(name, round=0, agent=quick) per input_tokens`.

    Attributes
    ----------
    metric, name : str
        The name of a cell, or `OTHERS`.
    round : int or None
        The value after this round, 0 being the opening; None for the end of the debate.
    agent : str or None
        The value of this debater's own answers; None for those of the debate.
    per : str or None
        A metric of the same cell whose mean divides this one.
    """

    metric: str
    name: str
    round: int | None = None
    agent: str | None = None
    per: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is a metric of a cell without round, agent or `per`."""
        return self.round is None and self.agent is None and self.per is None

    @property
    def is_of_answers(self) -> bool:
        """Whether it needs every answer and confidence, because scores of debates do not suffice."""
        return self.agent is not None or self.metric in CALIBRATION_METRICS

    def __str__(self) -> str:
        inside = [self.name]
        inside += [f"round={self.round}"] if self.round is not None else []
        inside += [f"agent={self.agent}"] if self.agent is not None else []
        return f"{self.metric}({', '.join(inside)})" + (f" per {self.per}" if self.per else "")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A weighted sum of named means, compared with `offset`; or the ratio of two means, compared with `factor`.

    Attributes
    ----------
    text : str
        The claim as written.
    terms : tuple of (float, Quantity)
        Coefficients of the left side minus the right side. For one mean or a difference of two, the first one is 1.
    operator : str
        The operator between the sum and `offset`, or between the ratio and `factor`.
    offset : float
        In units of the metric; -0.02 for non-inferiority by two points.
    factor : float
        1 unless the claim is about the ratio of two means; never together with an offset.
    margin : float or None
        Half the width of the region of equivalence; set if and only if the operator is `==`.
    dataset : str or None
        A dataset's name, `EVERY`, or None for the mean over datasets.
    over : str or None
        The population that the groups are sampled from: teams, seeds, datasets or prompts; None if only questions are.
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
        """Every metric that the claim needs."""
        named = [metric for one in self.quantities for metric in (one.metric, one.per) if metric]
        return tuple(dict.fromkeys(named))

    @property
    def metric(self) -> str:
        """The metric of the first mean."""
        return self.quantities[0].metric

    @property
    def name(self) -> str:
        """The cell of the first mean."""
        return self.quantities[0].name

    @property
    def reference(self) -> str | None:
        """The cell of the second mean, in a claim about two means."""
        return self.quantities[1].name if len(self.terms) == 2 else None

    @property
    def is_plain(self) -> bool:
        """Whether it is one plain metric of one cell, or of two cells that are subtracted or divided."""
        simple = all(one.is_plain and one.metric == self.metric for one in self.quantities)
        coefficients = tuple(coefficient for coefficient, _ in self.terms)
        return simple and OTHERS not in (self.name, self.reference) and self.over is None and (
            coefficients in ((1.0,), (1.0, -1.0))
        )  # fmt: skip

    @property
    def is_ratio(self) -> bool:
        """Whether means are divided rather than subtracted."""
        return self.factor != 1 or any(one.per for one in self.quantities)


@dataclass(frozen=True, slots=True)
class Slice:
    """Grid points of a method: free axes as written, their levels if the claim orders them, and fixed axes."""

    method: str
    free: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: EMPTY)
    fixed: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Shape:
    """The common part of claims about the grid points of a method."""

    text: str
    metric: str
    slice: Slice

    over = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that the claim needs."""
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
class All:
    """Every one of several claims holds."""

    text: str
    parts: tuple[Comparison | Trend | Best | Front, ...]

    over = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that the claim needs."""
        return tuple(dict.fromkeys(metric for part in self.parts for metric in part.metrics))

    @property
    def metric(self) -> str:
        """The metric of the first part."""
        return self.parts[0].metric

    @property
    def dataset(self) -> str | None:
        """The dataset of all parts, if they have the same."""
        named = {part.dataset for part in self.parts}
        return named.pop() if len(named) == 1 else None


@dataclass(frozen=True, slots=True)
class Front:
    """A cell is on the Pareto front of several metrics: each other cell is worse than it on one of them at least.

    Attributes
    ----------
    text : str
        The claim as written.
    name : str
        The cell.
    metrics : tuple of str
        Each in the direction that is its merit.
    dataset : str or None
        A dataset's name, or None for the mean over datasets.
    """

    text: str
    name: str
    metrics: tuple[str, ...]
    dataset: str | None = None

    over = None

    @property
    def metric(self) -> str:
        """The first metric."""
        return self.metrics[0]


Simple: TypeAlias = Comparison | Trend | Best | Front
Claim: TypeAlias = Simple | All


def parts_of(claim: Claim) -> tuple[Simple, ...]:
    """Return the parts of a claim; a claim without parts is its own only part."""
    return claim.parts if isinstance(claim, All) else (claim,)


def fail(where: str, text: str, what: str, remedy: str = "") -> NoReturn:
    """Raise a SpecError with one problem; the default remedy shows the nearest correct claims."""
    raise SpecError([Problem(where, f"the claim {text!r}: {what}", remedy or advice(text))])

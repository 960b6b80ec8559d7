"""Rows of the tables of verdicts and comparisons: one class for the writer and the readers of each.

The fields of a class are the columns of its file, in their order. The site has them (docs/site/file_pages.py). Only
columns of text need a default: results of earlier versions lack some, and a missing number is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

LATER: Any = partial(field, metadata={"is_later": True})
"""A column that the rule `verdict` adds: tables that were not declared do not have it."""


def columns_of(kind: type[Any]) -> list[str]:
    """Return the columns of a table, by the class of its rows."""
    return [each.name for each in fields(kind) if each.metadata.get("is_column", True)]


def columns_of_tests(kind: type[Any]) -> list[str]:
    """Return the columns of a table that its tests write."""
    return [each.name for each in fields(kind) if not each.metadata]


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A row of comparisons.csv: a cell against its reference; `difference` is cell minus reference.

    The simultaneous interval holds for all differences of the family at once. `exploratory` means that the comparison
    was not declared before the first call as it now is. `alpha` is the experiment's.
    """

    family: str
    dataset: str
    metric: str
    cell: str
    reference: str
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    test: str
    statistic: float | None
    p: float | None
    p_adjusted: float | None
    correction: str
    effect: str = ""
    effect_size: float | None = None
    n_questions: int | None = None
    discordant: float | None = None
    ci_low_simultaneous: float | None = None
    ci_high_simultaneous: float | None = None
    null: str = ""
    note: str = ""
    exploratory: bool = LATER(default=False)
    alpha: float = field(default=0.05, metadata={"is_column": False})

    @property
    def is_significant(self) -> bool:
        """Whether the difference is significant after the correction of its family."""
        return self.p_adjusted is not None and self.p_adjusted <= self.alpha


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A row of hypotheses.csv: a claim and its verdict."""

    claim: str
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    p: float | None
    p_adjusted: float | None
    verdict: str
    test: str = ""
    exploratory: bool = False
    note: str = ""
    null: str = ""
    leans: str = ""
    ci_low_simultaneous: float | None = None
    ci_high_simultaneous: float | None = None
    declared: str = LATER(default="")
    changed: str = LATER(default="")
    runs: str = LATER(default="")
    ledger: str = LATER(default="")
    questions_needed: int | None = LATER(default=None)


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A row of matches.csv: what a matched cell spent, as a share of its budget."""

    dataset: str
    cell: str
    metric: str
    reference: str
    spent: float | None
    budget: float | None
    ratio: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True)
class EffectRow:
    """A row of whatif/effects.csv: what leaving something out changes."""

    dataset: str
    cell: str
    without: str
    whole: float | None
    left_out: float | None
    effect: float | None
    ci_low: float | None
    ci_high: float | None
    ci_low_simultaneous: float | None
    ci_high_simultaneous: float | None
    test: str = ""
    p: float | None = None
    p_adjusted: float | None = None
    correction: str = ""
    n_questions: int | None = None
    changed: float | None = None
    asked: int | None = None
    note: str = ""
    metric: str = "accuracy"


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A row of whatif/causes.csv: how often turns with a label change the answer of their debate."""

    cell: str
    label: str
    turns: int
    changed: int
    other_turns: int
    other_changed: int
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    n_questions: int

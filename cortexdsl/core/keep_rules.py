"""Keep rules: which weighted edges a listener keeps, which candidates of a choice stay (CortexDebate, Eq. 10-12).

A new rule is an entry of `KEEP_RULES`. The language makes its word of it, or its form if it takes a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cortexdsl.core.types import Bools, Floats

Selection: TypeAlias = Callable[[Floats, Bools, float | None], Bools]
"""Selects edges from (S, L) weights, the (S, L) pairs that can be kept (never all False) and the rule's number."""
LeastWeight: TypeAlias = Callable[[Floats, Bools, float | None], Floats]
"""Computes from the same arguments the least weight that each listener keeps: (L,), or one for all."""

TOLERANCE = 1e-9
"""Relative. Equal weights are all kept, whatever the rounding of their mean; the agents' order has no effect."""


@dataclass(frozen=True, slots=True)
class KeepRule:
    """The declaration of a rule.

    Attributes
    ----------
    summary : str
        Which weights it keeps.
    select : Selection
    keeps_somebody : bool
        Whether each listener keeps at least one of its candidates, whatever the weights.
    compares : bool
        Whether it compares weights with each other, so that equal weights decide nothing.
    number : str
        What its number means; empty if it takes none.
    retained : callable or None
        From its number and the number of candidates to how many it keeps (see `Keep.retained`).
    fewest : int
        The least number.
    is_word : bool
        Whether a spec may name it; a condition is written `where:`.
    """

    summary: str
    select: Selection
    keeps_somebody: bool = True
    compares: bool = True
    number: str = ""
    retained: Callable[[int, int], int] | None = None
    fewest: int = 1
    is_word: bool = True


@dataclass(frozen=True, slots=True)
class Keep:
    """A rule with its numbers.

    Attributes
    ----------
    rule : str
        A name of `KEEP_RULES`.
    number : float or None
        k of `top` and `drop_bottom`, the threshold of `above`.
    """

    rule: str
    number: float | None = None

    @property
    def declaration(self) -> KeepRule:
        """The declaration of its rule."""
        return KEEP_RULES[self.rule]

    @property
    def may_keep_nobody(self) -> bool:
        """Whether all weights may be too low."""
        return not self.declaration.keeps_somebody

    def retained(self, candidates: int) -> int | None:
        """Return how many of some candidates its number keeps if all weights differ.

        None if the number does not count agents. Less than 1 means that the number leaves nobody, more than the
        candidates that it has no effect.
        """
        count = self.declaration.retained
        return None if count is None else count(int(self.number or 0), candidates)


KEEP_TRUE = Keep("above", 0.0)
"""Keeps the edges for which a condition holds: a true value is 1, a false one 0."""


def select_edges(weight: Floats, keep: Keep) -> Bools:
    """Select edges by weight.

    Parameters
    ----------
    weight : (S, L) array
        `weight[speaker, listener]`; NaN for pairs that cannot be edges.
    keep : Keep

    Returns
    -------
    (S, L) bool array
    """
    possible = ~np.isnan(weight)
    return keep.declaration.select(weight, possible, keep.number) if possible.any() else possible


def _at_least(least: LeastWeight) -> Selection:
    """Return the selection of all weights that reach a listener's threshold."""

    def select(weight: Floats, possible: Bools, number: float | None) -> Bools:
        return np.asarray(possible & (np.where(possible, weight, -np.inf) >= least(weight, possible, number)))

    return select


def _at_least_ranked(ranks: Callable[[NDArray[np.int_], int], tuple[NDArray[np.int_], ...]]) -> Selection:
    """Return the selection of all weights that reach the mean of some ranks among a listener's ascending weights.

    `ranks` returns them, from 0, from each listener's number of candidates and the rule's number.
    """

    def least(weight: Floats, possible: Bools, number: float | None) -> Floats:
        ordered = np.sort(weight, axis=0)  # impossible pairs are NaN and come last
        ranked = [ordered[rank, np.arange(ordered.shape[1])] for rank in ranks(possible.sum(axis=0), int(number or 0))]
        boundary: Floats = np.asarray(np.add.reduce(ranked) / len(ranked))
        limit: Floats = boundary - TOLERANCE * np.abs(boundary)
        return limit

    return _at_least(least)


def _mean(values: Floats, count: NDArray[np.int_]) -> Floats:
    """Return the mean of each column's `count` values, the others being 0, less its possible rounding error."""
    # The mean magnitude is the scale of the rounding: weights of both signs may have a mean of almost 0.
    total, size = values.sum(axis=0), np.abs(values).sum(axis=0)
    return np.asarray((total - TOLERANCE * size) / np.maximum(count, 1))


def _own_mean(weight: Floats, possible: Bools, number: float | None) -> Floats:
    return _mean(np.where(possible, weight, 0.0), possible.sum(axis=0))


def _overall_mean(weight: Floats, possible: Bools, number: float | None) -> Floats:
    """Return the mean of all weights, or a listener's highest weight if that is less."""
    overall = _mean(weight[possible].reshape(-1, 1), np.array([possible.sum()]))
    return np.asarray(np.minimum(overall, np.where(possible, weight, -np.inf).max(axis=0)))


KEEP_RULES: Mapping[str, KeepRule] = MappingProxyType(
    {
        "mean": KeepRule("at least the mean of the listener's own incoming weights", _at_least(_own_mean)),
        "median": KeepRule(
            "at least the median of the listener's own incoming weights",
            _at_least_ranked(lambda count, number: ((count - 1) // 2, count // 2)),
        ),
        "mean_of_all": KeepRule(
            "at least the mean of all weights; the highest weight of a listener that this leaves nobody",
            _at_least(_overall_mean),
        ),
        "top": KeepRule(
            "the k highest, and weights equal to the lowest of them",
            _at_least_ranked(lambda count, number: (count - np.minimum(number or 1, count),)),
            number="How many of the highest weights are kept.",
            retained=lambda number, candidates: number or 1,
        ),
        "drop_bottom": KeepRule(
            "all but the k lowest, and weights equal to the lowest that is kept",
            _at_least_ranked(lambda count, number: (np.minimum(number, count - 1),)),
            number="How many of the lowest weights are dropped.",
            retained=lambda number, candidates: candidates - number,
            fewest=0,
        ),
        "above": KeepRule(
            "weights greater than a threshold",
            lambda weight, possible, number: possible & (np.where(possible, weight, -np.inf) > (number or 0.0)),
            keeps_somebody=False,
            compares=False,
            is_word=False,
        ),
        "all": KeepRule("every weight", lambda weight, possible, number: possible, compares=False),
    }
)

"""The evaluations of one expression, counted over many debates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cortexdsl.debate.sites import CONDITION
from cortexdsl.terms import Evaluation, Keep


@dataclass(slots=True)
class EvaluationCount:
    """What came of the evaluations of one expression.

    Attributes
    ----------
    keep : Keep
        The rule that keeps by its value.
    evaluations : int
        How often it was evaluated with somebody or something to keep.
    kept, possible : int
        Edges, candidates, turns or conditions that were kept, and that there were.
    emptied : int
        Evaluations after the opening that kept nothing.
    rounds : int
        The most rounds of answers before any evaluation.
    ranges : mapping of name to (float, float)
        The lowest and the highest value of each name.
    is_compared, differs : bool
        Whether there ever were two candidates at once, and two that weighed differently.
    columns, tied : int
        Listeners, or choices, with more candidates than the rule keeps; those of them that kept more, since
        several weighed 0.
    """

    keep: Keep
    evaluations: int = 0
    kept: int = 0
    possible: int = 0
    emptied: int = 0
    rounds: int = 0
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    is_compared: bool = False
    differs: bool = False
    columns: int = 0
    tied: int = 0

    def add(self, seen: Evaluation) -> None:
        """Count one evaluation."""
        possible = ~np.isnan(seen.weight)
        if not possible.any():
            return
        self.evaluations += 1
        self.kept += int(seen.kept.sum())
        self.possible += int(possible.sum())
        self.emptied += seen.rounds > 0 and not seen.kept.any()
        self.rounds = max(self.rounds, seen.rounds)
        for key, value in seen.values.items():
            low, high = self.ranges.get(key, (np.inf, -np.inf))
            array = np.asarray(value, dtype=float)
            self.ranges[key] = float(np.min(array, initial=low)), float(np.max(array, initial=high))
        for column in range(seen.weight.shape[1]):
            self._add_column(seen.weight[possible[:, column], column], seen.kept[possible[:, column], column])

    def _add_column(self, weights: np.ndarray, kept: np.ndarray) -> None:
        if len(weights) < 2:
            return
        self.is_compared = True
        self.differs |= bool(np.ptp(weights) > 0)
        wanted = _wanted(self.keep, len(weights))
        if wanted is not None and len(weights) > wanted:
            self.columns += 1
            self.tied += bool(kept.sum() > wanted and weights[kept].min() == 0)

    @property
    def is_settled(self) -> bool:
        """Whether a condition held for some and not for others, or a weight told two candidates apart."""
        if self.keep == CONDITION:
            return 0 < self.kept < self.possible
        return self.differs or self.keep.rule in ("all", "above")


def _wanted(keep: Keep, candidates: int) -> int | None:
    """Return how many candidates a rule keeps if no two weigh alike; None if that depends on the weights."""
    if keep.floor is not None:
        return None
    if keep.rule == "top":
        return int(keep.number or 1)
    return candidates - int(keep.number or 0) if keep.rule == "drop_bottom" else None

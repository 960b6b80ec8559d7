"""Simulated experiments with a known truth: two methods, right or wrong, in several replicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from cortexdsl.analysis.tests.intervals import quantile, tail
from cortexdsl.errors import InputError
from cortexdsl.terms import Floats

RUNS = 2000


@dataclass(frozen=True, slots=True)
class Truth:
    """How two methods differ on a question.

    Attributes
    ----------
    discordance : float
        Probability that in one replicate exactly one of them is right.
    difference : float
        Expected difference of accuracies.
    correlation : float
        Of a question's differences in two replicates, in [0, 1]. 0: replicates are as good as questions;
        1: they add nothing.
    """

    discordance: float
    difference: float = 0.0
    correlation: float = 0.0

    def __post_init__(self) -> None:
        if not (abs(self.difference) <= self.discordance <= 1 and 0 <= self.correlation <= 1):
            raise InputError(f"no two methods are like this: {self}")

    def deviation(self, replicates: int) -> float:
        """Standard deviation over questions of the mean difference."""
        once = self.discordance - self.difference**2
        return float(np.sqrt(once * (self.correlation + (1 - self.correlation) / replicates)))

    def added(self, questions: int, replicates: int) -> float:
        """Return how many pseudo-questions join on either side, on average (`tests.differences.adjusted`)."""
        square = questions * (self.deviation(replicates) ** 2 + self.difference**2)
        return float((square + 1) / (questions * self._differing(replicates) + 1))

    def _differing(self, replicates: int) -> float:
        """Return the probability that the mean difference on a question is not 0."""
        better, worse = (self.discordance + self.difference) / 2, (self.discordance - self.difference) / 2
        wins = np.arange(replicates // 2 + 1)
        splits = np.stack([wins, wins, replicates - 2 * wins], axis=1)
        equal = float(stats.multinomial.pmf(splits, replicates, [better, worse, 1 - better - worse]).sum())
        return self.correlation * self.discordance + (1 - self.correlation) * (1 - equal)


def simulated_differences(truth: Truth, questions: int, replicates: int, runs: int, seed: int) -> Floats:
    """Mean differences over replicates of simulated experiments, (runs, questions)."""
    random = np.random.default_rng([seed, questions, replicates])
    chances = ((truth.discordance + truth.difference) / 2, (truth.discordance - truth.difference) / 2)
    once = random.random((runs, questions))
    lasting = (once < chances[0]).astype(float) - (once >= 1 - chances[1])
    if replicates == 1 or truth.correlation == 1:
        return np.asarray(lasting)
    counts = random.multinomial(replicates, [*chances, 1 - sum(chances)], (runs, questions))
    fresh = (counts[..., 0] - counts[..., 1]) / replicates
    return np.where(random.random((runs, questions)) < truth.correlation, lasting, fresh)


def simulated_power(
    truth: Truth, questions: int, replicates: int, *, alpha: float = 0.05, null: float = 0.0,
    margin: float | None = None, sign: float = 1.0, runs: int = RUNS, seed: int = 0,
) -> tuple[float, float, float]:  # fmt: skip
    """Return the share of simulated experiments in which a claim comes out supported, and its 95 % interval.

    The tests are those of the verdicts: Bonett-Price, generalised; two one-sided tests within a margin.

    Returns
    -------
    share, low, high : float
        With Clopper and Pearson's interval for the number of runs.
    """
    centre, error = _adjusted(simulated_differences(truth, questions, replicates, runs, seed))
    freedom = questions + 1.0
    if margin is not None:
        p = np.maximum(tail((centre - null + margin) / error, freedom), tail((null + margin - centre) / error, freedom))
        supported = p <= alpha
    else:
        supported = sign * (centre - null) / error >= quantile(freedom, 1 - alpha)
    wins = int(supported.sum())
    low, high = proportion_confint(wins, runs, method="beta")
    return wins / runs, float(low), float(high)


def _adjusted(differences: Floats) -> tuple[Floats, Floats]:
    """Return the centre and standard error of each experiment, as `tests.differences.adjusted` has them."""
    square = (differences**2).sum(axis=1)
    added = (square + 1) / ((differences != 0).sum(axis=1) + 1)
    size = differences.shape[1] + 2 * added
    centre = differences.sum(axis=1) / size
    return centre, np.sqrt((square + 2 * added) / size - centre**2) / np.sqrt(size)

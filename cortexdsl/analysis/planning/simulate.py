"""Simulated experiments with a known truth: two methods, right or wrong, in several replicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from statsmodels.stats.proportion import proportion_confint

from cortexdsl.analysis.tests.intervals import quantile, tail
from cortexdsl.analysis.tests.signflip import sign_flip
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
    """The share of simulated experiments in which a claim comes out supported, and its 95 % interval.

    The tests are those of the verdicts: exact sign-flips at a null value of 0, Bonett-Price at others, two
    one-sided tests within a margin.

    Returns
    -------
    share, low, high : float
        With Clopper and Pearson's interval for the number of runs.
    """
    differences = simulated_differences(truth, questions, replicates, runs, seed)
    if margin is not None:
        centre, error = _adjusted(differences)
        p = np.maximum(tail((centre - null + margin) / error, np.inf), tail((null + margin - centre) / error, np.inf))
        supported = p <= alpha
    elif null == 0:
        p = np.array([flip.p for flip in sign_flip(differences.T, 1 / replicates, seed)])
        supported = (p <= alpha) & (sign * differences.sum(axis=1) > 0)
    else:
        centre, error = _adjusted(differences)
        supported = sign * (centre - null) / error >= quantile(np.inf, 1 - alpha)
    wins = int(supported.sum())
    low, high = proportion_confint(wins, runs, method="beta")
    return wins / runs, float(low), float(high)


def _adjusted(differences: Floats) -> tuple[Floats, Floats]:
    """Bonett and Price's centre and standard error of each experiment."""
    size = differences.shape[1] + 2
    centre = differences.sum(axis=1) / size
    square = (differences**2).sum(axis=1) + 2
    return centre, np.sqrt(square / size - centre**2) / np.sqrt(size)

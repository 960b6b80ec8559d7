"""Power of a comparison by formulas; tests check them by simulated experiments with a known truth.

Differences are in units of the metric (0.05 is five points of accuracy), and errors are two-sided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from cortexdsl.errors import InputError
from cortexdsl.stats.inference.accuracies import null_variance
from cortexdsl.stats.inference.outcomes import quantile

POWER, ALPHA = 0.8, 0.05


def paired_power(questions: int, discordance: float, difference: float, alpha: float = ALPHA) -> float:
    """Return the power of McNemar's test that two accuracies are equal, one replicate.

    The sum, over the number m of discordant questions (binomial), of the probability that their split is significant:
    that wins minus losses are at least z m^(1/2) in size. From 20 questions on the exact test (`paired`) has the same
    power within one point.

    Parameters
    ----------
    questions : int
    discordance : float
        Expected share of questions on which exactly one of two methods is right, in [0, 1].
    difference : float
        Expected difference of accuracies; at most the discordance in size.
    """
    if not abs(difference) <= discordance <= 1:
        raise InputError(
            f"two methods that differ on {discordance:.3g} of questions differ by at most that in accuracy"
        )
    if discordance == 0:
        return 0.0
    spread = 12 * np.sqrt(questions * discordance * (1 - discordance)) + 1
    low, high = (int(np.clip(questions * discordance + s * spread, 0, questions)) for s in (-1, 1))
    discordant = np.arange(low, high + 1)
    chance = stats.binom.pmf(discordant, questions, discordance)
    lead = quantile(np.inf, 1 - alpha) * np.sqrt(discordant)
    fewer = np.floor((discordant - lead) / 2 + 1e-9)  # the most questions that the worse method may win
    win = (1 + difference / discordance) / 2
    reject = stats.binom.cdf(fewer, discordant, win) + stats.binom.cdf(fewer, discordant, 1 - win)
    return float((chance * np.where((fewer >= 0) & (discordant > 0), reject, 0)).sum())


def normal_power(
    questions: int, distance: float, deviation: float, alpha: float = ALPHA, inflation: float = 1.0,
    freedom: float = np.inf,
) -> float:  # fmt: skip
    """Return the power of a two-sided test of a mean `distance` away from its null value, in the right direction.

    `inflation` is the standard error of the test divided by the true one, `freedom` the degrees of freedom of its
    Student's t.
    """
    if deviation <= 0:
        return 1.0 if distance else 0.0
    bound = inflation * stats.t.isf(alpha / 2, freedom)
    return float(stats.norm.cdf(abs(distance) * np.sqrt(questions) / deviation - bound))


def null_inflation(discordance: float, difference: float, null: float) -> float:
    """Return the factor by which the variance under a null value widens the standard error of a paired difference.

    A margin has it if few questions differ: then the accuracies can only be a margin apart if more of them do.
    """
    spread = discordance - difference**2
    if spread <= 0:
        return 1.0
    implied = float(null_variance(np.asarray(difference), np.asarray(discordance), np.asarray(null)))
    return float(np.sqrt(max(1.0, implied / spread)))


def equivalence_power(
    questions: int, margin: float, deviation: float, difference: float, alpha: float = ALPHA, inflation: float = 1.0,
    freedom: float = np.inf,
) -> float:  # fmt: skip
    """Return the power of two one-sided tests to show a difference within +- margin; see `normal_power`."""
    if deviation <= 0:
        return float(abs(difference) < margin)
    error = deviation / np.sqrt(questions)
    reach = margin - inflation * stats.t.isf(alpha, freedom) * error
    if reach <= 0:
        return 0.0
    return float(stats.norm.cdf((reach - difference) / error) - stats.norm.cdf((-reach - difference) / error))


@dataclass(frozen=True, slots=True)
class Truth:
    """The true behaviour of two methods on a question.

    Attributes
    ----------
    discordance : float
        Probability that in one replicate exactly one of them is right.
    difference : float
        Expected difference of accuracies.
    correlation : float
        Of the differences of a question in two replicates, in [0, 1]. At 0 replicates are as good as questions, at 1
        they add nothing.
    """

    discordance: float
    difference: float = 0.0
    correlation: float = 0.0

    def __post_init__(self) -> None:
        if not (abs(self.difference) <= self.discordance <= 1 and 0 <= self.correlation <= 1):
            raise InputError(f"two methods cannot behave like this: {self}")

    def deviation(self, replicates: int) -> float:
        """Return the standard deviation over questions of the mean difference."""
        once = self.discordance - self.difference**2
        return float(np.sqrt(once * (self.correlation + (1 - self.correlation) / replicates)))

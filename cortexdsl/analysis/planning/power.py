"""How many questions a comparison needs, and what a number of them can show. Formulas; simulation checks them.

Differences are in units of the metric (0.05 is five points of accuracy), errors are two-sided.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, stats
from statsmodels.stats.power import TTestPower

from cortexdsl.errors import InputError

POWER, ALPHA = 0.8, 0.05


def miller_questions(
    difference: float, between: float, within: tuple[float, float] = (0.0, 0.0), replicates: tuple[int, int] = (1, 1),
    alpha: float = ALPHA, power: float = POWER,
) -> float:  # fmt: skip
    """Questions that show a difference.

    Parameters
    ----------
    difference : float
    between : float
        Variance over questions of the difference of the two methods' expected scores (omega squared).
    within : (float, float)
        Mean variance of a score within a question (sigma squared), for each method.
    replicates : (int, int)

    References
    ----------
    Miller 2024, arXiv 2411.00640, Eq. 9: (z_(a/2) + z_b)^2 (w^2 + s_A^2 / K_A + s_B^2 / K_B) / d^2.
    """
    if difference == 0:
        raise InputError("no number of questions shows a difference of 0")
    return float(_deviates(alpha, power) ** 2 * _variance(between, within, replicates) / difference**2)


def miller_difference(
    questions: int, between: float, within: tuple[float, float] = (0.0, 0.0), replicates: tuple[int, int] = (1, 1),
    alpha: float = ALPHA, power: float = POWER,
) -> float:  # fmt: skip
    """The smallest difference that a number of questions can show (Miller 2024, Eq. 10)."""
    return float(_deviates(alpha, power) * np.sqrt(_variance(between, within, replicates) / questions))


def replicate_saving(between: float, within: float, replicates: int) -> float:
    """The share by which replicates cut the variance of one mean.

    Parameters
    ----------
    between, within : float
        Variance over questions of the expected score, and mean variance within a question.

    References
    ----------
    Miller 2024, section 3.1: with Var(x) = 1/12 and s^2 = 1/6, K = 2, 4, 6 cut 1/3, 1/2, 5/9.
    """
    return 1 - (between + within / replicates) / (between + within)


def t_test_questions(effect: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Questions that show a paired difference of `effect` standard deviations, by Student's t."""
    return float(TTestPower().solve_power(effect_size=effect, alpha=alpha, power=power))


def paired_power(questions: int, discordance: float, difference: float, alpha: float = ALPHA) -> float:
    """Return the power of Bonett and Price's test that two accuracies are equal, one replicate, exactly.

    Sums, over the number m of discordant questions (binomial), the probability that their split is significant: that
    wins less losses exceed t ((m + 2) / (1 + t^2 / (n + 2)))^(1/2) in size, with Student's t of n + 1 degrees.

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
    bound = float(stats.t.isf(alpha / 2, questions + 1))
    lead = bound * np.sqrt((discordant + 2) / (1 + bound**2 / (questions + 2)))
    fewer = np.floor((discordant - lead) / 2 + 1e-9)  # the most questions that the worse method may win
    win = (1 + difference / discordance) / 2
    reject = stats.binom.cdf(fewer, discordant, win) + stats.binom.cdf(fewer, discordant, 1 - win)
    return float((chance * np.where(fewer >= 0, reject, 0)).sum())


def paired_difference(questions: int, discordance: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Return the smallest difference that one replicate shows with the power; NaN if none can be shown."""

    def lacking(difference: float) -> float:
        return paired_power(questions, discordance, difference, alpha) - power

    if lacking(discordance) < 0:
        return float("nan")
    return float(optimize.brentq(lacking, 1e-6, discordance, xtol=1e-5))


def normal_power(
    questions: int, distance: float, deviation: float, alpha: float = ALPHA, inflation: float = 1.0,
    freedom: float = np.inf,
) -> float:  # fmt: skip
    """Return the power of a two-sided test of a mean `distance` away from its null value, in the right direction.

    `inflation` is what the test's standard error is of the true one, `freedom` that of its Student's t.
    """
    if deviation <= 0:
        return 1.0 if distance else 0.0
    bound = inflation * stats.t.isf(alpha / 2, freedom)
    return float(stats.norm.cdf(abs(distance) * np.sqrt(questions) / deviation - bound))


def bonett_price_inflation(questions: int, deviation: float, added: float = 1.0) -> float:
    """Return how much the pseudo-questions widen the standard error of a paired difference.

    `added` is how many join on either side: 1 with one replicate (Bonett and Price), fewer with several.
    """
    if deviation <= 0:
        return 1.0
    widened = np.sqrt(questions * deviation**2 + 2 * added) / (questions + 2 * added)
    return float(widened * np.sqrt(questions) / deviation)


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


def _deviates(alpha: float, power: float) -> float:
    return float(stats.norm.isf(alpha / 2) + stats.norm.ppf(power))


def _variance(between: float, within: tuple[float, float], replicates: tuple[int, int]) -> float:
    return between + within[0] / replicates[0] + within[1] / replicates[1]

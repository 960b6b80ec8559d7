"""How many questions a comparison needs, and what a number of them can show. Formulas; simulation checks them.

Differences are in units of the metric (0.05 is five points of accuracy), errors are two-sided.
"""

from __future__ import annotations

from math import ceil

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


def mcnemar_power(questions: int, discordance: float, difference: float, alpha: float = ALPHA) -> float:
    """The power of McNemar's exact test, exactly.

    Sums, over the number m of discordant questions (binomial), the probability that their split is significant.

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
    bound = stats.binom.ppf(alpha / 2, discordant, 0.5) - 1  # the largest split with 2 P(X <= split) <= alpha
    bound += 2 * stats.binom.cdf(bound + 1, discordant, 0.5) <= alpha
    win = (1 + difference / discordance) / 2
    reject = stats.binom.cdf(bound, discordant, win) + stats.binom.cdf(bound, discordant, 1 - win)
    return float((chance * np.where(bound >= 0, reject, 0)).sum())


def mcnemar_questions(discordance: float, difference: float, alpha: float = ALPHA, power: float = POWER) -> int:
    """The fewest questions from which on McNemar's exact test has the power; its power is not quite monotone."""
    if difference == 0:
        raise InputError("no number of questions shows a difference of 0")
    guess = _deviates(alpha, power) ** 2 * discordance / difference**2
    high = max(8, ceil(1.5 * guess))
    while mcnemar_power(high, discordance, difference, alpha) < power:
        high *= 2
    low = 1
    while low < high:
        middle = (low + high) // 2
        if mcnemar_power(middle, discordance, difference, alpha) >= power:
            high = middle
        else:
            low = middle + 1
    while mcnemar_power(low + 1, discordance, difference, alpha) < power:
        low += 1
    return low


def mcnemar_difference(questions: int, discordance: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """The smallest difference that McNemar's exact test shows with the power; NaN where none can be shown."""

    def lacking(difference: float) -> float:
        return mcnemar_power(questions, discordance, difference, alpha) - power

    if lacking(discordance) < 0:
        return float("nan")
    return float(optimize.brentq(lacking, 1e-6, discordance, xtol=1e-5))


def normal_power(
    questions: int, distance: float, deviation: float, alpha: float = ALPHA, inflation: float = 1.0
) -> float:
    """The power of a two-sided test of a mean `distance` away from its null value, in the right direction.

    `inflation` is what the test's standard error is of the true one.
    """
    if deviation <= 0:
        return 1.0 if distance else 0.0
    bound = inflation * stats.norm.isf(alpha / 2)
    return float(stats.norm.cdf(abs(distance) * np.sqrt(questions) / deviation - bound))


def bonett_price_inflation(questions: int, deviation: float) -> float:
    """How much Bonett and Price's two pseudo-questions widen the standard error of a paired difference."""
    if deviation <= 0:
        return 1.0
    adjusted = np.sqrt(questions * deviation**2 + 2) / (questions + 2)
    return float(adjusted * np.sqrt(questions) / deviation)


def sign_flip_power(
    questions: int, difference: float, deviation: float, replicates: int, alpha: float = ALPHA
) -> float:
    """The power of the sign-flip test of mean differences over replicates, in the right direction.

    The normal approximation to it: the spread under sign flips is that around 0, and half a step of the lattice of
    sums (1 / replicates) is lost.

    Parameters
    ----------
    deviation : float
        Standard deviation over questions of the mean difference.
    """
    if deviation <= 0:
        return normal_power(questions, difference, deviation, alpha)
    root = np.sqrt(questions)
    reached = (abs(difference) - 1 / (replicates * questions)) * root / deviation
    return float(stats.norm.cdf(reached - stats.norm.isf(alpha / 2) * np.sqrt(1 + (difference / deviation) ** 2)))


def equivalence_power(
    questions: int, margin: float, deviation: float, difference: float, alpha: float = ALPHA, inflation: float = 1.0
) -> float:
    """The power of two one-sided tests to show a difference within +- margin, by the normal distribution."""
    if deviation <= 0:
        return float(abs(difference) < margin)
    error = deviation / np.sqrt(questions)
    reach = margin - inflation * stats.norm.isf(alpha) * error
    if reach <= 0:
        return 0.0
    return float(stats.norm.cdf((reach - difference) / error) - stats.norm.cdf((-reach - difference) / error))


def _deviates(alpha: float, power: float) -> float:
    return float(stats.norm.isf(alpha / 2) + stats.norm.ppf(power))


def _variance(between: float, within: tuple[float, float], replicates: tuple[int, int]) -> float:
    return between + within[0] / replicates[0] + within[1] / replicates[1]

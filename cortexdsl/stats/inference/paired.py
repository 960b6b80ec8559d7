"""The exact test of two accuracies on the same questions, one replicate.

The data are the questions that only the first method has right (wins) and those that only the second has (losses). All
results are ordered by Tango's lower limit at 97.5 %. The p-value against a null value is the largest probability of a
result at or beyond the observed one, over all shares of questions that differ. Shares that the observed number of
differing questions rules out at one in a million are left out, and this millionth is added (Berger and Boos). So no
verdict errs more often than its level says, whatever the share is. One order serves all null values: p falls as the
null value moves away from the estimate, and the interval is the null values that are not rejected.

References
----------
Tango 1998, Stat Med 17:891 (order); Suissa and Shuster 1991, Biometrics 47:361, and Hsueh, Liu and Chen 2001,
Biometrics 57:478 (exact unconditional tests of pairs); Berger and Boos 1994, JASA 89:1012.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from cortexdsl.core import Floats
from cortexdsl.stats.inference.accuracies import null_variance
from cortexdsl.stats.inference.outcomes import LEVEL, quantile
from cortexdsl.stats.inference.roots import crossing

MOST_QUESTIONS = 200
"""With more, the score test errs in at most 2.8 % on a side, and the exact one takes up to a second."""
_RULED_OUT = 1e-6
_SHARES = 60


def score(wins: Floats, losses: Floats, questions: int, null: float) -> Floats:
    """Return Tango's score of results against a null value; 0 if no question differs and the null value is 0."""
    mean, square = (wins - losses) / questions, (wins + losses) / questions
    variance = null_variance(mean, square, np.asarray(null)) / questions
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num((mean - null) / np.sqrt(variance), nan=0.0, posinf=np.inf, neginf=-np.inf)


@dataclass(frozen=True, slots=True)
class Paired:
    """The questions that exactly one of two methods has right, and the number of all questions."""

    wins: int
    losses: int
    questions: int

    def sides(self, null: float) -> tuple[float, float]:
        """Return one-sided p-values against "at most" and "at least" the null value."""
        mirrored = Paired(self.losses, self.wins, self.questions)
        return _above(self, null), _above(mirrored, -null)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the null values that a two-sided test at 1 - level does not reject."""
        mirrored = Paired(self.losses, self.wins, self.questions)
        return _low(self, (1 - level) / 2), -_low(mirrored, (1 - level) / 2)


@lru_cache(maxsize=4096)
def _low(pair: Paired, alpha: float) -> float:
    estimate = (pair.wins - pair.losses) / pair.questions
    return crossing(lambda null: _above(pair, null) - alpha, -1.0, estimate, 1e-8)


@lru_cache(maxsize=4096)
def _above(pair: Paired, null: float) -> float:
    """Return the p-value against "at most the null value"."""
    beyond = _beyond(pair)
    shares = np.maximum(beyond.shares, abs(null))[:, None]
    number, fewest, questions = beyond.discordant, beyond.fewest, pair.questions
    win = np.clip((1 + null / shares) / 2, 0, 1)
    tails = special.betainc(np.maximum(fewest, 1), np.maximum(number - fewest + 1, 1), win)
    tails = np.where(fewest == 0, 1.0, np.where(fewest > number, 0.0, tails))
    chances = np.exp(beyond.ways + special.xlogy(number, shares) + special.xlogy(questions - number, 1 - shares))
    return min(1.0, float((chances * tails).sum(axis=1).max()) + _RULED_OUT)


@dataclass(frozen=True, slots=True, eq=False)
class _Beyond:
    """The results at or beyond an observed one: those whose lower limit is at least as high.

    Attributes
    ----------
    discordant, fewest, ways : (numbers,) arrays
        Numbers of questions that differ, the fewest wins among them, and the log of the number of such choices.
    shares : array
        The shares of questions that differ which the observed result does not rule out.
    """

    discordant: Floats
    fewest: Floats
    ways: Floats
    shares: Floats


@lru_cache(maxsize=512)
def _beyond(pair: Paired) -> _Beyond:
    """Return the results at or beyond this one: those whose score against its limit is at least as large."""
    questions, bound = pair.questions, quantile(np.inf)
    own = (np.array(float(pair.wins)), np.array(float(pair.losses)), questions)
    estimate = (pair.wins - pair.losses) / questions
    limit = crossing(lambda null: bound - float(score(*own, null)), -1 + 1e-9, estimate)
    number = np.arange(questions + 1.0)
    wins = number[None]
    less = score(wins, number[:, None] - wins, questions, limit) < float(score(*own, limit)) - 1e-9
    fewest = (less & (wins <= number[:, None])).sum(axis=1).astype(np.float64)
    seen = pair.wins + pair.losses
    low = special.betaincinv(seen, questions - seen + 1, _RULED_OUT / 2) if seen else 1e-12
    high = special.betainccinv(seen + 1, questions - seen, _RULED_OUT / 2) if seen < questions else 1.0
    ways = special.gammaln(questions + 1) - special.gammaln(number + 1) - special.gammaln(questions - number + 1)
    return _Beyond(number, fewest, ways, np.linspace(low, high, _SHARES))

"""Random signs of whole questions, and McNemar's exact test.

If methods are exchangeable within a question, the sign of the question's contrasts is a fair coin. All sign patterns
are enumerated if they are few, otherwise drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from cortexdsl.terms import Floats

DRAWS = 10_000
ENUMERATED = 13  # 2^13 patterns are fewer than the draws
TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Flip:
    """A two-sided sign-flip p-value.

    Attributes
    ----------
    p : float
    error : float or None
        The Monte Carlo standard error of `p`; None where it is exact.
    """

    p: float
    error: float | None = None


@lru_cache(maxsize=ENUMERATED + 1)
def patterns(count: int) -> Floats:
    """All patterns of signs, (2^count, count)."""
    bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    return np.asarray(2.0 * bits - 1)


def random_signs(units: int, draws: int, seed: int) -> list[Floats]:
    """Fair signs in blocks of (up to 1,000, units), the same for the same arguments."""
    random = np.random.default_rng([seed, units])
    sizes = [min(1000, draws - start) for start in range(0, draws, 1000)]
    return [np.where(random.random((size, units), dtype=np.float32) < 0.5, -1.0, 1.0) for size in sizes]


def mcnemar_p(first_only: int, second_only: int) -> float:
    """Return McNemar's exact two-sided p.

    Parameters
    ----------
    first_only, second_only : int
        Questions that only the first, only the second method has right.

    References
    ----------
    McNemar 1947, Psychometrika 12:153.
    """
    pairs = first_only + second_only
    return float(min(1.0, 2 * stats.binom.cdf(min(first_only, second_only), pairs, 0.5)))

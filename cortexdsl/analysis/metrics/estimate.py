"""One number and its interval for each metric of each cell: metrics.csv.

The unit is the question (or its declared cluster); replicates are averaged within it first. Every metric is a
ratio of two sums over units: of its values and of how many there are, or of its two columns. A question without
a value says nothing and is counted out.

Intervals (95 % unless said):

- a yes or no (a score of 0 or 1, consensus, a tie): Wilson's, at the effective number of questions
  p (1 - p) / SE^2, which is their number for one replicate, and at most questions x replicates for several, made
  fewer where few units tell the variance (Korn and Graubard 1998);
- all else with 20 to 2000 units: bias-corrected and accelerated bootstrap over units, seeded;
- all else with fewer, where the bootstrap is too narrow, or more, where it says nothing new: Student's t on the
  linearised ratio, kept within [0, 1] for shares;
- one unit: none.

Over datasets (`all`) the estimate is the plain mean, as the papers average. Wilson's limits are then combined by
MOVER (Zou and Donner 2008, Stat Med 27:1693, Eq. 3): L = m - sqrt(sum (m_k - l_k)^2) / K, and U likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cortexdsl.analysis.tests.bootstrap import Resampled, bca
from cortexdsl.analysis.tests.intervals import LEVEL, bias_reduction, few_units, satterthwaite, wilson
from cortexdsl.terms import Floats
from cortexdsl.terms.metrics import Metric

FEW, MANY = 20, 2000
DRAWS = 4000


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """One metric of one cell on one dataset, by unit.

    Attributes
    ----------
    top, bottom : (units,) arrays
        What is divided: sums over the unit's questions of the values and of the weights they count with.
    questions : int
        Questions that have a value.
    rows : int
        Values, all replicates.
    binary : bool
        A yes or no: every value is 0 or 1, and not by accident.
    """

    top: Floats
    bottom: Floats
    questions: int
    rows: int
    binary: bool

    @property
    def estimate(self) -> float:
        """Sum over sum; NaN where there is nothing."""
        return float(self.top.sum() / self.bottom.sum()) if self.bottom.sum() > 0 else float("nan")

    @property
    def influence(self) -> Floats:
        """What each unit moves the estimate by, to first order; sums to 0."""
        return np.asarray((self.top - self.estimate * self.bottom) / self.bottom.sum())

    @property
    def informative(self) -> int:
        """Units that count with a weight."""
        return int((self.bottom > 0).sum())

    @property
    def weights(self) -> Floats:
        """Share of each informative unit in the weights; sums to 1."""
        return np.asarray(self.bottom[self.bottom > 0] / self.bottom.sum())

    @property
    def error(self) -> float:
        """Standard error of the estimate (linearised, factor C / (C - 1) over informative units)."""
        n = self.informative
        return float(np.sqrt(n / (n - 1) * (self.influence**2).sum())) if n > 1 else float("nan")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval, and what it rests on; NaN is unknown."""

    value: float
    low: float
    high: float
    questions: int


def estimate(metric: Metric, parts: Sequence[Sums], seed: int, level: float = LEVEL) -> Estimate:
    """Estimate a metric of a cell on one dataset, or its mean over several.

    Parameters
    ----------
    metric : Metric
    parts : sequence of Sums
        One for each dataset; at least one.
    seed : int
        Of the bootstrap.
    level : float
        Of the interval, in (0, 1).
    """
    values = np.array([part.estimate for part in parts])
    questions = sum(part.questions for part in parts)
    value = float(values.mean())
    if np.isnan(value) or min(part.informative for part in parts) < 2:
        return Estimate(value, float("nan"), float("nan"), questions)
    if all(part.binary for part in parts):
        limits = [_wilson(part, level) for part in parts]
        low, high = limits[0] if len(limits) == 1 else _mover(values, np.array(limits))
    elif all(part.informative >= FEW and len(part.top) <= MANY for part in parts):
        low, high = _bootstrap(parts, seed, level)
    else:
        low, high = _student(parts, level)
        if metric.unit == "share":
            low, high = max(low, 0.0), min(high, 1.0)
    return Estimate(value, low, high, questions)


def _wilson(part: Sums, level: float) -> tuple[float, float]:
    p, units = part.estimate, part.informative
    variance = float(bias_reduction(part.weights) @ part.influence[part.bottom > 0] ** 2)
    trials = float(units)
    single = units == part.questions and np.isin(part.top[part.bottom > 0], (0, 1)).all()
    if not single:  # where each unit is one yes or no, p says its variance
        alike = part.rows if 0 < p < 1 else units
        trials = min(p * (1 - p) / variance, part.rows) if variance > 0 else alike
        trials = few_units(trials, satterthwaite(part.weights), level)
    low, high = wilson(p * trials, trials, level)
    return 0.0 if p == 0 else low, 1.0 if p == 1 else high  # exact there, but for rounding


def _mover(values: Floats, limits: Floats) -> tuple[float, float]:
    below, above = np.sqrt(((limits - values[:, None]) ** 2).sum(axis=0)) / len(values)
    return float(values.mean() - below), float(values.mean() + above)


def _student(parts: Sequence[Sums], level: float) -> tuple[float, float]:
    freedom = sum(part.informative - 1 for part in parts)
    error = float(np.sqrt(sum(part.error**2 for part in parts))) / len(parts)
    value = float(np.mean([part.estimate for part in parts]))
    reach = float(stats.t.isf((1 - level) / 2, freedom)) * error
    return value - reach, value + reach


def _bootstrap(parts: Sequence[Sums], seed: int, level: float) -> tuple[float, float]:
    value = np.array([np.mean([part.estimate for part in parts])])
    draws = np.mean([_draws(part, seed, k) for k, part in enumerate(parts)], axis=0)[:, None]
    pull = np.concatenate([part.influence for part in parts])
    square = (pull**2).sum()
    skew = np.array([(pull**3).sum() / (6 * square**1.5) if square > 0 else 0.0])
    error = np.array([np.sqrt(sum(part.error**2 for part in parts)) / len(parts)])
    low, high = bca(Resampled(value, error, draws, np.full_like(draws, error[0]), skew), level)
    return float(low[0]), float(high[0])


def _draws(part: Sums, seed: int, dataset: int) -> Floats:
    """Return bootstrap estimates, (DRAWS,); a resample without any weight repeats the estimate."""
    counts = _counts(seed, dataset, len(part.top))
    top, bottom = counts @ part.top, counts @ part.bottom
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), part.estimate)


@lru_cache(maxsize=8)
def _counts(seed: int, dataset: int, units: int) -> NDArray[np.float32]:
    """Return how often each unit is drawn, (DRAWS, units): once for all metrics and cells of a dataset."""
    random = np.random.default_rng([seed, dataset, units])
    drawn = random.integers(0, units, (DRAWS, units)) + np.arange(DRAWS)[:, None] * units
    return np.bincount(drawn.ravel(), minlength=DRAWS * units).reshape(DRAWS, units).astype(np.float32)

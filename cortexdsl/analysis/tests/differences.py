"""Contrasts of accuracies: one statistic for every null value, so that p-values and intervals always agree.

Each dataset is joined by one pseudo-question in favour of each side. For two methods and one replicate that is
the interval of Bonett and Price. Means over replicates differ by less than whole questions do, and so does what
joins them: the pseudo-questions count as much as a typical question that differs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cortexdsl.analysis.tests.intervals import LEVEL, bias_reduction, freedom_of, quantile, tail
from cortexdsl.analysis.units.units import Units
from cortexdsl.terms import Floats

_NOTHING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Adjusted:
    """Contrasts with pseudo-questions.

    Attributes
    ----------
    centre, error : (tests,) arrays
        Adjusted contrasts and their standard errors.
    freedom : float
        Of Student's t.
    """

    centre: Floats
    error: Floats
    freedom: float

    def sides(self, null: Floats) -> tuple[Floats, Floats]:
        """Return one-sided p-values against "at most" and "at least" the null values, (tests,)."""
        statistic = (self.centre - null) / self.error
        return tail(statistic, self.freedom), tail(-statistic, self.freedom)

    def interval(self, level: float = LEVEL) -> tuple[Floats, Floats]:
        """Return the null values that a two-sided test at 1 - level does not reject, (tests,) each."""
        ends = quantile(self.freedom, level) * self.error
        return self.centre - ends, self.centre + ends


def adjusted(sample: Units, weights: Floats, reach: Floats) -> Adjusted:
    """Add pseudo-questions to contrasts of accuracies.

    In each dataset of n questions, k questions are added at `+reach` and k at `-reach`, where k is the mean of
    (contrast / reach)^2 over the questions on which the contrast differs from 0, and one more question at `reach`.
    With one replicate and two methods k = 1: the interval of Bonett and Price. k shrinks with the contrasts when
    replicates are averaged, so that the added spread is always that of about two questions that differ.

    The quantiles are Student's with n + 1 degrees of freedom, one less than the questions and two pseudo-questions.
    Those of the normal distribution hold at 5 %, but at the small levels of a correction the test then errs up to five
    times as often as stated. With clusters the standard error is CR2, with Satterthwaite's degrees of freedom.

    Parameters
    ----------
    sample : Units
        Of 0/1 rows.
    weights : (tests, cells) array
        Contrasts whose true values are compared with null values.
    reach : (tests,) array
        The largest contrast that one question can show: 1 for two methods.

    References
    ----------
    Bonett and Price 2012, J Educ Behav Stat 37:479; Fagerland, Lydersen and Laake 2014, Stat Med 33:2850.
    """
    values = np.stack([row[row != 0] @ sample.values[row != 0] for row in weights])
    differ = np.stack([np.ptp(sample.values[row != 0], axis=0) > _NOTHING for row in weights])
    parts = contributions_of(sample, weights)
    centre, variance, share = np.zeros(len(weights)), np.zeros(len(weights)), 1 / len(sample.sizes)
    ends = np.cumsum([0, *sample.sizes])
    for stratum, size in enumerate(sample.sizes):
        units, here = sample.stratum == stratum, slice(ends[stratum], ends[stratum + 1])
        square = np.where(differ[:, here], (values[:, here] / reach[:, None]) ** 2, 0.0)
        added = (square.sum(axis=1) + 1) / ((square > _NOTHING).sum(axis=1) + 1)
        scale = size / (size + 2 * added)
        mean = parts[units].sum(axis=0) * scale
        own = sample.share[units] / sample.share[units].sum()
        residual = parts[units] * scale - mean * own[:, None] * scale
        pseudo = 2 * added * ((reach * share) ** 2 + mean**2) / (size + 2 * added) ** 2
        factor = bias_reduction(own) if sample.clustered else np.ones(len(own))
        centre += mean
        variance += factor @ residual**2 + pseudo
    return Adjusted(centre, np.sqrt(variance), freedom_of(sample, added=0 if sample.clustered else 2))


def contributions_of(sample: Units, weights: Floats) -> Floats:
    """Return what units contribute to contrasts, (units, tests); cells of weight 0 may hold NaN."""
    return np.stack([sample.parts[row != 0].T @ row[row != 0] for row in weights], axis=1)

"""Bayesian comparisons, on request: the probability that a method is better, worse, or practically the same.

Better is the declared direction of the metric: fewer tokens are better. For a metric without a better direction
(consensus, density) the column of better means higher, and `better` says `neither`.

On one dataset the posterior of the mean difference is Student's t around its estimate, with the (cluster-robust)
standard error of the units: flat priors on the mean and the log of the standard deviation. This differs from baycomp's
`two_on_single`, which corrects for overlapping training sets of cross-validation; questions have no such overlap, and
the correction would double the variance. Over several datasets the Bayesian signed-rank test is baycomp's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from cortexdsl.claims.arms import arms_of, find_arm
from cortexdsl.core import Family
from cortexdsl.errors import InputError
from cortexdsl.stats.inference.contrasts import gap_of
from cortexdsl.stats.inference.outcomes import standard_error
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.tables.units import units

BAYES_COLUMNS = (
    "family", "dataset", "metric", "cell", "reference", "rope", "p_worse", "p_equivalent", "p_better", "posterior",
    "better",
)  # fmt: skip


def difference_posterior(mean: float, error: float, freedom: float, rope: float) -> tuple[float, float, float]:
    """Return P(difference < -rope), P(within), P(> rope) under Student's t; without an error, a point at the mean.

    References
    ----------
    Gelman et al. 2013, Bayesian Data Analysis, section 3.2.
    """
    if error <= 0:
        return float(mean < -rope), float(-rope <= mean <= rope), float(mean > rope)
    low, high = stats.t.cdf([-rope, rope], freedom, mean, error)
    return float(low), float(high - low), float(1 - high)


def signed_rank_posterior(
    differences: Sequence[float], rope: float, seed: int, draws: int = 20_000
) -> tuple[float, float, float]:
    """Return the same three probabilities for another dataset, by the Bayesian signed-rank test over datasets.

    Raises
    ------
    InputError
        The package baycomp is not installed.

    References
    ----------
    Benavoli, Corani, Demsar and Zaffalon 2017, JMLR 18:77.
    """
    try:
        import baycomp
    except ImportError:
        raise InputError(
            "a Bayesian reading over several datasets needs baycomp\n    pip install 'cortexdsl[bayes]'"
        ) from None
    values = np.asarray(differences)
    posterior: Any = baycomp.two_on_multiple(np.zeros(len(values)), values, rope, nsamples=draws, random_state=seed)
    return (
        (float(posterior[0]), 0.0, float(posterior[1]))
        if rope == 0
        else (float(posterior[0]), float(posterior[1]), float(posterior[2]))
    )


def bayes_families(
    scores: pd.DataFrame | ScoreTable,
    families: Sequence[Family],
    metrics: Sequence[str],
    rope: float,
    seed: int,
) -> pd.DataFrame:
    """Return the posterior probabilities of every comparison of the families.

    Parameters
    ----------
    rope : float
        Half the width of the region of practical equivalence, in units of the metric; at least 0.

    Returns
    -------
    DataFrame
        `BAYES_COLUMNS`; with several datasets one more row (`all`) for another dataset like these.
    """
    if rope < 0:
        raise InputError(f"a region of practical equivalence has a half-width of at least 0, not {rope}")
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    known = arms_of(table.cells)
    rows = []
    for family in families:
        reference = find_arm(known, family.to).cell
        for name in family.compare:
            pair = (find_arm(known, name).cell, reference)
            for metric in metrics:
                better = table.metric(metric).better
                gain = -1.0 if better == "lower" else 1.0
                head, differences = (family.name, metric, *pair, better), []
                for dataset in table.datasets:
                    sample = units(table, metric, pair, (dataset,))
                    if gap_of(sample, (0, 1)):
                        continue
                    parts = gain * (sample.parts[0] - sample.parts[1])[:, None]
                    mean, error = float(parts.sum()), float(standard_error(sample, parts)[0])
                    posterior = difference_posterior(mean, error, max(len(parts) - 1, 1), rope)
                    rows.append(_row(head, dataset, rope, posterior, "t"))
                    differences.append(mean)
                if len(differences) > 1:
                    posterior = signed_rank_posterior(differences, rope, seed)
                    rows.append(_row(head, "all", rope, posterior, "signed rank over datasets"))
    return pd.DataFrame(rows, columns=list(BAYES_COLUMNS))


def _row(
    head: tuple[str, str, str, str, str], dataset: str, rope: float, read: tuple[float, float, float], posterior: str
) -> tuple[Any, ...]:
    family, metric, cell, reference, better = head
    return family, dataset, metric, cell, reference, rope, *read, posterior, better

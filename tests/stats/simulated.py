"""Simulated experiments with a known truth, which check the formulas of power."""

from __future__ import annotations

import numpy as np
from statsmodels.stats.proportion import proportion_confint

from cortexdsl.core import Floats
from cortexdsl.stats.inference.accuracies import ADDED, score_tests_of_parts
from cortexdsl.stats.inference.paired import MOST_QUESTIONS, Paired
from cortexdsl.stats.planning.power import Truth

RUNS = 2000


def simulated_differences(truth: Truth, questions: int, replicates: int, runs: int, seed: int) -> Floats:
    """Return mean differences over replicates of simulated experiments, (runs, questions)."""
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
    """Return the share of simulated experiments that support a claim, and its 95 % interval.

    The tests are those of verdicts; two one-sided tests within a margin.

    Returns
    -------
    share, low, high : float
        With Clopper and Pearson's interval for the number of runs.
    """
    differences = simulated_differences(truth, questions, replicates, runs, seed)
    if margin is not None:
        p = np.maximum(_sides(differences, null - margin)[0], _sides(differences, null + margin)[1])
        supported = p <= alpha
    else:
        supported = _sides(sign * differences, sign * null)[0] <= alpha / 2
    wins = int(supported.sum())
    low, high = proportion_confint(wins, runs, method="beta")
    return wins / runs, float(low), float(high)


def _sides(differences: Floats, null: float) -> tuple[Floats, Floats]:
    """Return one-sided p-values of each experiment, (runs,), as verdicts have them."""
    questions = differences.shape[1]
    if questions <= MOST_QUESTIONS and np.isin(differences, (-1.0, 0.0, 1.0)).all():
        counts = np.stack([(differences > 0).sum(axis=1), (differences < 0).sum(axis=1)], axis=1)
        splits, places = np.unique(counts, axis=0, return_inverse=True)
        above, below = np.array([Paired(int(w), int(v), questions).sides(null) for w, v in splits])[places.ravel()].T
        return above, below
    parts = differences.T / questions
    error = differences.std(axis=1, ddof=1) / np.sqrt(questions)
    tests = score_tests_of_parts(
        parts, np.full(questions, 1 / questions), error, questions - 1 + 2 * ADDED, np.ones(parts.shape[1])
    )
    return tests.sides(np.full(parts.shape[1], null))

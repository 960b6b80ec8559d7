"""Cross-validation: how well a kind of function predicts questions that it was not fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from scipy import stats

from cortexdsl.core import Floats
from cortexdsl.expressions.evaluation import evaluate, parse
from cortexdsl.stats.fitting.features import FitTable
from cortexdsl.stats.fitting.kinds import FitError, FittedFunction, fit, log_loss

FOLDS = 5
NOISE = 0.05
"""A fit is noise unless its log loss is below that of the base rate with a p below this (one-sided)."""


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """The scores of a fit in cross-validation.

    Attributes
    ----------
    scores : mapping of str to mapping
        By name, of the `fit` and of the `base` rate of the other folds: `log_loss` in nats; `brier`, the squared error
        in units of what is predicted; `auc`, how often a row with a higher target has the higher prediction (None if
        all targets are equal).
    p : float
        One-sided, of no improvement of the log loss, over questions.
    """

    scores: Mapping[str, Mapping[str, float | None]]
    p: float

    @property
    def is_noise(self) -> bool:
        """Whether it is not shown that the fit predicts better than the base rate."""
        return not self.p < NOISE


def check_table(table: FitTable) -> None:
    """Refuse a table on which nothing can be fitted.

    Raises
    ------
    FitError
        There are no rows, all targets are equal, or there are too few questions.
    """
    questions, columns = len(set(table.clusters)), len(table.arrays)
    if not len(table.target):
        raise FitError("no debate about its questions was finished with a readable answer", "look at these debates")
    if float(np.ptp(table.target)) == 0:
        raise FitError(
            f"its target is {table.target[0]:g} in all {len(table.target)} rows, so that nothing can be predicted",
            "fit on questions that are neither too easy nor too hard, or on more of them",
        )
    if questions <= max(columns, FOLDS - 1):
        needed = f"{columns} columns of features" if columns >= FOLDS else f"{FOLDS} folds of cross-validation"
        raise FitError(
            f"{questions} questions are too few for {needed}", "fit on more questions, or from fewer features"
        )


def predictions(function: FittedFunction, table: FitTable) -> Floats:
    """Return what a function predicts for each row of a table."""
    values = evaluate(parse(function.expression), table.arrays)
    return np.array(np.clip(np.broadcast_to(values, table.target.shape), 0.0, 1.0), dtype=float)


def validate(kind: str, table: FitTable, scale: float = 1.0) -> CrossValidation:
    """Cross-validate a kind of function: each question is predicted by a fit on the other folds' questions.

    A target has `scale` units of what is predicted.
    """
    folds = _folds(table.clusters)
    predicted, base = np.zeros(len(table.target)), np.zeros(len(table.target))
    for fold in range(FOLDS):
        held, seen = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        training = table.rows([int(k) for k in seen])
        predicted[held] = predictions(fit(kind, training), table.rows([int(k) for k in held]))
        base[held] = training.target.mean()
    given = {"fit": predicted, "base": base}
    losses = {name: log_loss(table.target, values) for name, values in given.items()}
    errors = {name: float(((values - table.target) ** 2).mean()) * scale**2 for name, values in given.items()}
    means = {name: float(values.mean()) for name, values in losses.items()}
    scores: dict[str, Mapping[str, float | None]]
    scores = {"log_loss": means, "brier": errors, "auc": {"fit": _auc(table.target, predicted), "base": 0.5}}
    return CrossValidation(scores, _p_above_zero(_by_question(losses["base"] - losses["fit"], table.clusters)))


def _folds(clusters: Sequence[str]) -> Floats:
    """Return the fold of each row: questions in an order that depends on their ids alone are dealt out in turn."""
    order = sorted(set(clusters), key=lambda cluster: sha256(cluster.encode()).hexdigest())
    fold = {cluster: k % FOLDS for k, cluster in enumerate(order)}
    return np.array([fold[cluster] for cluster in clusters])


def _by_question(values: Floats, clusters: Sequence[str]) -> Floats:
    names = {name: k for k, name in enumerate(dict.fromkeys(clusters))}
    rows = np.array([names[cluster] for cluster in clusters])
    return np.asarray(np.bincount(rows, weights=values) / np.bincount(rows), dtype=float)


def _p_above_zero(values: Floats) -> float:
    """Return the one-sided p of a mean that is not above 0 (t test)."""
    if float(np.ptp(values)) == 0:
        return 1.0 if values[0] <= 0 else 0.0
    return float(stats.ttest_1samp(values, 0, alternative="greater").pvalue)


def _auc(target: Floats, predicted: Floats) -> float | None:
    high, low = predicted[target > 0.5], predicted[target <= 0.5]
    if not len(high) or not len(low):
        return None
    return float(stats.mannwhitneyu(high, low, method="asymptotic").statistic) / (len(high) * len(low))

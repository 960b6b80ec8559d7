"""The kinds of fitted functions. Each is returned as an expression over the columns of a table.

Each predicts the mean of a target in [0, 1]. Coefficients have six digits, so that equal tables give equal files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, xlogy

from cortexdsl.core import Floats
from cortexdsl.numbers import counted
from cortexdsl.stats.fitting.features import FitTable

Rows: TypeAlias = npt.NDArray[np.intp]
PENALTY = 1.0
"""The ridge penalty of a logistic regression on standardised columns; it keeps coefficients finite."""
MOST_GROUPS = 50
"""The most combinations of values of a table."""
LEAF_SHARE = 0.1
"""The share of the rows that a leaf of a tree has at least."""
DEPTH = 2


class FitError(ValueError):
    """A function cannot be fitted on a table; the text says why, the second argument what to do."""


@dataclass(frozen=True, slots=True)
class FittedFunction:
    """A fitted function: an expression over the columns of its table, and its coefficients for people."""

    expression: str
    coefficients: Mapping[str, float]


def fit(kind: str, table: FitTable) -> FittedFunction:
    """Fit a function of a kind.

    Raises
    ------
    FitError
        The table has too many combinations of values.
    """
    return KINDS[kind](table)


def _logistic(table: FitTable) -> FittedFunction:
    """Fit a logistic regression with a ridge penalty; targets between 0 and 1 are fractions (a quasi-likelihood)."""
    columns = table.arrays
    centre = np.array([array.mean() for array in columns.values()])
    spread = np.array([array.std() or 1.0 for array in columns.values()])
    design = (np.column_stack(list(columns.values())) - centre) / spread
    target = table.target

    def loss(weights: Floats) -> tuple[float, Floats]:
        at = weights[0] + design @ weights[1:]
        slope = expit(at) - target
        value = float(np.sum(np.logaddexp(0, at) - target * at) + PENALTY / 2 * np.sum(weights[1:] ** 2))
        return value, np.concatenate([[slope.sum()], design.T @ slope + PENALTY * weights[1:]])

    start = np.zeros(1 + len(columns))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 10_000})
    slopes = found.x[1:] / spread
    intercept = found.x[0] - float(slopes @ centre)
    linear = " + ".join(
        [_number(intercept), *(f"{_number(w)} * {name}" for name, w in zip(columns, slopes, strict=True))]
    )
    coefficients = {"intercept": float(intercept), **_named(table, dict(zip(columns, map(float, slopes), strict=True)))}
    return FittedFunction(f"1 / (1 + exp(-({linear})))", coefficients)


def _table(table: FitTable) -> FittedFunction:
    """Fit a mean for each combination of values, shrunk to the overall mean by the share of chance in them."""
    keys = list(zip(*(each.values for each in table.features), strict=True))
    groups = {key: np.array([k for k, other in enumerate(keys) if other == key]) for key in sorted(set(keys))}
    if len(groups) > MOST_GROUPS:
        combinations = counted(len(groups), "combination")
        raise FitError(
            f"a table has a row for each combination of values, and there are {combinations} of them",
            f"write by: logistic, or features with fewer values; at most {MOST_GROUPS} combinations are possible",
        )
    overall = float(table.target.mean())
    prior = _prior_rows([table.target[rows] for rows in groups.values()], overall)
    terms, means = [_number(overall)], {}
    for key, rows in groups.items():
        count, mean = len(rows), float(table.target[rows].mean())
        shrunk = overall if math.isinf(prior) else (count * mean + prior * overall) / (count + prior)
        means[", ".join(value if isinstance(value, str) else f"{value:g}" for value in key)] = float(shrunk)
        holds = [
            f"(abs({each.columns['']} - {_number(value)}) < 0.000001)" if each.is_number else each.columns[value]
            for each, value in zip(table.features, key, strict=True)
        ]
        terms.append(" * ".join([_number(shrunk - overall), *holds]))
    return FittedFunction(" + ".join(terms), means)


def _prior_rows(groups: Sequence[Floats], overall: float) -> float:
    """Return how many rows the overall mean counts as: the variance within groups over that between their means."""
    sizes = np.array([len(group) for group in groups], dtype=float)
    total = sizes.sum()
    within = float(sum(((group - group.mean()) ** 2).sum() for group in groups)) / max(1.0, total - len(groups))
    between = float(sum(len(group) * (group.mean() - overall) ** 2 for group in groups)) - (len(groups) - 1) * within
    between /= total - float((sizes**2).sum()) / total or 1.0
    return within / between if between > 0 else math.inf


def _isotonic(table: FitTable) -> FittedFunction:
    """Fit an increasing step function of one number (pool adjacent violators)."""
    (column,) = table.features[0].columns.values()
    values = table.features[0].array("")
    points, inverse = np.unique(values, return_inverse=True)
    counts = np.bincount(inverse).astype(float)
    means = np.bincount(inverse, weights=table.target) / counts
    levels = isotonic_regression(means, weights=counts).x
    terms, steps = [_number(levels[0])], {f"from {points[0]:g}": float(levels[0])}
    for k in range(1, len(points)):
        if levels[k] - levels[k - 1] > 1e-9:
            threshold = (points[k - 1] + points[k]) / 2
            terms.append(f"{_number(levels[k] - levels[k - 1])} * ({column} >= {_number(threshold)})")
            steps[f"from {threshold:g}"] = float(levels[k])
    return FittedFunction(" + ".join(terms), steps)


def _tree(table: FitTable) -> FittedFunction:
    """Fit a tree of at most four leaves; each split is the one that lowers the squared error most."""
    leaves: dict[str, float] = {}
    shown = _labels(table)
    fewest = max(2, math.ceil(LEAF_SHARE * len(table.target)))
    arrays = table.arrays

    def grown(rows: Rows, depth: int, path: tuple[str, ...]) -> str:
        target = table.target[rows]
        split = _best_split(arrays, target, rows, fewest) if depth else None
        if split is None:
            mean = (float(target.sum()) + float(table.target.mean())) / (len(target) + 1)
            leaves[" and ".join(path) or "always"] = mean
            return _number(mean)
        column, threshold = split
        is_low = arrays[column][rows] < threshold
        low = grown(rows[is_low], depth - 1, (*path, f"{shown[column]} < {threshold:g}"))
        high = grown(rows[~is_low], depth - 1, (*path, f"{shown[column]} >= {threshold:g}"))
        at = _number(threshold)
        return f"(({column} < {at}) * {low} + ({column} >= {at}) * {high})"

    return FittedFunction(grown(np.arange(len(table.target)), DEPTH, ()), leaves)


def _best_split(arrays: Mapping[str, Floats], target: Floats, rows: Rows, fewest: int) -> tuple[str, float] | None:
    """Return the column and the threshold that lower the squared error most; None if no split is large enough."""
    best: tuple[float, str, float] | None = None
    count, total = len(target), float(target.sum())
    for column, array in arrays.items():
        order = np.argsort(array[rows], kind="stable")
        values, sums = array[rows][order], np.cumsum(target[order])
        for k in range(fewest, count - fewest + 1):
            if values[k] - values[k - 1] <= 1e-9:
                continue
            low, high = float(sums[k - 1]), total - float(sums[k - 1])
            gain = low**2 / k + high**2 / (count - k) - total**2 / count
            if gain > 1e-9 and (best is None or gain > best[0] + 1e-9):
                best = gain, column, float(f"{(values[k - 1] + values[k]) / 2:.6g}")
    return None if best is None else best[1:]


KINDS: Mapping[str, Callable[[FitTable], FittedFunction]] = MappingProxyType(
    {"logistic": _logistic, "table": _table, "isotonic": _isotonic, "tree": _tree}
)
"""The kinds of functions. A new one is an entry here and a word of `by:`."""


def _labels(table: FitTable) -> dict[str, str]:
    """Return what people call the columns: the feature, or `model small` for a level."""
    return {column: f"{each.name} {level}".strip() for each in table.features for level, column in each.columns.items()}


def _named(table: FitTable, values: Mapping[str, float]) -> dict[str, float]:
    labels = _labels(table)
    return {labels[column]: value for column, value in values.items()}


def _number(value: float) -> str:
    """Return a number as expressions write it, with six digits."""
    text = np.format_float_positional(float(f"{value:.6g}"), trim="-")
    return f"({text})" if text.startswith("-") else text


def log_loss(target: Floats, predicted: Floats) -> Floats:
    """Return the log loss of each row, in nats; a prediction counts as at least 0.001 and at most 0.999."""
    chance = np.clip(predicted, 0.001, 0.999)
    return np.asarray(-(xlogy(target, chance) + xlogy(1 - target, 1 - chance)), dtype=float)

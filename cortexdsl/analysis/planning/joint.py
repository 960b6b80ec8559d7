"""The power of a claim that several contrasts hold at once, on the same questions.

The tests of two contrasts of the same questions hang together as the contrasts do. So the chance that all are shown is
simulated: normal statistics, correlated as the contrasts are, each beyond its own bound as often as its own power says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from scipy import stats

from cortexdsl.analysis.units.table import ScoreTable
from cortexdsl.analysis.units.units import units_of
from cortexdsl.errors import DataError
from cortexdsl.spec.claims.designs import Design
from cortexdsl.spec.claims.language import EVERY, NONE, Quantity
from cortexdsl.terms import Floats

DRAWS = 40_000

Direction: TypeAlias = Mapping[tuple[str, Quantity], float]
"""The weight of each mean of each dataset in a contrast, above 0 where the claim gains from a higher mean."""


@dataclass(frozen=True, slots=True)
class Part:
    """One contrast that must be shown.

    Attributes
    ----------
    power : function from a factor to a probability
        The power of this contrast alone with so many times as many questions.
    direction : Direction
    """

    power: Callable[[float], float]
    direction: Direction


def directions_of(design: Design, datasets: Sequence[str]) -> list[Direction]:
    """Return the direction of each contrast of a claim without parts, on every dataset apart if the claim says so."""
    where = design.claim.dataset
    scopes = [[name] for name in datasets] if where in (EVERY, NONE) else [[where] if where else list(datasets)]
    sign = 0.0 if design.margin is not None else design.sign or 1.0
    return [
        {
            (dataset, quantity): sign * float(weight) / len(scope)
            for dataset in scope
            for quantity, weight in zip(design.quantities, row, strict=True)
        }
        for row in design.weights[: 1 if design.joint or design.claim.over else None]
        for scope in scopes
    ]


def joint_power(powers: Sequence[float], correlation: Floats) -> float:
    """Return the probability that all of several tests are significant.

    Parameters
    ----------
    powers : sequence of float
        Of each test alone.
    correlation : (tests, tests) array
        Of the test statistics.
    """
    if len(powers) == 1:
        return float(powers[0])
    values, vectors = np.linalg.eigh(correlation)
    statistics = _normals(len(powers)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    simulated = float((statistics <= stats.norm.ppf(powers)).all(axis=1).mean())
    return min(simulated, *powers)


@lru_cache(maxsize=8)
def _normals(tests: int) -> Floats:
    return np.random.default_rng(tests).standard_normal((DRAWS, tests))


def correlation_of(directions: Sequence[Direction], earlier: ScoreTable | None) -> Floats:
    """Return how the contrasts hang together: as in earlier results, else as contrasts of means that are all alike.

    Means that are alike vary alike, and equally with each other; then contrasts of one metric have the correlation of
    their weights, and those of two metrics, of two datasets, and those within margins, none.
    """
    measured = None if earlier is None else _measured(directions, earlier)
    if measured is None:
        places = list(dict.fromkeys(key for direction in directions for key in direction))
        measured = np.array([[direction.get(key, 0.0) for key in places] for direction in directions])
    size = np.sqrt((measured**2).sum(axis=1))
    scaled = measured / np.where(size > 0, size, 1.0)[:, None]
    found = scaled @ scaled.T
    np.fill_diagonal(found, 1.0)
    return np.asarray(np.clip(found, -1, 1))


def _measured(directions: Sequence[Direction], earlier: ScoreTable) -> Floats | None:
    """Return each contrast of each earlier question, less its mean; None if the earlier results lack something."""
    keys = list(dict.fromkeys(key for direction in directions for key in direction))
    datasets = list(dict.fromkeys(dataset for dataset, _ in keys))
    moved: dict[tuple[str, Quantity], Floats] = {}
    sizes: dict[str, int] = {}
    for dataset in datasets:
        named = [quantity for place, quantity in keys if place == dataset]
        try:
            values = units_of(earlier, named, (dataset,)).values
        except DataError:
            return None
        if np.isnan(values).any():
            return None
        sizes[dataset] = values.shape[1]
        scale = np.abs(values.mean(axis=1, keepdims=True)) if len({q.metric for q in named}) > 1 else 1.0
        centred = (values - values.mean(axis=1, keepdims=True)) / np.where(scale == 0, 1.0, scale)
        moved |= {(dataset, quantity): row for quantity, row in zip(named, centred, strict=True)}
    return np.array([
        np.concatenate([
            sum(
                (direction.get((dataset, quantity), 0.0) * moved[dataset, quantity]
                 for place, quantity in keys if place == dataset),
                np.zeros(sizes[dataset]),
            ) / sizes[dataset]
            for dataset in datasets
        ])
        for direction in directions
    ])  # fmt: skip

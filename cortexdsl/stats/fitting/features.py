"""The features of a fit, as columns of numbers with names of their own: `x0`, `x1` ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cortexdsl.core import Floats


@dataclass(frozen=True)
class Feature:
    """A feature: a number, or a word that is one of several levels.

    Attributes
    ----------
    name : str
        As the spec writes it.
    values : sequence
        One per row: numbers, or words.
    columns : mapping of level to str
        The name of the column that is 1 for a level and else 0; a number has one column, of the level "".
    """

    name: str
    values: Sequence[Any]
    columns: Mapping[str, str]

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return "" in self.columns

    def array(self, level: str) -> Floats:
        """Return the column of a level."""
        if self.is_number:
            return np.array(self.values, dtype=float)
        return np.array([float(value == level) for value in self.values])

    def rows(self, chosen: Sequence[int]) -> Feature:
        """Return the feature of some rows, with the same columns."""
        return Feature(self.name, [self.values[k] for k in chosen], self.columns)


@dataclass(frozen=True)
class FitTable:
    """What a function is fitted on: one row for each agent of a debate, or for each debate.

    Attributes
    ----------
    features : sequence of Feature
    target : (n,) array
        In [0, 1].
    clusters : sequence of str
        The question of each row, or what several questions have in common.
    """

    features: Sequence[Feature]
    target: Floats
    clusters: Sequence[str]

    @property
    def arrays(self) -> dict[str, Floats]:
        """The columns by their names."""
        return {column: each.array(level) for each in self.features for level, column in each.columns.items()}

    def rows(self, chosen: Sequence[int]) -> FitTable:
        """Return a table of some rows."""
        clusters = [self.clusters[k] for k in chosen]
        return FitTable([each.rows(chosen) for each in self.features], self.target[list(chosen)], clusters)


def table_of(features: Mapping[str, Sequence[Any]], target: Sequence[float], clusters: Sequence[str]) -> FitTable:
    """Return a table of features by name; those whose values are words get a column for each level."""
    made: list[Feature] = []
    count = 0
    for name, values in features.items():
        is_word = any(isinstance(value, str) for value in values)
        levels = sorted(set(values)) if is_word else [""]
        made.append(Feature(name, values, {level: f"x{count + k}" for k, level in enumerate(levels)}))
        count += len(levels)
    return FitTable(made, np.array(target, dtype=float), clusters)

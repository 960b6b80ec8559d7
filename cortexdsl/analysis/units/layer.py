"""One dataset's values of some cells, question by question: what units are gathered from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from cortexdsl.analysis.units.columns import Ints
from cortexdsl.terms import Bools, Floats

NO_AREA = -1
"""In place of a number of questions of the rarer kind, for a metric that is not an area."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One dataset, per row (a cell) and question; see `cortexdsl.analysis.units.units.Units`.

    Attributes
    ----------
    values, spare : (rows, questions) arrays
    replicates, gaps, missing, unparsed : (rows,) int arrays
    yes_no, scored : (rows,) bool arrays
    rarer : (rows,) int array
    """

    values: Floats
    spare: Floats
    replicates: Ints
    gaps: Ints
    missing: Ints
    unparsed: Ints
    yes_no: Bools
    scored: Bools
    rarer: Ints

    @staticmethod
    def stacked(layers: Sequence[Layer]) -> Layer:
        """The rows of several layers, one after the other."""
        return Layer(*(np.concatenate([getattr(layer, f.name) for layer in layers]) for f in fields(Layer)))

    @staticmethod
    def of(values: Floats, replicates: int, gaps: int, is_yes_no: bool = False, rarer: int = NO_AREA) -> Layer:
        """Make one row of values that nothing can stand in for."""
        return Layer(
            values[None], np.zeros((1, len(values))), np.array([replicates]), np.array([gaps]), np.array([0]),
            np.array([0]), np.array([is_yes_no]), np.array([False]), np.array([rarer]),
        )  # fmt: skip

    def row(self, index: int) -> Layer:
        """One row, as a layer."""
        return Layer(*(getattr(self, f.name)[index : index + 1] for f in fields(self)))

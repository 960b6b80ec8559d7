"""The values that a claim is about."""

from __future__ import annotations

from collections.abc import Sequence

from cortexdsl.analysis.units.table import ScoreTable
from cortexdsl.analysis.units.units import Units, units_of
from cortexdsl.spec.claims.designs import Design


def sample_of(design: Design, table: ScoreTable, datasets: Sequence[str] = ()) -> Units:
    """The units of a design: one row for each of its quantities.

    Raises
    ------
    DataError
        Where the table lacks a cell, dataset, column or answer.
    """
    return units_of(table, design.quantities, datasets)

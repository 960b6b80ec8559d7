"""Replicates that a cell lacks altogether: nothing shows them but the other cells of the same dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from cortexdsl.analysis.units.table import ScoreTable


def absent_replicates(rows: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Which replicates a cell has no row of, though another cell of the dataset has.

    Parameters
    ----------
    rows : iterable of (dataset, cell, replicate)

    Returns
    -------
    dict of (dataset, cell) to replicates
        In order of appearance; only cells that lack some.
    """
    had: dict[tuple[str, str], dict[str, None]] = {}
    known: dict[str, dict[str, None]] = {}
    for dataset, cell, replicate in rows:
        had.setdefault((dataset, cell), {})[replicate] = None
        known.setdefault(dataset, {})[replicate] = None
    lacking = {key: tuple(r for r in known[key[0]] if r not in found) for key, found in had.items()}
    return {key: absent for key, absent in lacking.items() if absent}


def absent_of(table: ScoreTable) -> dict[tuple[str, str], tuple[str, ...]]:
    """`absent_replicates` of a table of scores."""
    codes = np.stack([table.dataset, table.cell, table.replicate], axis=1)
    first = np.sort(np.unique(codes, axis=0, return_index=True)[1])
    names = table.frame["replicate"].iloc[first].astype(str)
    places = zip(table.dataset[first], table.cell[first], names, strict=True)
    return absent_replicates((table.datasets[d], table.cells[c], name.strip()) for d, c, name in places)


def said_absent(found: Mapping[tuple[str, str], tuple[str, ...]]) -> str:
    """Say in one sentence which cells lack which replicates; empty where none does."""
    if not found:
        return ""
    parts = [
        f"{cell} on {dataset} lacks replicate{'s' * (len(absent) > 1)} {', '.join(absent)}"
        for (dataset, cell), absent in found.items()
    ]
    return (
        "Whole replicates are missing: " + "; ".join(parts) + ". Their questions are averaged over the replicates that "
        "are there, which compares unlike means where replicates differ."
    )

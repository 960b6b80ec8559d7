"""The explorer's made experiment, with the table of scores that its workflow would have joined."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.metrics.scores import read_rows, write_rows
from tests.explorer.experiments import CELLS, slug, write_experiment


def write_scored(root: Path, name: str = "made") -> Path:
    """Write the experiment, and scores.csv of its three cells."""
    folder = write_experiment(root, name)
    parts = (folder / "parts" / "sums" / slug(cell) / "scores.csv" for cell in CELLS)
    write_rows(folder / "scores.csv", [row for part in parts for row in read_rows(part)])
    return folder

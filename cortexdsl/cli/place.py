"""Where results lie: what `show`, `report` and `export` take as their first argument."""

from __future__ import annotations

from pathlib import Path


def results_place(text: str) -> Path:
    """Return a path as it is written; the name of an experiment (`quickstart`) means the folder of its results."""
    named = Path("results") / text
    return named if named.is_dir() and not Path(text).exists() else Path(text)

"""Debates with a confidence as a whole, with claims on the bound: calibration and AUROC.

Each question has a difficulty that all cells share. The confidence of a debate is a noisy view of it, either a number
of its own or, as with three votes, 1/3, 2/3 or 1; whether the debate is right is drawn by the difficulty. The true
values are those of one sample of a million debates.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy import special

from cortexdsl.core import Floats
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.tables.units import units

METRICS = ("brier_debate", "ece_debate", "auroc_debate")
KINDS = ("a number", "three votes")
LARGE = 1_000_000


def debates(random: Generator, kind: str, ease: float, questions: int, cells: int, replicates: int) -> ScoreTable:
    """Return a table of debates of equal cells.

    Parameters
    ----------
    random : Generator
    kind : str
        Of `KINDS`.
    ease : float
        The log odds that a question of mean difficulty is answered right.
    questions, cells, replicates : int
    """
    ability = random.normal(size=questions)
    frames = []
    for cell in "abcdefgh"[:cells]:
        for replicate in range(1, replicates + 1):
            frames.append(_debates(random, kind, ease, ability, cell, replicate))
    return score_table(pd.concat(frames, ignore_index=True))


def _debates(random: Generator, kind: str, ease: float, ability: Floats, cell: str, replicate: int) -> pd.DataFrame:
    count = len(ability)
    view = special.expit(ease + 1.5 * ability + random.normal(size=count))
    right = random.random(count) < special.expit(ease + 1.5 * ability)
    confidence = view if kind == "a number" else np.ceil(np.clip(view, 1e-9, 1.0) * 3) / 3
    return pd.DataFrame({
        "dataset": "data", "cell": cell, "replicate": replicate, "question_id": np.arange(count).astype(str),
        "score": right.astype(float), "debate_confidence": confidence, "brier_debate": (confidence - right) ** 2,
    })  # fmt: skip


@cache
def truths(kind: str, ease: float) -> dict[str, float]:
    """Return the true value of each metric."""
    large = debates(np.random.default_rng(0), kind, ease, LARGE, 1, 1)
    return {metric: float(units(large, metric, ["a"]).means[0]) for metric in METRICS}

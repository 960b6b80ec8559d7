"""What all scenarios are made of: simulated answers, tables of them, and how a table is judged."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy import stats

from cortexdsl.core import Family, Floats
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.verdicts import evaluate_claims

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.stats.simulated import simulated_differences as simulated_differences

DRAWS = 999
Marks: TypeAlias = dict[str, bool]
Scenario: TypeAlias = Callable[[Generator], Marks]


def table(values: dict[str, Floats], metric: str = "score", **columns: object) -> pd.DataFrame:
    """A table of (replicates, questions) values by cell."""
    frames = []
    for cell, array in values.items():
        replicates, questions = array.shape
        ids = {
            "replicate": np.repeat(np.arange(replicates), questions),
            "question_id": np.tile(np.arange(questions), replicates),
        }
        frames.append(pd.DataFrame({"cell": cell, **ids, metric: array.ravel(), **columns}))
    return pd.concat(frames, ignore_index=True)


def answers(random: Generator, chance: Floats, replicates: int) -> Floats:
    return (random.random((replicates, len(chance))) < chance).astype(float)


def chances(random: Generator, count: int, questions: int) -> list[Floats]:
    """Equal methods: most questions easy or hard, each method with strengths and weaknesses of its own."""
    base = random.beta(0.9, 0.5, questions)
    return [np.clip(base + 0.2 * random.normal(size=questions), 0, 1) for _ in range(count)]


def compared(frame: pd.DataFrame, truth: float, metric: str = "score") -> tuple[bool, bool]:
    """Whether the difference is significant, and whether its interval covers the truth."""
    row = compare_families(frame, [Family("f", ("a",), "b")], [metric], seed=1, draws=DRAWS).iloc[-1]
    return bool(row["p"] <= 0.05), bool(row["ci_low"] <= truth <= row["ci_high"])


def verdict(frame: pd.DataFrame, claim: str) -> str:
    return str(evaluate_claims(frame, [claim], seed=1, draws=DRAWS)["verdict"][0])


def mcnemar_p(wins: int, losses: int) -> float:
    """McNemar's exact two-sided p, for comparison."""
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0

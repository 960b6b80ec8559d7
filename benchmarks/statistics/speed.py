"""How long every default test of a large table takes, by the clock and of the processor, and how much memory.

Forty cells, 1,000 questions, three replicates, three metrics, 10,000 permutations and resamples: families of all
cells against one, bounds, and ten claims.

    python benchmarks/statistics/speed.py
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pandas as pd

from cortexdsl.claims.cells import cells_of
from cortexdsl.core import Family
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.verdicts import evaluate_claims

CELLS, QUESTIONS, REPLICATES = 40, 1000, 3
METRICS = ("accuracy", "input_tokens", "consensus")
MOST = 10.0
"""Seconds of the processor, on however busy a machine."""


def make_table(seed: int = 1) -> pd.DataFrame:
    """Scores, tokens and consensus of cells that differ a little."""
    random = np.random.default_rng(seed)
    ability = random.uniform(0.2, 0.9, QUESTIONS)
    shape = (REPLICATES, QUESTIONS)
    frames = []
    for cell in range(CELLS):
        score = random.random(shape) < np.clip(ability + 0.002 * cell, 0, 1)
        tokens = random.gamma(20, 50 + cell, shape).round()
        frames.append(
            pd.DataFrame(
                {
                    "cell": f"s[rounds={cell + 1}]",
                    "replicate": np.repeat(np.arange(REPLICATES), QUESTIONS),
                    "question_id": np.tile(np.arange(QUESTIONS), REPLICATES),
                    "score": score.ravel().astype(int),
                    "input_tokens": tokens.ravel(),
                    "consensus": (random.random(shape) < 0.7).ravel().astype(int),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def main() -> None:
    frame = make_table()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started, spent = time.perf_counter(), time.process_time()
    table = score_table(frame)
    cells = table.cells
    families = [Family("all", cells[1:], cells[0])]
    steps = {"read": (time.perf_counter() - started, time.process_time() - spent)}
    for name, task in {
        "comparisons": lambda: compare_families(table, families, METRICS, seed=1),
        "claims": lambda: evaluate_claims(table, claims(cells), seed=1, arms=cells_of(cells)),
    }.items():
        at, used = time.perf_counter(), time.process_time()
        rows = len(task())
        steps[f"{name} ({rows} rows)"] = (time.perf_counter() - at, time.process_time() - used)
    total = time.process_time() - spent
    steps["all"] = (time.perf_counter() - started, total)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{CELLS} cells x {QUESTIONS} questions x {REPLICATES} replicates x {len(METRICS)} metrics, 10,000 draws")
    for name, (seconds, processor) in steps.items():
        print(f"  {name:24} {seconds:6.2f} s, {processor:6.2f} s of the processor")
    print(f"peak memory {peak:.0f} MB, of which {before:.0f} MB before the first test")
    sys.exit(total > MOST)


def claims(cells: tuple[str, ...]) -> list[str]:
    a, b = cells[0], cells[-1]
    return [
        f"accuracy({b}) > accuracy({a})",
        f"accuracy({b}) >= accuracy({a}) - 0.02",
        f"accuracy({cells[1]}) == accuracy({a}) +- 0.03",
        f"input_tokens({a}) <= 0.7 * input_tokens({b})",
        f"input_tokens({a}) < input_tokens({b})",
        f"accuracy({b}) > 0.5",
        "accuracy(s[rounds]) increasing",
        "input_tokens(s[rounds]) increasing",
        "best rounds of s is 40",
        f"consensus({b}) == consensus({a}) +- 0.05",
    ]


if __name__ == "__main__":
    main()

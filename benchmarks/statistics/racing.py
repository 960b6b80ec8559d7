"""What racing saves, and how often it errs: simulated grids of 24 cells, beside debating all of them to the end.

Each experiment has its own questions (most easy or hard), and each cell strengths and weaknesses of its own. The
claim is that one cell beats every other, looked at after each batch. Shares have Clopper and Pearson's 95 % interval,
savings the standard error of their mean; the saving is that of questions, over all cells.

    python benchmarks/statistics/racing.py [--runs 100] [--processes 2]
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator
from scenarios.made import answers, table
from statsmodels.stats.proportion import proportion_confint

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.stats.races import race, stopping_point

CELLS, QUESTIONS, BATCH = 24, 300, 50
CLAIM = "score(c0) > score(every other)"
CASES = {
    "one clear winner, 20 points above the others": 0.2,
    "one winner, 12 points above": 0.12,
    "24 equal cells": 0.0,
}


def one(gain: float, run: int) -> tuple[str, str, float, float]:
    """Verdicts of the race and of looks at all cells together; what each saved."""
    frame = table(grid(np.random.default_rng([run, round(100 * gain)]), gain))
    raced = race(frame, [CLAIM], batch=BATCH, fewest=BATCH)
    together = stopping_point(frame, [CLAIM], batch=BATCH, fewest=BATCH)
    return raced.verdicts["verdict"][0], together.verdicts["verdict"][0], raced.saved, together.saved


def grid(random: Generator, gain: float) -> dict[str, np.ndarray]:
    """Answers of the cells; the first is right more often by `gain`."""
    base = 0.8 * random.beta(0.9, 0.5, QUESTIONS)
    found = {}
    for cell in range(CELLS):
        chance = np.clip(base + 0.15 * random.normal(size=QUESTIONS) + (gain if cell == 0 else 0.0), 0, 1)
        found[f"c{cell}"] = answers(random, chance, 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    print("| experiments | rule | supported | contradicted | questions saved |\n|---|---|---|---|---|")
    with ProcessPoolExecutor(args.processes) as pool:
        for name, gain in CASES.items():
            found = list(pool.map(partial(one, gain), range(args.runs), chunksize=2))
            for at, rule in enumerate(("racing", "together")):
                verdicts, saved = [row[at] for row in found], np.array([row[at + 2] for row in found])
                shares = [share(verdicts.count(verdict), args.runs) for verdict in ("supported", "contradicted")]
                error = saved.std(ddof=1) / np.sqrt(args.runs)
                print(f"| {name} | {rule} | {' | '.join(shares)} | {saved.mean():.1%} (se {error:.1%}) |", flush=True)
    print(f"\n{args.runs} experiments each: {CELLS} cells, {QUESTIONS} questions, a look each {BATCH}; {CLAIM}")


def share(count: int, runs: int) -> str:
    low, high = proportion_confint(count, runs, method="beta")
    return f"{count / runs:.0%} ({low:.0%} to {high:.0%})"


if __name__ == "__main__":
    main()

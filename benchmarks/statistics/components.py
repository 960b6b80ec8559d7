"""Intervals of variance components: how often do they hold the truth?

    python benchmarks/statistics/components.py [--runs 1000]

Scores of 0 and 1: chances of questions are uniform (1/12 between questions, 1/6 within, correlation 1/3), or easy and
hard ones (beta(.9, .5)).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from cortexdsl.core import Floats
from cortexdsl.stats.inference.outcomes import clopper_pearson
from cortexdsl.stats.planning.spread import components_of

SIZES = ((20, 2), (50, 3), (100, 2))


def _chances(kind: str, random: np.random.Generator, questions: int) -> Floats:
    return random.random(questions) if kind == "uniform" else random.beta(0.9, 0.5, questions)


def truths(kind: str) -> tuple[float, float, float]:
    """Return the variance between questions, that within, and their correlation."""
    if kind == "uniform":
        return 1 / 12, 1 / 6, 1 / 3
    a, b = 0.9, 0.5
    between, mean = a * b / ((a + b) ** 2 * (a + b + 1)), a / (a + b)
    within = mean * (1 - mean) - between
    return between, within, between / (between + within)


def rows(runs: int) -> Iterator[tuple[str, str, int]]:
    """Yield the row, the component, and how often its interval held the truth."""
    for kind in ("uniform", "easy and hard"):
        for questions, replicates in SIZES:
            held, true = np.zeros(3, dtype=int), truths(kind)
            for run in range(runs):
                random = np.random.default_rng([run, questions])
                chance = _chances(kind, random, questions)[:, None]
                found = components_of((random.random((questions, replicates)) < chance).astype(float))
                parts = (found.questions, found.sampling, found.correlation)
                held += [one.low <= value <= one.high for one, value in zip(parts, true, strict=True)]
            for name, count in zip(("questions", "sampling", "correlation"), held.tolist(), strict=True):
                yield f"{kind}, n={questions}, R={replicates}", name, count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="experiments a row")
    runs = parser.parse_args().runs
    print("| scores | component | held by the 95 % interval | its own 95 % interval |\n|---|---|---|---|")
    for row, name, held in rows(runs):
        low, high = clopper_pearson(held, runs)
        print(f"| {row} | {name} | {held / runs:.1%} | {low:.1%} to {high:.1%} |", flush=True)


if __name__ == "__main__":
    main()

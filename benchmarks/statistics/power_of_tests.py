"""Do the tests of the program find true differences as often as Student's t, and which of the two errs?

Each row: how often the test of the program and t decide that a true difference is one (at 2.5 % on this side), and how
often each errs if there is none. Two cells with one replicate on one dataset are enumerated in `margins.py`. t is
stratified over several datasets, with Satterthwaite's degrees of freedom.

    python benchmarks/statistics/power_of_tests.py [--runs 1000]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.random import Generator
from scenarios.made import DRAWS, answers, table
from scipy import stats

from cortexdsl.core import Floats
from cortexdsl.stats.inference.contrasts import contrast_outcomes
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.tables.units import units

PAIR = np.array([[1.0, -1.0]])
Experiment = Callable[[Generator, bool], dict[str, dict[str, Floats]]]
"""Draw (replicates, questions) of two cells by dataset; with or without a true difference."""


def abilities(
    sizes: Sequence[int], replicates: int, lead: float, random: Generator, real: bool
) -> dict[str, dict[str, Floats]]:
    """Questions of every difficulty; the first method is ahead by `lead` if the difference is real."""
    drawn = {}
    for place, size in enumerate(sizes):
        base = random.uniform(0.1, 0.75, size)
        first = base + lead * real
        drawn[f"d{place}"] = {"a": answers(random, first, replicates), "b": answers(random, base, replicates)}
    return drawn


def tokens(questions: int, ratio: float, random: Generator, real: bool) -> dict[str, dict[str, Floats]]:
    """Lognormal tokens (sigma .5), the first cell's larger by a ratio."""
    shared = random.normal(5, 0.5, questions)
    own = [np.exp(shared + random.normal(0, 0.5, questions))[None] for _ in range(2)]
    return {"d0": {"a": own[0] * (ratio if real else 1.0), "b": own[1]}}


ROWS: dict[str, tuple[Experiment, str]] = {
    "20 questions, 5 replicates, ahead by .15": (partial(abilities, (20,), 5, 0.15), "score"),
    "50 questions, 5 replicates, ahead by .08": (partial(abilities, (50,), 5, 0.08), "score"),
    "datasets of 8, 20, 50 and 150, ahead by .12": (partial(abilities, (8, 20, 50, 150), 1, 0.12), "score"),
    "lognormal tokens of 50 questions, 1.3 times": (partial(tokens, 50, 1.3), "tokens"),
}


def rejected(drawn: dict[str, dict[str, Floats]], metric: str) -> tuple[bool, bool]:
    """Whether the program and t decide that the first mean is above the second."""
    frame = pd.concat([table(cells, metric, dataset=name) for name, cells in drawn.items()])
    sample = units(score_table(frame), metric, ["a", "b"])
    own = contrast_outcomes(sample, PAIR, [0.0], 1, DRAWS)[0]
    differences = [cells["a"].mean(axis=0) - cells["b"].mean(axis=0) for cells in drawn.values()]
    parts = np.array([each.var(ddof=1) / len(each) for each in differences]) / len(drawn) ** 2
    error = float(np.sqrt(parts.sum()))
    if not error > 0:
        return own.above <= 0.025, bool(np.mean(differences[0]) > 0)
    freedom = parts.sum() ** 2 / (parts**2 / [len(each) - 1 for each in differences]).sum()
    t = np.mean([each.mean() for each in differences]) / error
    return own.above <= 0.025, bool(stats.t.sf(t, freedom) <= 0.025)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print("| data | power of the program | power of t | error of the program | error of t |\n|---|---|---|---|---|")
    for name, (draw, metric) in ROWS.items():
        shares = []
        for real in (True, False):
            each = [rejected(draw(np.random.default_rng([run, real]), real), metric) for run in range(runs)]
            shares.append(np.mean(each, axis=0))
        shown = " | ".join(f"{share:.1%}" for pair in shares for share in pair)
        print(f"| {name} | {shown} |", flush=True)


if __name__ == "__main__":
    main()

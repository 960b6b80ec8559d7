"""Estimates of experiments that stop early: how far they lie from the truth.

python benchmarks/statistics/after_stopping.py [--runs 1000]
"""

from __future__ import annotations

import argparse

import numpy as np

from cortexdsl.stats.sequential.evidence import Mean

BOUND = float(np.log(2 / 0.05))
CASES = ((0.05, 0.25, 500, 50), (0.05, 0.15, 1000, 50), (0.10, 0.30, 500, 50), (0.05, 0.10, 1000, 25))
"""The true difference, the discordance, the questions of the plan and those between two looks."""


def one(truth: float, discordance: float, questions: int, batch: int, seed: int) -> tuple[float, bool]:
    """Return the estimate of one experiment, and whether it stopped early."""
    share = (discordance + truth) / 2
    odds = [share, discordance - share, 1 - discordance]
    values = np.random.default_rng(seed).choice([1.0, -1.0, 0.0], questions, p=odds)
    for end in range(batch, questions + 1, batch):
        seen = Mean(values[:end], (-1.0, 1.0))
        if decided := max(seen.above(0.0), seen.below(0.0)) >= BOUND:
            break
    return float(seen.values.mean()), decided and end < questions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    args = parser.parse_args()
    print(
        "| truth | discordance | questions | stop early | all: mean | above the truth | stopped: mean |\n|" + "---|" * 7
    )
    for truth, discordance, questions, batch in CASES:
        made = [one(truth, discordance, questions, batch, seed) for seed in range(args.runs)]
        plain, early = (np.array(column) for column in zip(*made, strict=True))
        numbers = " | ".join(f"{value:.1%}" for value in (plain.mean(), (plain > truth).mean(), plain[early].mean()))
        print(f"| {truth:.0%} | {discordance:.0%} | {questions} | {early.mean():.0%} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()

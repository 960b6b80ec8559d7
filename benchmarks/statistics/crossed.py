"""How often claims over few prompts or teams err: groups that answered the same questions, and no true difference.

    python benchmarks/statistics/crossed.py [--experiments 1000]

Wordings move the probability of a right answer by a normal amount (standard deviation `sd`), and each question by
another amount for each wording. The other method has no such groups. `error` is the share of two-sided tests at 5 %
that reject; `power` the share that reject if the worded method is 15 points better.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from scipy import stats

from cortexdsl.core.types import Floats
from cortexdsl.stats.inference.random_effects import pool_crossed

GROUPS, QUESTIONS, REPLICATES, SPREADS = (3, 5), (30, 100), (1, 3), (0.0, 0.03, 0.06, 0.12)
LEVEL, BETTER = 0.05, 0.15


def p_of(values: Floats) -> float:
    """Return the two-sided p of a mean of 0, from the (groups, questions) differences."""
    pooled = pool_crossed(values)
    if pooled.error <= 0:
        return 1.0
    return float(2 * stats.t.sf(abs(pooled.estimate) / pooled.error, pooled.freedom))


def differences(groups: int, questions: int, replicates: int, sd: float, rng: np.random.Generator) -> Floats:
    """Return the differences of accuracy by wording and question, of methods that are equally good."""
    easy = rng.uniform(0.35, 0.65, questions)
    wording = rng.normal(0, sd, groups)[:, None] + rng.uniform(-0.1, 0.1, (groups, questions))
    worded = rng.binomial(replicates, np.clip(easy + wording, 0, 1)) / replicates
    return worded - rng.binomial(replicates, np.broadcast_to(easy, (groups, questions))) / replicates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=1000)
    experiments = parser.parse_args().experiments
    print("| wordings | questions | replicates | sd | error | power |\n|---:|---:|---:|---:|---:|---:|")
    for groups, questions, replicates, sd in product(GROUPS, QUESTIONS, REPLICATES, SPREADS):
        rng = np.random.default_rng([groups, questions, replicates, int(sd * 100)])
        drawn = [differences(groups, questions, replicates, sd, rng) for _ in range(experiments)]
        error, power = (np.mean([p_of(each + shift) <= LEVEL for each in drawn]) for shift in (0.0, BETTER))
        print(f"| {groups} | {questions} | {replicates} | {sd} | {error:.1%} | {power:.0%} |", flush=True)


if __name__ == "__main__":
    main()

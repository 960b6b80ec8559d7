"""The built-in solver as truth: are equal methods left undecided, and a planted difference found as often as stated?

A pool of answers is asked once: 400 arithmetic questions, 24 seeds, two skills. Experiments draw questions and seeds
from it. Equal methods are the same skill with other seeds; the planted difference is that of the two skills, and
its experiments have the size that `plan_power` asks for from a few earlier results.

    python benchmarks/statistics/solver_as_truth.py [--runs 2000]
"""

from __future__ import annotations

import argparse
import gc
from collections import Counter

import numpy as np
import pandas as pd
from numpy.random import Generator
from statsmodels.stats.proportion import proportion_confint

from cortexdsl.claims.cells import cells_of
from cortexdsl.core import Dataset, Floats
from cortexdsl.models.transports.builtin import solve
from cortexdsl.stats.planning.expectations import Expectation
from cortexdsl.stats.planning.planning import plan_power
from cortexdsl.stats.planning.power import normal_power
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.verdicts import evaluate_claims
from cortexdsl.tasks.load import load

QUESTIONS, SEEDS, REPLICATES = 400, 24, 3
SKILLS = (0.55, 0.62)
CLAIMS = ("accuracy(a) > accuracy(b)", "accuracy(a) == accuracy(b) +- 0.08")


def pool(skill: float) -> Floats:
    """Right (1) or wrong (0), (seeds, questions)."""
    task = load(Dataset("arithmetic", name="arithmetic", size=QUESTIONS, seed=5))
    right = np.zeros((SEEDS, QUESTIONS))
    for at, question in enumerate(task.questions):
        text = f"Question: {question.text}\n\n{task.format_of(question.id)}"
        reader = task.reader(question)
        for seed in range(SEEDS):
            said = solve([{"role": "user", "content": text}], seed, {"skill": skill}).text
            right[seed, at] = task.grade(question.id, reader.read("answer", said).value)
    return right


def draw(random: Generator, first: Floats, second: Floats, questions: int) -> dict[str, Floats]:
    """Answers of two methods to drawn questions; the seeds of one question are never used twice."""
    at = random.integers(0, QUESTIONS, questions)
    seeds = random.permuted(np.tile(np.arange(SEEDS), (questions, 1)), axis=1)[:, : 2 * REPLICATES].T
    return {"a": first[seeds[:REPLICATES], at], "b": second[seeds[REPLICATES:], at]}


def experiment(random: Generator, first: Floats, second: Floats, questions: int) -> pd.DataFrame:
    """A table of scores of two methods on drawn questions."""
    frames = []
    for cell, array in draw(random, first, second, questions).items():
        rows = {"replicate": np.repeat(np.arange(REPLICATES), questions), "score": array.ravel()}
        frames.append(pd.DataFrame({"cell": cell, "question_id": np.tile(np.arange(questions), REPLICATES), **rows}))
    return pd.concat(frames, ignore_index=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    weak, strong = (pool(skill) for skill in SKILLS)
    truth = strong.mean() - weak.mean()
    earlier = score_table(experiment(np.random.default_rng(0), strong, weak, QUESTIONS))
    expected = Expectation(differences={CLAIMS[0]: float(truth)}, earlier=earlier)
    plan = plan_power(CLAIMS[:1], cells_of(["a", "b"]), {"d": 100}, REPLICATES, expected).iloc[0]
    size = int(plan["needed"])
    print(f"skills {SKILLS[0]} and {SKILLS[1]}: accuracies {weak.mean():.3f} and {strong.mean():.3f}; ", end="")
    many = draw(np.random.default_rng(1), strong, weak, 500_000)
    moved = many["a"].mean(axis=0) - many["b"].mean(axis=0)
    deviation = float(moved.std())
    stated = normal_power(size, float(truth), deviation, freedom=size - 1)
    print(f"the plan asks for {size} questions x {REPLICATES} replicates.")
    print(f"It counts on a spread of {plan['deviation']:.3f}, from one earlier run of {QUESTIONS} questions.")
    print(f"The pool's own spread is {deviation:.3f}; with it the stated power is {stated:.1%}.\n")
    print(f"| methods | questions | claim | supported | contradicted | undecided |\n|{'---|' * 6}")
    gc.freeze()
    for name, first in (("equal by construction", weak), ("planted difference", strong)):
        found: dict[str, Counter[str]] = {claim: Counter() for claim in CLAIMS}
        for run in range(runs):
            frame = experiment(np.random.default_rng([run, 1]), first, weak, size)
            for claim in CLAIMS:
                found[claim][str(evaluate_claims(frame, [claim], seed=1)["verdict"][0])] += 1
        for claim, counts in found.items():
            shown = []
            for verdict in ("supported", "contradicted", "undecided"):
                low, high = proportion_confint(counts[verdict], runs, method="beta")
                shown.append(f"{counts[verdict] / runs:.1%} ({low:.1%} to {high:.1%})")
            print(f"| {name} | {size} | `{claim}` | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()

"""How often a tournament orders methods wrongly, and how often its intervals hold the truth.

Ballots are drawn from Davidson's model, with a strength of each method that varies from question to question (so
ballots of one question depend on each other) and judges who share part of this variation. Truth is the fit to 20,000
questions of the same design, because strengths of single questions do not average to those of the model.

    python benchmarks/statistics/tournaments.py [--runs 1000]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cortexdsl.stats.tournament import Ballots, rank_methods


@dataclass(frozen=True)
class Design:
    """Strengths of methods, ties, questions and judges, and the standard deviation of strengths over questions."""

    strengths: tuple[float, ...]
    questions: int
    judges: int = 1
    tie: float = 0.0
    spread: float = 0.7
    own: float = 0.5


DESIGNS = {
    "3 equal, 20 questions": Design((0, 0, 0), 20),
    "3 equal, 50 questions": Design((0, 0, 0), 50),
    "5 equal, 50 questions, 3 judges": Design((0,) * 5, 50, 3),
    "8 equal, 100 questions": Design((0,) * 8, 100),
    "two groups of 3, 50 questions": Design((0.5,) * 3 + (-0.5,) * 3, 50),
    "5 in steps of 0.3, 100 questions, 2 judges": Design((0.6, 0.3, 0, -0.3, -0.6), 100, 2),
    "4, one nearly always wins, 30 questions": Design((4, 0, 0, 0), 30),
    "4 equal, two thirds ties, 30 questions": Design((0,) * 4, 30, 1, 1.4),
    "4 equal, alike on no question, 40 questions, 3 judges": Design((0,) * 4, 40, 3, 0.0, 2.0, 0.3),
    "2 equal, nearly all ties, 50 questions": Design((0, 0), 50, 1, 3.6),
    "3 equal, nearly all ties, 30 questions": Design((0,) * 3, 30, 1, 3.6),
    "4 equal, nearly all ties, 50 questions": Design((0,) * 4, 50, 1, 3.6),
}


def draw(design: Design, random: np.random.Generator, questions: int | None = None) -> Ballots:
    """Draw the ballots of one tournament."""
    count, methods = questions or design.questions, len(design.strengths)
    shared = np.array(design.strengths) + random.normal(0, design.spread, (count, 1, methods))
    own = shared + random.normal(0, design.own, (count, design.judges, methods))
    first, second = np.triu_indices(methods, 1)
    one, other = own[:, :, first], own[:, :, second]
    odds = np.stack([one, design.tie + (one + other) / 2, other], axis=-1)
    chosen = (odds + random.gumbel(size=odds.shape)).argmax(axis=-1)
    unit, judge, pair = (index.ravel() for index in np.indices(chosen.shape))
    split = np.zeros(chosen.size, dtype=bool)
    return Ballots(first[pair], second[pair], chosen.ravel(), unit, judge, unit * len(first) + pair, split)


def simulate(design: Design, runs: int, seed: int) -> tuple[float, float, float]:
    """Return the share of runs with a false order, the coverage of intervals, and the share of pairs told apart."""
    methods = len(design.strengths)
    large = rank_methods(draw(design, np.random.default_rng(seed), 20_000), methods)
    assert large is not None
    truth = np.array(large.strength)
    for strength in set(design.strengths):  # equal ones are equal in truth
        alike = [k for k, one in enumerate(design.strengths) if one == strength]
        truth[alike] = truth[alike].mean()
    false = covered = apart = 0.0
    for run in range(runs):
        found = rank_methods(draw(design, np.random.default_rng([seed, run])), methods)
        assert found is not None
        told = [duel for duel in found.duels if duel.adjusted <= 0.05]
        false += any(duel.difference * (truth[duel.first] - truth[duel.second]) <= 0 for duel in told)
        covered += float(((found.low <= truth) & (truth <= found.high)).mean())
        apart += len(told) / len(found.duels)
    return false / runs, covered / runs, apart / runs


def rows(names: Sequence[str], runs: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| design | false order | intervals that hold the truth | pairs told apart |"
    yield "|---|---|---|---|"
    for seed, name in enumerate(names, 1):
        false, covered, apart = simulate(DESIGNS[name], runs, seed)
        yield f"| {name} | {100 * false:.1f} % | {100 * covered:.1f} % | {100 * apart:.0f} % |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", choices=DESIGNS, action="append")
    args = parser.parse_args()
    for line in rows(args.only or list(DESIGNS), args.runs):
        print(line, flush=True)


if __name__ == "__main__":
    main()

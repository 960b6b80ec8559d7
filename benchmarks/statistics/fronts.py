"""Claims about the Pareto front: how often are they wrong, and what do they find?

Each row simulates experiments with one cell `a` and rivals, all on the same questions: an accuracy of 0 or 1, and a
cost that is lognormal (sigma 0.5) with a factor of the question. Claims are tested at 5 % without correction.

    python benchmarks/statistics/fronts.py [--runs 1000] [--only TEXT] [--questions 100 ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cortexdsl.claims.cells import cells_of
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.verdicts import evaluate_claims

DRAWS = 399
CLAIM = "a on front of accuracy, total_tokens"


@dataclass(frozen=True)
class Case:
    """What is true of cell `a` (accuracy .6, cost 1) and of its rivals.

    Attributes
    ----------
    name : str
    rivals : tuple of (accuracy, cost)
    wrong : str
        The verdict that would be wrong; empty if the row is about power.
    """

    name: str
    rivals: tuple[tuple[float, float], ...]
    wrong: str = ""


CASES = (
    Case("one rival as good on both: on the bound", ((0.6, 1.0),), "supported"),
    Case("one rival as good, and cheaper", ((0.6, 0.7),), "supported"),
    Case("one better rival that costs as much", ((0.8, 1.0),), "supported"),
    Case("three rivals as good on both", ((0.6, 1.0),) * 3, "supported"),
    Case("one rival as good, and cheaper by far: on the bound", ((0.6, 0.3),), "contradicted"),
    Case("three rivals as good, and cheaper by far", ((0.6, 0.3),) * 3, "contradicted"),
    Case("one better rival that costs as much: on the bound", ((0.9, 1.0),), "contradicted"),
    Case("power: a rival 20 points worse, and cheaper", ((0.4, 0.3),)),
    Case("power: a rival as good, at a 30 % higher price", ((0.6, 1.3),)),
    Case("power: three rivals, each 20 points worse and cheaper", ((0.4, 0.3),) * 3),
    Case("power: a rival 20 points better, and 30 % cheaper", ((0.8, 0.7),)),
)


def experiment(case: Case, questions: int, run: int) -> ScoreTable:
    """Return the table of scores of one simulated experiment."""
    random = np.random.default_rng([run, questions, *case.name.encode()])
    hard, long = random.normal(size=questions), random.normal(size=questions)
    parts = []
    for cell, (accuracy, cost) in zip("abcd", ((0.6, 1.0), *case.rivals), strict=False):
        latent = (hard + random.normal(size=questions)) / np.sqrt(2)
        right = latent < NORMAL[accuracy]
        spread = 0.5 * (long + random.normal(size=questions)) / np.sqrt(2)
        tokens = 1_000 * cost * np.exp(spread)
        frame = {"cell": cell, "replicate": 1, "question_id": np.arange(questions), "score": right.astype(int)}
        parts.append(pd.DataFrame({**frame, "total_tokens": tokens}))
    return score_table(pd.concat(parts, ignore_index=True))


NORMAL = {0.4: -0.2533471, 0.6: 0.2533471, 0.8: 0.8416212, 0.9: 1.2815516}
"""Standard normal quantiles."""


def row(case: Case, questions: int, runs: int) -> Iterator[str]:
    """Yield one line of the table."""
    verdicts = {"supported": 0, "contradicted": 0}
    for run in range(runs):
        table = experiment(case, questions, run)
        found = evaluate_claims(table, [CLAIM], 1, cells_of(table.cells), correction="none", draws=DRAWS)
        verdict = found["verdict"][0]
        if verdict in verdicts:
            verdicts[verdict] += 1

    def shown(count: int, *, is_wrong: bool) -> str:
        share = count / runs
        text = f"{share:.1%} ± {np.sqrt(share * (1 - share) / runs):.1%}"
        return f"**{text}**" if is_wrong else text

    yield (
        f"| {case.name} | {questions} | {runs} | {shown(verdicts['supported'], is_wrong=case.wrong == 'supported')}"
        f" | {shown(verdicts['contradicted'], is_wrong=case.wrong == 'contradicted')} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--questions", type=int, nargs="+", default=[100])
    args = parser.parse_args()
    print("| case | questions | N | supported | contradicted |")
    print("|---|---|---|---|---|")
    for case in CASES:
        if args.only in case.name:
            for questions in args.questions:
                for line in row(case, questions, args.runs):
                    print(line)
                    sys.stdout.flush()


if __name__ == "__main__":
    main()

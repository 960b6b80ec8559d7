"""Do verdicts about fitted parts hold? Simulated agents of whom it is known whether features tell who is right.

Each question is answered by two agents, each right with probability 0.6. `plain` takes the first agent's answer, and
`fitted` that of the agent with the higher fitted value. The function is fitted on both answers to 100 questions, and
the claim `score(fitted) > score(plain)` is tested on 200 others; in the rows of a leak, on the questions of the fit.
Such an experiment is refused; its rows show why.

The second table is of claims over fits: `FITS` functions are fitted, each on its own part of the questions, and each
replicate of the 200 others uses one. There is no difference in the mean over all such fits, but fits differ.

    python benchmarks/statistics/fitted.py [--runs 1000] [--only TEXT]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cortexdsl.claims.cells import cells_of
from cortexdsl.core import Floats, Question
from cortexdsl.expressions.evaluation import evaluate, parse
from cortexdsl.stats.fitting.features import FitTable, table_of
from cortexdsl.stats.fitting.kinds import FittedFunction, fit
from cortexdsl.stats.fitting.validation import validate
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.verdicts import evaluate_claims
from cortexdsl.tasks.overlap import OverlapFinder

FIT_ON, ASKED, POOL = 100, 200, 20_000
CLAIM = "score(fitted) > score(plain)"
FEATURES = {"logistic": 8, "table": 2, "isotonic": 1, "tree": 8}
"""How many features each kind gets; only the first one can tell who is right."""


FITS, PART = 4, 25
OVER_FITS = "score(fitted) > {:.4f} over fits"


@dataclass(frozen=True)
class World:
    """Agents whose features tell who is right (`slope` above 0), or do not."""

    name: str
    kind: str
    slope: float = 0.0
    leaks: bool = False

    def draw(self, chance: np.random.Generator, questions: int) -> tuple[Floats, Floats]:
        """Return features (questions, 2, f), in fifths, and scores (questions, 2)."""
        features = chance.integers(0, 6, (questions, 2, FEATURES[self.kind])) / 5
        log_odds = np.log(0.6 / 0.4) + self.slope * (features[:, :, 0] - 0.5)
        return features, (chance.random((questions, 2)) < 1 / (1 + np.exp(-log_odds))).astype(float)

    def table(self, features: Floats, scores: Floats) -> FitTable:
        """Return the table of both answers to some questions."""
        rows = features.reshape(-1, features.shape[2])
        names = {f"x{k}": list(rows[:, k]) for k in range(rows.shape[1])}
        return table_of(names, list(scores.ravel()), [f"q{k // 2}" for k in range(len(rows))])


def chosen(function: FittedFunction, features: Floats, scores: Floats) -> Floats:
    """Return the scores of the answers with the higher fitted value; of the first agent's if both are equal."""
    columns = {f"x{k}": features[:, :, k] for k in range(features.shape[2])}
    value = np.broadcast_to(evaluate(parse(function.expression), columns), scores.shape)
    return np.where(value[:, 1] > value[:, 0], scores[:, 1], scores[:, 0])


def one_run(world: World, seed: int, pool: tuple[Floats, Floats]) -> list[str]:
    """Return what happened in one experiment."""
    chance = np.random.default_rng([seed, 7])
    features, scores = world.draw(chance, FIT_ON)
    table = world.table(features, scores)
    function, happened = fit(world.kind, table), []
    if not validate(world.kind, table).is_noise:
        happened.append("predicts")
    truth = float((chosen(function, *pool) - pool[1][:, 0]).mean())
    if not world.leaks:
        features, scores = world.draw(chance, ASKED)
    ids = [f"{k}" for k in range(len(scores))]
    columns = {"plain": scores[:, 0], "fitted": chosen(function, features, scores)}
    long = pd.concat([pd.DataFrame({"question_id": ids, "cell": cell, "score": of}) for cell, of in columns.items()])
    checked = score_table(long.assign(replicate=1))
    row = evaluate_claims(checked, [CLAIM], 1, cells_of(checked.cells), correction="none").iloc[0]
    happened.append(row["verdict"])
    if not row["ci_low"] - 1e-9 <= truth <= row["ci_high"] + 1e-9:
        happened.append("missed")
    if world.leaks and refused(seed):
        happened.append("refused")
    return happened


def refused(seed: int) -> bool:
    """Return whether the questions of a fit are found among those that are asked, if one is the same."""
    names = np.random.default_rng(seed).permutation(10_000)[: FIT_ON + 1]
    texts = [f"How far is it from town {number} to the sea, by road and in miles?" for number in names]
    asked = [Question(f"a{k}", text) for k, text in enumerate(texts[:-1])]
    return OverlapFinder(asked).find(Question("fit", texts[seed % FIT_ON].upper())) is not None


def over_fits(world: World, seed: int, mean: float) -> list[str]:
    """Return what was said of the mean over fits, which is `mean`, by a claim over fits and by one about these fits."""
    chance = np.random.default_rng([seed, 8])
    hard = chance.normal(0.0, 0.15, (ASKED, 1))  # a question is as hard in each replicate
    rows = []
    for replicate in range(FITS):
        function = fit(world.kind, world.table(*world.draw(chance, PART)))
        features, scores = world.draw(chance, ASKED)
        scores = np.clip(scores + hard, 0.0, 1.0)
        ids = [f"{k}" for k in range(ASKED)]
        values = chosen(function, features, scores)
        rows.append(pd.DataFrame({"question_id": ids, "cell": "fitted", "score": values, "replicate": replicate + 1}))
    checked = score_table(pd.concat(rows))
    happened = []
    for name, claim in (("over", OVER_FITS.format(mean)), ("these", OVER_FITS.format(mean).partition(" over")[0])):
        row = evaluate_claims(checked, [claim], 1, cells_of(checked.cells), correction="none").iloc[0]
        happened.append(f"{name} {row['verdict']}")
        if not row["ci_low"] <= mean <= row["ci_high"]:
            happened.append(f"{name} missed")
    return happened


def mean_over_fits(world: World) -> float:
    """Return the mean score over fits, by 4,000 of them."""
    chance = np.random.default_rng(3)
    total = 0.0
    for _ in range(4_000):
        function = fit(world.kind, world.table(*world.draw(chance, PART)))
        features, scores = world.draw(chance, ASKED)
        scores = np.clip(scores + chance.normal(0.0, 0.15, (ASKED, 1)), 0.0, 1.0)
        total += float(chosen(function, features, scores).mean())
    return total / 4_000


ROWS = (
    *(World("tells who is right", kind, slope=4.0) for kind in FEATURES),
    *(World("noise", kind) for kind in FEATURES),
    *(World("noise, tested on its own questions", kind, leaks=True) for kind in ("logistic", "tree")),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="", help="rows whose name or kind contains this text")
    args = parser.parse_args()
    print("| features | kind | N | supported | contradicted | interval misses | called predictive | refused |")
    print("|---" * 8 + "|")
    for world in ROWS:
        if args.only not in f"{world.name} {world.kind}":
            continue
        pool = world.draw(np.random.default_rng(1), POOL)
        count = Counter(what for run in range(args.runs) for what in one_run(world, run, pool))
        named = ("supported", "contradicted", "missed", "predicts")
        shown = [f"{count[what] / args.runs:.1%}" for what in named]
        shown.append(f"{count['refused'] / args.runs:.0%}" if world.leaks else "not needed")
        print(f"| {world.name} | `{world.kind}` | {args.runs} | {' | '.join(shown)} |")
        sys.stdout.flush()
    print("\n| claim | features | kind | N | supported | contradicted | interval misses |")
    print("|---" * 7 + "|")
    for world in ROWS:
        if world.leaks or args.only not in f"over fits {world.name} {world.kind}":
            continue
        mean = mean_over_fits(world)
        count = Counter(what for run in range(args.runs) for what in over_fits(world, run, mean))
        for name, claim in (("over", "over fits"), ("these", "these fits")):
            shown = " | ".join(
                f"{count[f'{name} {what}'] / args.runs:.1%}" for what in ("supported", "contradicted", "missed")
            )
            print(f"| {claim} | {world.name} | `{world.kind}` | {args.runs} | {shown} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""How often verdicts are wrong, and intervals miss, if data are thin: no spread, few clusters, few wrong answers.

Nearly every claim is exactly at its bound, so that either verdict is wrong: a test may support it in 2.5 % of
experiments and contradict it in 2.5 %. If a name says what is claimed, the claim is false by as much.

Printed for each case: the number of experiments, how often the claim is supported and contradicted, how often the
interval misses the truth, how often a verdict and its interval disagree, how often nothing was tested, and how often
a note warned of the test; each with its Monte Carlo standard error.

    python benchmarks/statistics/thin.py [--runs 1000] [--only NAME] [--processes 1]

`CASES` and `outcomes_of` are there for other programs, too.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.random import Generator
from scenarios.forms import answered
from scenarios.made import DRAWS, answers, table
from scipy import stats

from cortexdsl.stats.tables.score_table import ScoreTable
from cortexdsl.stats.verdicts import evaluate_claims

WARNING = "may err"
"""What notes say of a test that does not hold its level."""
SHOWN = ("supported", "contradicted", "missed", "disagrees", "untested", "noted")


@dataclass(frozen=True)
class Case:
    """Simulated experiments and a claim that is exactly at its bound.

    Attributes
    ----------
    claim : str
    truth : float
        The true value of what the claim estimates.
    make : function from a random generator to scores
    bound : float or None
        What the claim compares it with, if that is not the truth.
    """

    claim: str
    truth: float
    make: Callable[[Generator], pd.DataFrame | ScoreTable]
    bound: float | None = None


def outcomes_of(case: Case, random: Generator) -> Mapping[str, bool]:
    """Return what happened in one experiment: a mark for each of `SHOWN`."""
    found = evaluate_claims(case.make(random), [case.claim], seed=1, correction="none", draws=DRAWS).iloc[0]
    low, high, verdict = found["ci_low"], found["ci_high"], found["verdict"]
    untested = str(found["test"]).startswith("none")
    holds = bool(low <= (case.truth if case.bound is None else case.bound) <= high)
    return {
        "supported": verdict == "supported",
        "contradicted": verdict == "contradicted",
        "missed": not untested and not low <= case.truth <= high,
        "disagrees": not untested and (verdict == "undecided") != holds,
        "untested": untested,
        "noted": WARNING in str(found["note"]),
    }


# ---------------------------------------------------------------- no spread
def accuracies(ratio: float, chance: float, questions: int, random: Generator) -> pd.DataFrame:
    """Two cells whose accuracies have a ratio; the second has the chance on every question."""
    each = np.full(questions, chance)
    return table({"a": answers(random, ratio * each, 1), "b": answers(random, each, 1)})


def rare_rounds(questions: int, random: Generator) -> pd.DataFrame:
    """In 3 % of questions one cell takes three rounds more."""
    base = np.full((1, questions), 2.0)
    return table({"a": base + 3 * (random.random((1, questions)) < 0.03), "b": base}, "rounds")


def sure(questions: int, random: Generator) -> ScoreTable:
    """Answers of which 95 % are right, each with a confidence of 1."""
    right = answers(random, np.full(questions, 0.95), 1)
    return answered({"a": (np.ones((questions, 1)), right.T)})


# ---------------------------------------------------------------- AUROC
def confident(chances: Mapping[str, float], questions: int, each: int, shift: float, random: Generator) -> ScoreTable:
    """Right answers are more confident by `shift` standard deviations; confidences are multiples of 5 %.

    With several answers, a question's difficulty lifts or lowers the confidence of all of them.
    """
    cells = {}
    for cell, chance in chances.items():
        right = (random.random((questions, each)) < chance).astype(float)
        shared = random.normal(0, 1, (questions, 1)) * (each > 1)
        noise = (shared + random.normal(0, 1, right.shape)) / np.sqrt(1 + (each > 1))
        cells[cell] = (np.round(stats.norm.cdf((shift * right + noise) / 1.5) * 20) / 20, right)
    return answered(cells)


def area_of(shift: float) -> float:
    """The true AUROC of `confident`, ties halved."""
    edges = 1.5 * stats.norm.ppf((np.arange(20) + 0.5) / 20)
    of = {
        right: np.diff(stats.norm.cdf(np.concatenate([[-np.inf], edges, [np.inf]]) - shift * right)) for right in (0, 1)
    }
    below = np.cumsum(of[0]) - of[0] / 2
    return float(of[1] @ below)


# ---------------------------------------------------------------- clusters
SIZES: Mapping[str, tuple[int, ...]] = {
    "12 equal": (10,) * 12,
    "8 and 2": (8, 2) * 6,
    "3 of 15, 9 of 1": (15,) * 3 + (1,) * 9,
    "6 of 15, 18 of 1": (15,) * 6 + (1,) * 18,
    "1 of 60, 10 of 5": (60,) + (5,) * 10,
    "Zipf, 15": tuple(max(1, round(60 / k)) for k in range(1, 16)),
    "Zipf, 30": tuple(max(1, round(60 / k)) for k in range(1, 31)),
}


def clustered(sizes: tuple[int, ...], replicates: int, lead: float, random: Generator) -> pd.DataFrame:
    """Two methods that differ by cluster, the first ahead by `lead` on average; accuracy of the second .55."""
    topic = np.repeat(np.arange(len(sizes)), sizes)
    base, own = random.uniform(-0.2, 0.2, len(sizes)), random.uniform(-0.15, 0.15, len(sizes))
    a, b = (0.55 + base + own + lead)[topic], (0.55 + base - own)[topic]
    frame = table({"a": answers(random, a, replicates), "b": answers(random, b, replicates)})
    return frame.assign(cluster=topic[frame["question_id"]])


def clustered_tokens(sizes: tuple[int, ...], random: Generator) -> pd.DataFrame:
    """Tokens of two methods whose ratio differs by cluster, equal on average."""
    topic = np.repeat(np.arange(len(sizes)), sizes)
    base = 400 + 100 * random.random(len(topic))
    own = random.uniform(-60, 60, len(sizes))[topic]
    frame = table({"a": (base + own + random.normal(0, 40, len(topic)))[None], "b": base[None]}, "tokens")
    return frame.assign(cluster=topic[frame["question_id"]])


# ---------------------------------------------------------------- replicates and ceilings
def repeated(questions: int, replicates: int, lead: float, random: Generator) -> pd.DataFrame:
    """Questions of every difficulty; the first method ahead by `lead` on each."""
    base = random.uniform(0.15, 0.85, questions)
    own = np.clip(0.15 * random.normal(size=questions), -0.15 + abs(lead), 0.15 - abs(lead))
    return table({
        "a": answers(random, base + own + lead, replicates), "b": answers(random, base - own, replicates)
    })  # fmt: skip


def ceiling(questions: int, replicates: int, lead: float, random: Generator) -> pd.DataFrame:
    """One question in ten is hard; on the others the second method is right in 98 %."""
    base = np.where(random.random(questions) < 0.1, 0.5, 0.98)
    return table({"a": answers(random, base + lead, replicates), "b": answers(random, base, replicates)})


def _cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for n in (20, 50, 100):
        at = f"{n} questions"
        found |= {
            f"no spread, ratio .97, accuracy .6, {at}": Case(
                "accuracy(a) >= 0.97 * accuracy(b)", 0.97, partial(accuracies, 0.97, 0.6, n)),
            f"no spread, ratio .96, claimed .97, accuracy .6, {at}": Case(
                "accuracy(a) >= 0.97 * accuracy(b)", 0.96, partial(accuracies, 0.96, 0.6, n), 0.97),
            f"no spread, ratio .95, claimed .96, b always right, {at}": Case(
                "accuracy(a) >= 0.96 * accuracy(b)", 0.95, partial(accuracies, 0.95, 1.0, n), 0.96),
            f"no spread, ratio .95, b always right, {at}": Case(
                "accuracy(a) >= 0.95 * accuracy(b)", 0.95, partial(accuracies, 0.95, 1.0, n)),
            f"no spread, ratio .5, accuracy .6, {at}": Case(
                "accuracy(a) >= 0.5 * accuracy(b)", 0.5, partial(accuracies, 0.5, 0.6, n)),
            f"no spread, rounds, {at}": Case("rounds(a) <= rounds(b) + 0.09", 0.09, partial(rare_rounds, n)),
            f"no spread, rounds +.09, claimed +.05, {at}": Case(
                "rounds(a) <= rounds(b) + 0.05", 0.09, partial(rare_rounds, n), 0.05),
            f"no spread, Brier score, {at}": Case("brier(a) < 0.05", 0.05, partial(sure, n)),
            f"no spread, ECE, {at}": Case("ece(a) < 0.05", 0.05, partial(sure, n)),
        }  # fmt: skip
    for n, chance, each in (
        (50, 0.95, 1),
        (50, 0.9, 1),
        (50, 0.9, 3),
        (50, 0.6, 1),
        (100, 0.95, 1),
        (100, 0.8, 1),
        (200, 0.9, 1),
        (200, 0.9, 3),
    ):
        for shift in (1.0, 1.8):
            area, at = area_of(shift), f"{n} questions of {each}, accuracy {chance:g}"
            make = partial(confident, {"a": chance, "b": chance}, n, each, shift)
            found[f"AUROC {area:.2f}, {at}"] = Case(f"auroc(a) > {area!r}", area, make)
            found[f"AUROC {area:.2f}, difference, {at}"] = Case("auroc(a) > auroc(b)", 0.0, make)
    for n, each in ((50, 1), (100, 1), (300, 3), (700, 1)):
        make = partial(confident, {"a": 0.97, "b": 0.6}, n, each, 1.0)
        found[f"AUROC 0.76, difference, {n} questions of {each}, accuracies .97 and .6"] = Case(
            "auroc(a) > auroc(b)", 0.0, make
        )
    for name, sizes in SIZES.items():
        found |= {
            f"clusters, {name}, difference": Case("accuracy(a) > accuracy(b)", 0.0, partial(clustered, sizes, 1, 0.0)),
            f"clusters, {name}, margin": Case(
                "accuracy(a) >= accuracy(b) - 0.05", -0.05, partial(clustered, sizes, 1, -0.05)),
            f"clusters, {name}, fixed value": Case("accuracy(b) > 0.55", 0.55, partial(clustered, sizes, 1, 0.0)),
            f"clusters, {name}, ratio": Case(
                "accuracy(a) >= 0.9 * accuracy(b)", 0.9, partial(clustered, sizes, 1, -0.055)),
            f"clusters, {name}, tokens": Case("tokens(a) > tokens(b)", 0.0, partial(clustered_tokens, sizes)),
        }  # fmt: skip
        for replicates in (3, 5):
            make = partial(clustered, sizes, replicates, 0.0)
            found |= {
                f"clusters, {name}, difference, {replicates} replicates": Case("accuracy(a) > accuracy(b)", 0.0, make),
                f"clusters, {name}, fixed value, {replicates} replicates": Case("accuracy(b) > 0.55", 0.55, make),
            }
    for n in (20, 50, 100):
        for replicates in (1, 3, 5):
            at = f"{n} questions, {replicates} replicates"
            found |= {
                f"replicates, difference, {at}": Case(
                    "accuracy(a) > accuracy(b)", 0.0, partial(repeated, n, replicates, 0.0)),
                f"replicates, margin, {at}": Case(
                    "accuracy(a) >= accuracy(b) - 0.05", -0.05, partial(repeated, n, replicates, -0.05)),
                f"replicates, fixed value, {at}": Case("accuracy(b) > 0.5", 0.5, partial(repeated, n, replicates, 0.0)),
                f"ceiling, difference, {at}": Case(
                    "accuracy(a) > accuracy(b)", 0.0, partial(ceiling, n, replicates, 0.0)),
                f"ceiling, margin, {at}": Case(
                    "accuracy(a) >= accuracy(b) - 0.05", -0.05, partial(ceiling, n, replicates, -0.05)),
                f"ceiling, fixed value, {at}": Case(
                    "accuracy(b) > 0.932", 0.932, partial(ceiling, n, replicates, 0.0)),
            }  # fmt: skip
    return found


CASES = _cases()


def one(name: str, run: int) -> Mapping[str, bool]:
    """Return what happened in one experiment of a case; the run is the seed."""
    return outcomes_of(CASES[name], np.random.default_rng([run, *name.encode()]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument("--processes", type=int, default=1)
    args = parser.parse_args()
    print(f"| case | N | {' | '.join(SHOWN)} |\n|{'---|' * (len(SHOWN) + 2)}", flush=True)
    with ProcessPoolExecutor(args.processes) as pool:
        for name in CASES:
            if args.only not in name:
                continue
            counts: Counter[str] = Counter()
            for marks in pool.map(partial(one, name), range(args.runs), chunksize=50):
                counts.update({what: int(mark) for what, mark in marks.items()})
            shares = (counts[what] / args.runs for what in SHOWN)
            shown = (f"{share:.1%} ± {np.sqrt(share * (1 - share) / args.runs):.1%}" for share in shares)
            print(f"| {name} | {args.runs} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()

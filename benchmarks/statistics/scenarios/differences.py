"""Differences of two methods, one mean, and families of them, at a fixed number of questions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.random import Generator

from cortexdsl.core import Family
from cortexdsl.stats.inference.contrasts import mean_outcome
from cortexdsl.stats.inference.families import adjust, compare_families
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.tables.units import units
from cortexdsl.stats.verdicts import evaluate_claims
from scenarios.made import DRAWS, Marks, Scenario, answers, chances, compared, mcnemar_p, table


def one_replicate(random: Generator) -> Marks:
    a, b = (answers(random, p, 1) for p in chances(random, 2, 100))
    reject, cover = compared(table({"a": a, "b": b}), 0)
    wins, losses = int((a > b).sum()), int((b > a).sum())
    return {"error: exact test": reject, "(McNemar exact)": mcnemar_p(wins, losses) <= 0.05,
            "cover: exact test": cover}  # fmt: skip


def three_replicates(random: Generator) -> Marks:
    a, b = (answers(random, p, 3) for p in chances(random, 2, 100))
    reject, cover = compared(table({"a": a, "b": b}), 0)
    return {"error: score test of means": reject, "cover: score test of means": cover}


def lopsided(random: Generator) -> Marks:
    """A fifth of the questions gain 40 points, the others lose 10: equal on average, not symmetric."""
    shift = np.where(random.random(100) < 0.2, 0.4, -0.1)
    base = random.uniform(0.2, 0.6, 100)
    reject, cover = compared(table({"a": answers(random, base + shift, 3), "b": answers(random, base, 3)}), 0)
    return {"error: score test of means": reject, "cover: score test of means": cover}


def clusters(random: Generator) -> Marks:
    """Thirty passages of four questions; methods differ by passage."""
    base = np.repeat(random.beta(1, 0.7, 30), 4)
    a, b = (np.clip(base + np.repeat(0.2 * random.normal(size=30), 4), 0, 1) for _ in range(2))
    frame = table({"a": answers(random, a, 2), "b": answers(random, b, 2)})
    reject, cover = compared(frame.assign(cluster=frame["question_id"] // 4), 0)
    ignored = compared(frame, 0)[0]
    return {"error: score test over clusters": reject, "cover: score test over clusters": cover,
            "(clusters ignored)": ignored}  # fmt: skip


def two_datasets(random: Generator) -> Marks:
    frames = []
    for name, questions in (("x", 60), ("y", 120)):
        a, b = (answers(random, p, 3) for p in chances(random, 2, questions))
        frames.append(table({"a": a, "b": b}, dataset=name))
    reject, cover = compared(pd.concat(frames), 0)
    return {"error: score test, mean of two datasets": reject, "cover: score test, mean of two datasets": cover}


def tokens(random: Generator) -> Marks:
    """Right-skewed token counts of 100 questions, two replicates; and with a true ratio of 0.7."""
    base = random.lognormal(6, 0.6, 100)
    a, b = (base * random.lognormal(0, 0.4, (2, 100)) for _ in range(2))
    frame = table({"a": a, "b": b}, "tokens")
    reject, cover = compared(frame, 0, "tokens")
    scaled = table({"a": 0.7 * a, "b": b}, "tokens")
    row = evaluate_claims(scaled, ["tokens(a) <= 0.7 * tokens(b)"], seed=1, draws=DRAWS).iloc[0]
    bound, covers = bool(row["p"] <= 0.05), bool(row["ci_low"] <= 0.7 <= row["ci_high"])
    return {"error: studentised bootstrap": reject, "cover: studentised bootstrap": cover,
            "error: log ratio, at its bound": bound, "cover: ratio": covers}  # fmt: skip


def families(random: Generator) -> Marks:
    """Five equal methods against a sixth: any significant difference is an error of the family."""
    names = ("b", "c", "d", "e", "f")
    frame = table({cell: answers(random, p, 3) for cell, p in zip(("a", *names), chances(random, 6, 100), strict=True)})
    p = compare_families(frame, [Family("f", names, "a", "none")], ["score"], seed=1, draws=DRAWS)["p"].to_numpy()
    marks = {f"error: family of five, {name}": bool((adjust(p, name) <= 0.05).any()) for name in ("holm",)}
    return {**marks, "(family of five, none)": bool((p <= 0.05).any())}


def one_mean(random: Generator) -> Marks:
    marks = {}
    for replicates in (1, 3):
        sample = units(
            score_table(table({"a": answers(random, random.beta(2.4, 0.6, 100), replicates)})), "score", ["a"]
        )
        found = mean_outcome(sample, 0, 0.8, 1, DRAWS)
        name = "Clopper-Pearson" if replicates == 1 else "Wilson, effective questions"
        marks |= {
            f"cover: {name}": found.low <= 0.8 <= found.high,
            f"error: one accuracy, {found.test}": found.p <= 0.05,
        }
    return marks


SCENARIOS: dict[str, Scenario] = {
    "equal methods, 100 questions, 1 replicate": one_replicate,
    "equal methods, 100 questions, 3 replicates": three_replicates,
    "equal on average, lopsided, 100 questions, 3 replicates": lopsided,
    "equal methods, 30 clusters of 4, 2 replicates": clusters,
    "equal methods, datasets of 60 and 120, 3 replicates": two_datasets,
    "tokens of 100 questions, 2 replicates": tokens,
    "six equal methods, 100 questions, 3 replicates": families,
    "one accuracy of 0.8, 100 questions": one_mean,
}

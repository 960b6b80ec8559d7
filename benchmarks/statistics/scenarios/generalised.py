"""Few clusters, families read together, and groups as draws from a population."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cortexdsl.core import Family
from cortexdsl.stats.inference.contrasts import contrast_outcomes, mean_outcome
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.inference.random_effects import pool_separate, random_effect
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.tables.units import units
from scenarios.made import DRAWS, Marks, Scenario, answers, chances, mcnemar_p, table


def few_clusters(random: Generator) -> Marks:
    """One accuracy of 0.7 over clusters of ten."""
    marks = {}
    for clusters in (5, 8, 12):
        chance = np.repeat(random.beta(4.9, 2.1, clusters), 10)
        frame = table({"a": answers(random, chance, 1)})
        frame["cluster"] = frame["question_id"] // 10
        found = mean_outcome(units(score_table(frame), "score", ["a"]), 0, 0.7, 1, DRAWS)
        marks[f"cover: Wilson over {clusters} clusters"] = found.low <= 0.7 <= found.high
        marks[f"error: one accuracy, {clusters} clusters"] = found.p <= 0.05
    return marks


def side_by_side(random: Generator) -> Marks:
    """A method that is 15 points better: whether p and its interval agree, and what McNemar's exact p would say."""
    marks = {}
    for questions in (20, 50, 100):
        base = random.uniform(0.1, 0.8, questions)
        frame = table({"a": answers(random, base + 0.15, 1), "b": answers(random, base, 1)})
        sample = units(score_table(frame), "score", ["a", "b"])
        found = contrast_outcomes(sample, np.array([[1.0, -1.0]]), [0.0], 1, DRAWS)[0]
        moved = sample.values[0] - sample.values[1]
        exact = mcnemar_p(int((moved > 0).sum()), int((moved < 0).sum()))
        marks |= {
            f"(p at most .05, {questions} questions)": found.p <= 0.05,
            f"(McNemar's exact p at most .05, {questions} questions)": exact <= 0.05,
            f"(the interval contradicts p, {questions} questions)": (found.p > 0.05) != (found.low <= 0 <= found.high),
            f"cover: exact test, {questions} questions": found.low <= 0.15 <= found.high,
        }
    return marks


def together(random: Generator) -> Marks:
    """Five equal methods against a sixth, 20 and 100 questions: p, its interval, and all intervals at once."""
    marks = {}
    for questions in (20, 100):
        names = ("b", "c", "d", "e", "f")
        values = zip(("a", *names), chances(random, 6, questions), strict=True)
        frame = table({cell: answers(random, p, 1) for cell, p in values})
        found = compare_families(frame, [Family("f", names, "a")], ["score"], seed=1, draws=DRAWS)
        apart = (found["ci_low_simultaneous"] > 0) | (found["ci_high_simultaneous"] < 0)
        significant = found["p_adjusted"] <= 0.05
        marks |= {
            f"cover: all five at once, {questions} questions": not apart.any(),
            f"(one leaves out 0, adjusted p above .05, {questions} questions)": bool((apart & ~significant).any()),
            f"(one reaches 0, adjusted p at most .05, {questions} questions)": bool((~apart & significant).any()),
        }
    return marks


def crossed(random: Generator) -> Marks:
    """Teams (or seeds) that answered the same sixty questions and differ by 0.1 around nothing."""
    marks = {}
    for teams in (3, 5, 10):
        values = random.normal(0, 0.1, (teams, 1)) + random.normal(0, 0.2, 60) + random.normal(0, 0.4, (teams, 60))
        found = random_effect(list(values), "teams")[0]
        taken = values.mean(axis=0)
        given = abs(taken.mean()) > 2.001 * taken.std(ddof=1) / 60**0.5
        marks[f"error: over {teams} teams"] = found.p <= 0.05
        marks[f"(the {teams} teams taken as given)"] = bool(given)
    return marks


def separate(random: Generator) -> Marks:
    """Datasets of 40 to 200 questions of their own that differ by 0.1 around nothing."""
    marks = {}
    for datasets in (3, 5, 10):
        groups = [random.normal(random.normal(0, 0.1), 0.5, size) for size in random.integers(40, 200, datasets)]
        found = random_effect(groups, "datasets")[0]
        pooled = pool_separate([g.mean() for g in groups], [g.std(ddof=1) / len(g) ** 0.5 for g in groups])
        low, high = pooled.prediction()
        marks[f"error: over {datasets} datasets"] = found.p <= 0.05
        marks[f"cover: the next dataset, after {datasets}"] = low <= random.normal(0, 0.1) <= high
    return marks


SCENARIOS: dict[str, Scenario] = {
    "one accuracy, clusters of ten": few_clusters,
    "15 points better, one replicate": side_by_side,
    "five equal methods against a sixth": together,
    "teams that differ by 0.1, 60 questions": crossed,
    "datasets that differ by 0.1": separate,
}

"""Claims: bounds, margins, trends, interactions."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cortexdsl.claims.cells import cells_of
from cortexdsl.stats.inference.joint import joint_sign_flip
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.tables.units import units
from cortexdsl.stats.verdicts import evaluate_claims
from scenarios.made import DRAWS, Marks, Scenario, answers, chances, table, verdict

INTERACTING = np.array([[1.0, -1, 0, -1, 1, 0], [1, 0, -1, -1, 0, 1]])
"""What two rows of three cells interact by, in the order of the grid."""


def shifted_tokens(random: Generator) -> Marks:
    """Differences whose mean is 100 and whose shape is skewed, tested against 100."""
    b = random.lognormal(6, 0.3, (1, 100))
    frame = table({"a": b + random.exponential(100, (1, 100)), "b": b}, "tokens")
    return {"error: studentised bootstrap": verdict(frame, "tokens(a) > tokens(b) + 100") != "undecided"}


def at_the_bound(random: Generator) -> Marks:
    """Five points worse, claimed not to be; eight points worse, claimed equivalent within eight."""
    base = random.uniform(0.1, 1, 150)
    frame = table({"a": answers(random, base - 0.05, 3), "b": answers(random, base, 3)})
    found = verdict(frame, "score(a) >= score(b) - 0.05")
    wide = random.uniform(0.1, 1, 300)
    other = table({"a": answers(random, wide - 0.08, 2), "b": answers(random, wide, 2)})
    equal = verdict(other, "score(a) == score(b) +- 0.08")
    return {"error (of 2.5 %): non-inferior, wrongly supported": found == "supported",
            "error: non-inferior, decided": found != "undecided",
            "error: equivalent, wrongly supported": equal == "supported"}  # fmt: skip


def grids(random: Generator) -> Marks:
    """A grid of six equal cells."""
    names = [f"s[keep={keep}, rounds={r}]" for keep in ("mean", "median") for r in (1, 2, 3)]
    frame = table({cell: answers(random, p, 2) for cell, p in zip(names, chances(random, 6, 100), strict=True)})
    claims = {"accuracy(s[rounds]) increasing": "trend", "accuracy(s[keep, rounds]) interacting": "interaction, joint",
              "best rounds of s is 2": "best of three"}  # fmt: skip
    found = evaluate_claims(frame, list(claims), seed=1, draws=DRAWS, arms=cells_of(names))
    return {f"error: {name}": bool(p <= 0.05) for name, p in zip(claims.values(), found["p"], strict=True)}


def skewed_grids(random: Generator) -> Marks:
    """A grid of six cells of one mean number of tokens, one of them skewed (lognormal, sigma 1)."""
    names = [f"s[keep={keep}, rounds={r}]" for keep in ("mean", "median") for r in (1, 2, 3)]
    marks: Marks = {}
    for questions in (20, 50, 100):
        base = random.lognormal(6, 0.6, questions)
        values = {cell: (base * random.normal(1, 0.1, questions))[None] for cell in names}
        values[names[-1]] = (base * random.lognormal(-0.5, 1, questions))[None]
        frame = table(values, "tokens")
        found = evaluate_claims(
            frame, ["tokens(s[keep, rounds]) interacting"], seed=1, draws=DRAWS, arms=cells_of(names)
        )["p"][0]
        sample = units(score_table(frame), "tokens", names)
        contrasts = sample.parts.T @ INTERACTING.T
        marks[f"error: interaction, joint, {questions} questions"] = bool(found <= 0.05)
        marks[f"(by sign flips, {questions} questions)"] = joint_sign_flip(contrasts, 1, DRAWS)[1].p <= 0.05
    return marks


SCENARIOS: dict[str, Scenario] = {
    "skewed token differences against a value": shifted_tokens,
    "exactly at the bound": at_the_bound,
    "grid of six equal cells, 100 questions, 2 replicates": grids,
    "tokens of six cells, one of them skewed": skewed_grids,
}

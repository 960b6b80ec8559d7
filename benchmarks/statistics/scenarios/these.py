"""Claims on these questions: the questions are the same in every experiment, and only their draws are new.

Each claim lies exactly on its bound for these questions, whatever others would show. Cells are as good on average and
differ from question to question: their chances are permutations of one another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
from numpy.random import Generator

from cortexdsl.core import Floats
from cortexdsl.stats.tables.score_table import score_table
from scenarios.bounds import CHANCES, LESS, Group, Made, grid_claims, grid_table
from scenarios.made import table

HERE = "on these questions"
SIZES = ((20, 2), (50, 3))
LEFT_OUT = ("the same, with a margin", "monotone")


@cache
def fixed_chances(scenario: str, questions: int) -> Floats:
    """Return the chances of seven cells on questions that never change, (7, questions); the last has less."""
    random = np.random.default_rng([questions, *scenario.encode()])
    base = CHANCES[scenario](random, 1, questions)[0]
    chance = np.stack([base, *(random.permutation(base) for _ in range(5)), base])
    chance[6] *= 1 - LESS / base.mean()
    return chance


def fixed_accuracies(scenario: str, random: Generator, questions: int, replicates: int) -> Made:
    """Six cells of one accuracy on these questions in a grid, and one of 5 points less."""
    chance = fixed_chances(scenario, questions)
    claims = grid_claims(float(chance[0].mean()), 9).items()
    return grid_table(random, chance, replicates), {
        form: (f"{claim} {HERE}", wrong) for form, (claim, wrong) in claims if form not in LEFT_OUT
    }


@cache
def _lengths(questions: int) -> Floats:
    return np.random.default_rng(questions).lognormal(0, 0.7, questions)


def fixed_tokens(sigma: float, random: Generator, questions: int, replicates: int) -> Made:
    """Three cells whose tokens are lognormal around a mean of the question; `half` spends half of them."""
    length = _lengths(questions)
    a, b, half = (length * random.lognormal(-(sigma**2) / 2, sigma, (replicates, questions)) for _ in range(3))
    mean = float(length.mean())
    frame = table({"a": a, "b": b, "half": half / 2}, "output_tokens")
    return score_table(frame).with_most({cell: {"output_tokens": float(16 * length.max())} for cell in "ab"}), {
        "tokens, difference": (f"output_tokens(a) < output_tokens(b) {HERE}", "both"),
        "tokens, ratio": (f"output_tokens(half) <= 0.5 * output_tokens(a) {HERE}", "both"),
        "tokens, fixed value": (f"output_tokens(a) < {mean:.9f} {HERE}", "both"),
    }


def these_groups() -> Iterator[Group]:
    """Yield the groups of claims on these questions, in the order of the table."""
    for name in ("heterogeneous", "ceiling"):
        yield Group(f"these questions, {name}", SIZES, partial(fixed_accuracies, name))
    for sigma in (0.5, 1.0):
        yield Group(f"these questions, lognormal tokens {sigma:g}", SIZES, partial(fixed_tokens, sigma))

"""Experiments of the size that a plan asks for."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.random import Generator

from cortexdsl.claims.cells import cells_of
from cortexdsl.stats.planning.expectations import Expectation
from cortexdsl.stats.planning.planning import plan_power
from cortexdsl.stats.planning.power import Truth
from scenarios.made import Marks, Scenario, simulated_differences, table, verdict

PLANS = {
    "superior by 10 points, one replicate": ("score(a) > score(b)", Expectation(0.25, None, None, {"a": 0.1}), 1),
    "superior by 8 points, three replicates": ("score(a) > score(b)", Expectation(0.25, 0.4, None, {"a": 0.08}), 3),
    "non-inferior by 6 points, equal": ("score(a) >= score(b) - 0.06", Expectation(0.2, 0.3), 2),
    "equivalent within 6 points, equal": ("score(a) == score(b) +- 0.06", Expectation(0.2, 0.3), 2),
}


@cache
def asked(name: str) -> tuple[float, int]:
    """The true difference and the number of questions that the plan asks for."""
    claim, expected, replicates = PLANS[name]
    row = plan_power([claim], cells_of(["a", "b"]), {"d": 100}, replicates, expected).iloc[0]
    return float(row["expected"]), int(row["needed"])


def planned(random: Generator) -> Marks:
    """Experiments of the size that the plan asks for, judged like any other."""
    marks = {}
    for name, (claim, expected, replicates) in PLANS.items():
        size, questions = asked(name)
        correlation = 1.0 if expected.correlation is None else expected.correlation
        truth = Truth(expected.discordance or 0, size, correlation)
        lasting = random.random(questions) < truth.correlation
        seeds = random.integers(2**31, size=replicates)
        draws = np.stack([simulated_differences(truth, questions, 1, 1, int(seed))[0] for seed in seeds])
        draws[:, lasting] = draws[0, lasting]
        same = (random.random(draws.shape) < 0.5).astype(float)
        right = {"a": np.where(draws == 0, same, draws > 0), "b": np.where(draws == 0, same, draws < 0)}
        frame = table(right)
        marks[f"power (of 80 %): {name}, {questions} questions"] = verdict(frame, claim) == "supported"
    return marks


SCENARIOS: dict[str, Scenario] = {
    "planned for 80 % power": planned,
}

"""The power of claims that several things hold: products for independent parts, and against simulated verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from cortexdsl.claims.cells import cells_of
from cortexdsl.stats.planning.expectations import Expectation
from cortexdsl.stats.planning.planning import joint_power, plan_power
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.tables import long_table

ARMS = cells_of(["a", "b", "c"])
BOTH = "accuracy(a) > accuracy(b) and accuracy(a) > accuracy(c)"
EXPECTED = Expectation(discordance=0.3, differences={"a": 0.12})


def power(claim: str, questions: dict[str, int], expected: Expectation = EXPECTED) -> float:
    found = plan_power([claim], ARMS, questions, 1, expected).iloc[0]
    return float(found["power"])


def test_independent_parts_multiply_and_equal_parts_are_one() -> None:
    assert joint_power([0.8, 0.7], np.eye(2)) == pytest.approx(0.56, abs=0.01)
    assert joint_power([0.8, 0.7], np.ones((2, 2))) == pytest.approx(0.7, abs=0.01)
    assert joint_power([0.8, 0.7], np.array([[1, -1], [-1, 1]])) == pytest.approx(0.5, abs=0.01)
    assert joint_power([0.8], np.ones((1, 1))) == 0.8


def test_every_dataset_multiplies() -> None:
    """Three datasets of other questions each: the cube of one."""
    one = power("accuracy(a) > accuracy(b)", {"x": 150})
    every = power("accuracy(a) > accuracy(b) on every dataset", {"x": 150, "y": 150, "z": 150})
    assert every == pytest.approx(one**3, abs=0.01)


def test_the_power_of_several_is_what_verdicts_reach() -> None:
    """300 simulated experiments of three cells, of which `a` is 12 points better than both others."""
    claims = [BOTH, "accuracy(a) > accuracy(every other)"]
    runs, supported = 300, np.zeros(2)
    for run in range(runs):
        random = np.random.default_rng(run)
        chance = random.random(150)
        # `a` gains on 21 % of questions and loses on 9 %; so do both others against it, each on its own
        cells = {"a": (chance < 0.6).astype(float)}
        for name in "bc":
            lost, gained = random.random(150) < 0.21 / 0.6, random.random(150) < 0.09 / 0.4
            cells[name] = np.where(cells["a"] == 1, ~lost, gained).astype(float)
        frame = long_table({name: values[None] for name, values in cells.items()})
        supported += evaluate_claims(frame, claims, seed=1, draws=99, correction="none")["verdict"] == "supported"
    weakest = power("accuracy(a) > accuracy(b)", {"d": 150})
    for claim, share in zip(claims, supported / runs, strict=True):
        stated = power(claim, {"d": 150})
        assert abs(share - stated) < 0.03 + 2 * np.sqrt(stated * (1 - stated) / runs)
        assert stated < weakest - 0.05


def test_what_is_needed_is_needed_for_all_parts() -> None:
    found = plan_power([BOTH], ARMS, {"d": 150}, 1, EXPECTED).iloc[0]
    assert power(BOTH, {"d": int(found["needed"])}) == pytest.approx(0.8, abs=0.01)


def test_earlier_results_say_how_parts_hang_together() -> None:
    """`b` and `c` always fail together, so that what shows one difference shows both."""
    random = np.random.default_rng(0)
    right = {"a": random.random((1, 400)) < 0.7, "b": random.random((1, 400)) < 0.58}
    frame = long_table({name: values.astype(float) for name, values in (right | {"c": right["b"]}).items()})
    from cortexdsl.stats.tables.score_table import score_table

    known = Expectation(earlier=score_table(frame))
    assert power(BOTH, {"data": 200}, known) == pytest.approx(
        power("accuracy(a) > accuracy(b)", {"data": 200}, known), abs=0.01
    )

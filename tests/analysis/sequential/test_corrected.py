"""Estimates after an early stop: what is left as it is, and how far they are from the truth on average."""

from __future__ import annotations

import numpy as np
import pytest

from cortexdsl.analysis.sequential.corrected import median_unbiased
from cortexdsl.analysis.sequential.evidence import Mean
from cortexdsl.analysis.sequential.sequential import judge_anytime, stopping_point
from cortexdsl.analysis.units.table import score_table
from cortexdsl.terms import Floats
from tests.analysis.tables import long_table

BOUND = float(np.log(40))
LOOKS = (50, 100, 150, 200)


def differences(seed: int, questions: int, truth: float, discordance: float = 0.3) -> Floats:
    random = np.random.default_rng(seed)
    share = (discordance + truth) / 2
    return random.choice([1.0, -1.0, 0.0], questions, p=[share, discordance - share, 1 - discordance])


def test_one_look_needs_no_correction() -> None:
    """Then the estimate is as probably above the truth as below it."""
    values = differences(1, 200, 0.2)
    assert median_unbiased(Mean(values, (-1, 1)), 0.0, (200,), BOUND) == pytest.approx(values.mean(), abs=0.003)


def test_a_claim_that_was_decided_before_did_not_stop_the_experiment() -> None:
    values = np.concatenate([np.ones(50), differences(2, 150, 0.2)])
    assert median_unbiased(Mean(values, (-1, 1)), 0.0, LOOKS, BOUND) == values.mean()


def test_the_first_decision_is_drawn_to_the_bound_and_no_farther() -> None:
    """Nothing at the first two looks, then enough: the estimate is smaller than it looks, and still above 0."""
    values = np.concatenate([np.tile([1.0, -1.0, 0, 0], 25), np.tile([1.0, 1, 1, 1, 0], 10)])
    evidence = Mean(values, (-1, 1))
    assert Mean(values[:100], (-1, 1)).above(0.0) < BOUND < evidence.above(0.0)
    found = median_unbiased(evidence, 0.0, (50, 100, 150), BOUND)
    assert 0 < found < values.mean()
    turned = median_unbiased(Mean(-values, (-1, 1)), 0.0, (50, 100, 150), BOUND)
    assert turned == pytest.approx(-found, abs=0.01)


def test_verdicts_of_a_stopped_experiment_say_it() -> None:
    """Fifteen points better of 1,000 questions: decided after some of them, and the ratio of tokens with it."""
    random = np.random.default_rng(5)
    gain = differences(5, 1000, 0.15)
    right = {"a": (gain > 0) | ((gain == 0) & (random.random(1000) < 0.5))}
    right["b"] = right["a"] ^ (gain != 0)
    frame = long_table({cell: values[None].astype(float) for cell, values in right.items()})
    found = stopping_point(frame, ["accuracy(a) > accuracy(b)"], batch=50, fewest=50)
    row = found.verdicts.iloc[0]
    assert row["verdict"] == "supported"
    assert row["ci_low"] < row["corrected"] < row["estimate"]
    assert f"corrected for {len(found.looks)} looks" in row["note"]
    plain = judge_anytime(score_table(frame), ["accuracy(a) > accuracy(b)"]).iloc[0]
    assert np.isnan(plain["corrected"])


def test_ratios_and_values_are_corrected_in_their_units() -> None:
    random = np.random.default_rng(3)
    cells = {"a": (random.random((1, 800)) < 0.55).astype(float), "b": (random.random((1, 800)) < 0.75).astype(float)}
    claims = ["accuracy(a) <= 0.9 * accuracy(b)"]
    row = stopping_point(long_table(cells), claims, batch=25, fewest=25).verdicts.iloc[0]
    assert (row["verdict"], row["estimate"] < row["corrected"] < 0.9) == ("supported", True)


def test_the_bias_is_smaller() -> None:
    """A true difference of 10 points, 120 experiments of up to 500 questions, a look after each 50."""
    plain, corrected, looks = [], [], range(50, 501, 50)
    for seed in range(120):
        values = differences(seed, 500, 0.1)
        for end in looks:
            evidence = Mean(values[:end], (-1, 1))
            if max(evidence.above(0.0), evidence.below(0.0)) >= BOUND or end == 500:
                plain.append(evidence.values.mean())
                corrected.append(median_unbiased(evidence, 0.0, tuple(n for n in looks if n <= end), BOUND))
                break
    assert np.mean(plain) - 0.1 > 0.005
    assert abs(np.mean(corrected) - 0.1) < 0.5 * (np.mean(plain) - 0.1)

"""Variance components against values worked out by hand, and their intervals by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from cortexdsl.stats.planning.spread import components_of, splits_of


def test_one_way_by_hand() -> None:
    """Five questions of two replicates, means 1 to 5, each pair one apart: within 1/2; between 2.5 - 1/4."""
    middle = np.arange(1.0, 6.0)
    found = components_of(np.stack([middle - 0.5, middle + 0.5], axis=1))
    assert found.sampling.estimate == pytest.approx(0.5)
    assert found.questions.estimate == pytest.approx(2.25)
    assert found.correlation.estimate == pytest.approx(2.25 / 2.75)


def test_one_debate_more_of_a_question_helps_less_than_another_question() -> None:
    """A budget of 120 debates: 120 questions if there are so many; with 40 questions, three of each."""
    middle = np.arange(1.0, 6.0)
    found = components_of(np.stack([middle - 0.5, middle + 0.5], axis=1))
    best = splits_of(found, 120, 1000, (1, 2, 3, 5))[0]
    assert (best.questions, best.replicates) == (120, 1)
    assert best.error == pytest.approx(((2.25 + 0.5) / 120) ** 0.5)
    few = splits_of(found, 120, 40, (1, 2, 3, 5))[0]
    assert (few.questions, few.replicates) == (40, 3)
    assert few.error == pytest.approx(((2.25 + 0.5 / 3) / 40) ** 0.5)


def test_the_intervals_hold_the_truth() -> None:
    """Scores of 0 and 1 at chances that are uniform: 1/12 between questions, 1/6 within, correlation 1/3.

    100 questions of 3 replicates, 200 experiments: 95 % hold it, less four standard errors.
    """
    random, held = np.random.default_rng(3), np.zeros(3)
    for _ in range(200):
        chance = random.random(100)
        found = components_of((random.random((100, 3)) < chance[:, None]).astype(float))
        parts = (found.questions, found.sampling, found.correlation)
        held += [one.low <= truth <= one.high for one, truth in zip(parts, (1 / 12, 1 / 6, 1 / 3), strict=True)]
    assert (held / 200 >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 200)).all()

"""Rare bad values of metrics with a range: they count if the sample shows none of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cortexdsl.claims.values import Quantity
from cortexdsl.core import Family
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.inference.unseen import extremes_of
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.tables.units import units_of
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.tables import long_table

QUESTIONS = 50  # 7.1 % of all questions can be missed with a probability of 2.5 %


def row(values: dict[str, object], metric: str, claim: str) -> pd.Series:
    table = score_table(long_table({cell: np.asarray(one, dtype=float)[None] for cell, one in values.items()}, metric))
    return evaluate_claims(table, [claim], seed=1, draws=499).iloc[0]


@pytest.mark.parametrize(
    ("metric", "low", "claim", "is_marked"),
    [
        ("f1", 0.90, "f1(a) > 0.931", True),  # .95 less 7.1 % of .95 is .883
        ("f1", 0.90, "f1(a) > 0.85", False),
        ("f1", 0.90, "f1(a) < 0.97", False),  # values of 0 make it truer, and values near 1 were seen
        ("brier_stated", 0.00, "brier(a) < 0.08", True),  # .05 and 7.1 % of .95 are .117
        ("brier_stated", 0.00, "brier(a) < 0.15", False),
        ("kindness", 0.90, "kindness(a) > 0.931", True),  # a column of another program
    ],
)
def test_a_share_of_questions_at_the_end_of_the_range(metric: str, low: float, claim: str, is_marked: bool) -> None:
    """Values spread evenly over a tenth, all far from one end of [0, 1]."""
    values = np.linspace(low, low + 0.1, QUESTIONS)
    found = row({"a": values, "b": values[::-1]}, metric, claim)
    assert (found["verdict"], found["p"] < 0.025) == ("supported", True)
    assert ("one question can have" in found["note"]) is is_marked


def test_a_difference_and_its_family_say_the_same() -> None:
    """.95 and .90: one cell at 0 in 7.1 % of questions would be worse by far."""
    random = np.random.default_rng(0)
    values = {"a": random.uniform(0.9, 1.0, QUESTIONS), "b": random.uniform(0.85, 0.95, QUESTIONS)}
    found = row(values, "f1", "f1(a) > f1(b)")
    assert (found["verdict"], found["p"] < 0.01) == ("supported", True)
    assert "one question can have 0" in found["note"]
    frame = long_table({cell: one[None] for cell, one in values.items()}, "f1")
    assert "one question can have 0" in compare_families(frame, [Family("f", ("a",), "b")], ["f1"], 1)["note"].iloc[0]


def test_values_that_the_sample_shows_need_no_guard() -> None:
    """Two zeros of 50 questions: the spread of the sample already holds them."""
    values = np.r_[np.zeros(2), np.linspace(0.9, 1.0, QUESTIONS - 2)]
    found = row({"a": values, "b": values / 2}, "f1", "f1(a) > f1(b)")
    assert (found["verdict"], "one question can have" in found["note"]) == ("supported", False)


@pytest.mark.parametrize("replicates", [1, 3])
def test_right_and_wrong_answers_have_no_such_values(replicates: int) -> None:
    """Their tests are exact for 0 and 1, so that nothing is added; a cell with .95 throughout shows neither end."""
    right = np.ones((replicates, QUESTIONS))
    for values, count in ((right, 0), (0.95 * right, 2)):
        table = score_table(long_table({"a": values}, "score"))
        quantities = [Quantity("accuracy", "a")]
        sample = units_of(table, quantities)
        assert len([*extremes_of(sample, table, quantities, [0], sample.values)]) == count

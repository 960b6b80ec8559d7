"""Probabilities of a difference: what lies at the ends of practical equivalence, and which side is better."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cortexdsl.analysis.tests.bayes import bayes_families, difference_posterior
from cortexdsl.errors import InputError
from cortexdsl.terms import Family
from tests.analysis.tables import long_table, two_by_two

FAMILY = [Family("f", ("a",), "b")]


@pytest.mark.parametrize(
    ("mean", "expected"),
    [(-0.2, (1, 0, 0)), (-0.1, (0, 1, 0)), (0.0, (0, 1, 0)), (0.1, (0, 1, 0)), (0.1001, (0, 0, 1))],
)
def test_without_error_all_probability_lies_at_the_mean(mean: float, expected: tuple[float, ...]) -> None:
    """The ends of the region belong to it."""
    assert difference_posterior(mean, 0.0, 9, 0.1) == expected


def test_a_posterior_is_students_around_the_mean() -> None:
    worse, same, better = difference_posterior(0.05, 0.02, 9, 0.01)
    assert worse == pytest.approx(stats.t.cdf(-3, 9))
    assert better == pytest.approx(stats.t.cdf(2, 9))
    assert worse + same + better == pytest.approx(1)


def test_of_questions_the_degrees_of_freedom_are_one_less() -> None:
    """Ten paired differences: mean over its standard error, nine degrees; a gap has no row."""
    values = two_by_two(3, 4, 1, 2)
    row = bayes_families(long_table(values), FAMILY, ["score"], 0.0, seed=1).iloc[0]
    differences = (values["a"] - values["b"])[0]
    assert row["p_better"] == pytest.approx(stats.t.cdf(differences.mean() / stats.sem(differences), 9))
    assert (row["posterior"], row["better"], row["p_equivalent"]) == ("t", "higher", 0.0)
    gap = long_table({"a": np.array([[1.0, np.nan]]), "b": np.ones((1, 2))}, "input_tokens")
    assert bayes_families(gap, FAMILY, ["input_tokens"], 0.0, seed=1).empty


@pytest.mark.parametrize(("metric", "better"), [("input_tokens", "lower"), ("density", "neither"), ("dvc", "higher")])
def test_better_is_what_the_metric_says(metric: str, better: str) -> None:
    random = np.random.default_rng(1)
    low = random.random((1, 20))
    frame = long_table({"a": low, "b": low + random.normal(0.4, 0.1, (1, 20))}, metric)
    row = bayes_families(frame, FAMILY, [metric], 0.01, seed=1).iloc[0]
    assert row["better"] == better
    assert (row["p_better"] > 0.99) == (better == "lower")
    assert (row["p_worse"] > 0.99) == (better != "lower")


def test_one_dataset_has_no_row_for_a_next_one_and_a_region_is_no_less_than_nothing() -> None:
    frame = long_table(two_by_two(3, 4, 1, 2))
    assert bayes_families(frame, FAMILY, ["score"], 0.0, seed=1)["dataset"].tolist() == ["data"]
    two = pd.concat([frame.assign(dataset=name) for name in "xy"])
    assert bayes_families(two, FAMILY, ["score"], 0.01, seed=1)["dataset"].tolist() == ["x", "y", "all"]
    with pytest.raises(InputError, match=r"half-width of at least 0, not -0\.1$"):
        bayes_families(frame, FAMILY, ["score"], -0.1, seed=1)

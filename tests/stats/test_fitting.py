"""Kinds of fitted functions against hand-computed values, and cross-validation against known truths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cortexdsl.expressions.evaluation import evaluate, parse
from cortexdsl.stats.fitting.features import FitTable, table_of
from cortexdsl.stats.fitting.kinds import FitError, fit
from cortexdsl.stats.fitting.validation import check_table, predictions, validate

KINDS = ("logistic", "table", "isotonic", "tree")


def simulated(slope: float, questions: int = 120, seed: int = 0) -> FitTable:
    """Return two answers to each question, right with a probability that rises with `sure`."""
    rng = np.random.default_rng(seed)
    sure = rng.integers(0, 6, 2 * questions) / 5
    right = rng.random(2 * questions) < 1 / (1 + np.exp(-slope * (sure - 0.5)))
    return table_of({"sure": list(sure)}, right.astype(float), [f"q{k // 2}" for k in range(2 * questions)])


def test_a_logistic_regression_is_where_its_gradient_is_zero() -> None:
    table = simulated(3.0)
    function = fit("logistic", table)
    sure = np.array(table.features[0].values)
    slope = function.coefficients["sure"]
    residual = table.target - predictions(function, table)
    assert residual.sum() == pytest.approx(0, abs=1e-3)  # the intercept has no penalty
    standardised = (sure - sure.mean()) / sure.std()
    assert standardised @ residual == pytest.approx(slope * sure.std(), abs=1e-3)  # the penalty's own gradient


def test_a_separated_feature_has_a_finite_coefficient() -> None:
    table = table_of({"x": [0.0] * 10 + [1.0] * 10}, [0.0] * 10 + [1.0] * 10, [str(k) for k in range(20)])
    assert 0 < fit("logistic", table).coefficients["x"] < 20


def test_a_table_shrinks_means_to_the_overall_one() -> None:
    """Means of 0.2 and 0.8 over 50 rows each: within 0.16 * 100 / 98, between ((2 * 50 * 0.09) - within) / 50."""
    right = [1.0] * 10 + [0.0] * 40 + [1.0] * 40 + [0.0] * 10
    table = table_of({"model": ["a"] * 50 + ["b"] * 50}, right, [str(k) for k in range(100)])
    within = 0.16 * 100 / 98
    prior = within / ((9.0 - within) / 50)
    expected = (10 + prior * 0.5) / (50 + prior)
    assert fit("table", table).coefficients["a"] == pytest.approx(expected)
    assert predictions(fit("table", table), table)[0] == pytest.approx(expected, abs=1e-5)


def test_a_table_of_equal_groups_is_the_base_rate() -> None:
    table = table_of({"model": ["a", "b"] * 20}, [1.0, 1.0, 0.0, 0.0] * 10, [str(k) for k in range(40)])
    assert set(fit("table", table).coefficients.values()) == {0.5}


def test_a_word_that_was_never_seen_has_the_overall_mean() -> None:
    table = table_of({"model": ["a"] * 50 + ["b"] * 50}, [1.0] * 45 + [0.0] * 55, [str(k) for k in range(100)])
    expression = parse(fit("table", table).expression)
    assert evaluate(expression, {"x0": np.zeros(1), "x1": np.zeros(1)}) == pytest.approx([0.45])


def test_isotonic_pools_violators() -> None:
    """Means 0, 1, 0, 1 of equal groups: the middle two are pooled to 0.5."""
    values = [0.1] * 4 + [0.2] * 4 + [0.3] * 4 + [0.4] * 4
    table = table_of({"x": values}, [0.0] * 4 + [1.0] * 4 + [0.0] * 4 + [1.0] * 4, [str(k) for k in range(16)])
    assert predictions(fit("isotonic", table), table).tolist() == [0.0] * 4 + [0.5] * 8 + [1.0] * 4


def test_a_tree_splits_where_the_error_falls_most() -> None:
    values = [k / 40 for k in range(40)]
    table = table_of({"x": values, "y": [0.5] * 40}, [0.0] * 16 + [1.0] * 24, [str(k) for k in range(40)])
    assert "x < 0.3875" in next(iter(fit("tree", table).coefficients))


@pytest.mark.parametrize("kind", KINDS)
def test_a_strong_signal_is_found_and_chance_is_noise(kind: str) -> None:
    assert not validate(kind, simulated(8.0)).is_noise
    assert validate(kind, simulated(0.0)).is_noise


@pytest.mark.parametrize("kind", KINDS)
def test_scores_do_not_depend_on_the_order_of_rows(kind: str) -> None:
    table = simulated(4.0)
    order = np.random.default_rng(1).permutation(len(table.target)).tolist()
    one, other = (validate(kind, each).scores["log_loss"] for each in (table.rows(order), table))
    assert one == pytest.approx(other, abs=1e-5)


def test_answers_to_one_question_are_in_one_fold() -> None:
    """A feature that names the question predicts its answers only if a question may be on both sides."""
    rng = np.random.default_rng(5)
    number, right = np.repeat(rng.random(40), 6), np.repeat(rng.integers(0, 2, 40), 6)
    table = table_of({"x": list(number)}, right.astype(float), [f"q{k // 6}" for k in range(240)])
    assert validate("tree", table).is_noise


def test_the_base_rate_is_that_of_the_other_folds() -> None:
    scores = validate("logistic", simulated(0.0), scale=2.0).scores
    assert scores["log_loss"]["base"] == pytest.approx(math.log(2), abs=0.02)
    assert scores["brier"]["base"] == pytest.approx(4 * 0.25, abs=0.04)  # in units of a gain


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (table_of({"x": []}, [], []), "no debate about its questions was finished"),
        (table_of({"x": [1.0, 2.0]}, [1.0, 1.0], ["a", "b"]), "its target is 1 in all 2 rows"),
        (table_of({"x": [1.0, 2.0]}, [1.0, 0.0], ["a", "b"]), "2 questions are too few for 5 folds"),
        (
            table_of({f"f{k}": list(range(6)) for k in range(6)}, [1.0, 0.0] * 3, list("abcdef")),
            "6 questions are too few for 6 columns of features",
        ),
    ],
)
def test_nothing_is_fitted_on_too_little(table: FitTable, what: str) -> None:
    with pytest.raises(FitError) as error:
        check_table(table)
    assert what in error.value.args[0]
    assert error.value.args[1]


def test_a_table_with_too_many_combinations_is_refused() -> None:
    table = table_of({"x": [float(k) for k in range(60)]}, [0.0, 1.0] * 30, [str(k) for k in range(60)])
    with pytest.raises(FitError, match="60 combinations"):
        fit("table", table)

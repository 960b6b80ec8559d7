"""Intervals against values from papers, by hand, and against statsmodels and scipy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from cortexdsl.metrics.estimates import metrics_table
from cortexdsl.stats.inference.accuracies import score_tests
from cortexdsl.stats.inference.bootstrap import log_ratio, resample, studentised
from cortexdsl.stats.inference.contrasts import contrast_outcomes, mean_outcome, ratio_outcome
from cortexdsl.stats.inference.outcomes import (
    clopper_pearson,
    effective_trials,
    few_units,
    jackknife_factors,
    satterthwaite,
    standard_error,
    wilson,
)
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.tables.units import units
from tests.stats.tables import long_table, two_by_two

CLUSTERED = [1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1]
PAIR = np.array([[1.0, -1.0]])


def test_wilson_of_eight_in_ten() -> None:
    """R: binom::binom.wilson(8, 10) gives [0.490162, 0.943318]."""
    assert wilson(8, 10) == pytest.approx((0.490162, 0.943318), abs=1e-6)


def test_cluster_standard_error() -> None:
    """Clusters of three: 0.1595712, as OLS with cov_type="cluster"; Miller's Eq. 4 is sqrt(3/4) of it, 0.1381927."""
    frame = long_table({"a": np.array([CLUSTERED], dtype=float)})
    frame["cluster"] = np.repeat(list("wxyz"), 3)
    sample = units(score_table(frame), "score", ["a"])
    error = standard_error(sample, sample.parts[0][:, None])[0]
    assert error == pytest.approx(0.1595712, abs=1e-7)
    assert error * np.sqrt(3 / 4) == pytest.approx(0.1381927, abs=1e-7)
    fit = sm.OLS(CLUSTERED, np.ones(12)).fit(cov_type="cluster", cov_kwds={"groups": np.repeat(range(4), 3)})
    assert error == pytest.approx(fit.bse[0])


def test_standard_error_without_clusters() -> None:
    """The same answers as twelve independent questions: 0.1486471 with n - 1 (R: sd(s) / sqrt(12))."""
    sample = units(score_table(long_table({"a": np.array([CLUSTERED], dtype=float)})), "score", ["a"])
    assert standard_error(sample, sample.parts[0][:, None])[0] == pytest.approx(0.1486471, abs=1e-7)


def test_more_questions_than_the_exact_test_takes_by_hand() -> None:
    """62 / 314 +- t of 313.5 times sqrt((180 - 62^2 / 314 + .5) / (314 x 313)), with half a pseudo-question."""
    sample = units(score_table(long_table(two_by_two(101, 121, 59, 33))), "score", ["a", "b"])
    found = contrast_outcomes(sample, PAIR, [0.0], seed=1)[0]
    spread = (180 - 62**2 / 314) / (314 * 313) + 0.5 / 314**2
    assert found.estimate == pytest.approx(62 / 314)
    assert found.low <= 62 / 314 - stats.t.isf(0.025, 313.5) * spread**0.5
    assert (found.low, found.high) == pytest.approx((0.115060, 0.277345), abs=0.003), "near Bonett and Price's"
    assert found.test == "score (Tango)"


def test_effective_trials_are_the_questions_of_one_replicate() -> None:
    """p (1 - p) / (p (1 - p) / (n - 1)) = n - 1, at one replicate; equal replicates add nothing."""
    answers = np.array([CLUSTERED], dtype=float)
    once = units(score_table(long_table({"a": answers})), "score", ["a"])
    thrice = units(score_table(long_table({"a": np.repeat(answers, 3, axis=0)})), "score", ["a"])
    assert effective_trials(once, 0) == pytest.approx(11)
    assert effective_trials(thrice, 0) == pytest.approx(11)


def _clusters(count: int, random: np.random.Generator) -> pd.DataFrame:
    """Ten answers in each of some clusters, right in 70 % on average and alike within a cluster."""
    chance = random.beta(4.9, 2.1, count)
    frame = long_table({"a": (random.random((1, 10 * count)) < np.repeat(chance, 10)).astype(float)})
    return frame.assign(cluster=np.repeat(np.arange(count), 10))


def test_few_clusters_count_for_less() -> None:
    """Korn and Graubard: with 8 clusters, (1.959964 / 2.364624)^2 = 0.687022 of the effective questions are left."""
    assert few_units(100, 7) == pytest.approx(68.7022, abs=1e-3)
    assert few_units(100, np.inf) == 100


def test_wilson_over_few_clusters_covers() -> None:
    """Of 300 experiments of eight clusters at most 7.5 % (two standard errors above 5 %) miss the truth."""
    random, missed, told = np.random.default_rng(11), 0, 0
    for _ in range(300):
        found = mean_outcome(units(score_table(_clusters(8, random)), "score", ["a"]), 0, 0.7, seed=1)
        missed += not found.low <= 0.7 <= found.high
        told += found.p <= 0.05
    assert missed == told
    assert missed <= 0.075 * 300


def test_the_interval_of_a_metric_is_that_of_a_claim_about_it() -> None:
    """Two programs, one interval over clusters; of twelve answers the claim has the interval of its exact test."""
    table = score_table(_clusters(8, np.random.default_rng(3)))
    found, shown = mean_outcome(units(table, "score", ["a"]), 0, 0.7, 1), metrics_table(table, ["accuracy"]).iloc[0]
    assert (shown["ci_low"], shown["ci_high"]) == pytest.approx((found.low, found.high))
    once = score_table(long_table({"a": np.array([CLUSTERED], dtype=float)}))
    found, shown = mean_outcome(units(once, "score", ["a"]), 0, 0.7, 1), metrics_table(once, ["accuracy"]).iloc[0]
    assert (shown["ci_low"], shown["ci_high"]) == pytest.approx(wilson(7, 12))
    assert (found.low, found.high) == pytest.approx(clopper_pearson(7, 12)), "that which its exact test inverts"


def test_bootstrap_standard_errors_are_those_of_the_resample() -> None:
    """Each resample's own standard error, worked out from its values, equals the one from sums of squares."""
    values = np.random.default_rng(4).normal(10, 3, (1, 25))
    sample = units(score_table(long_table({"a": values}, "tokens")), "tokens", ["a"])
    drawn = resample(sample, sample.parts.T, seed=8, draws=3)
    random = np.random.default_rng([8, 25, 1])
    for row, index in enumerate(random.integers(0, 25, (3, 25))):
        assert drawn.draws[row, 0] == pytest.approx(values[0, index].mean())
        assert drawn.errors[row, 0] == pytest.approx(values[0, index].std(ddof=1) / 5)


def test_of_two_questions_a_resample_of_both_has_the_error_that_was_observed() -> None:
    """The standard error of 3 and 7 is 2; a resample of one of them twice has none."""
    sample = units(score_table(long_table({"a": np.array([[3.0, 7.0]])}, "tokens")), "tokens", ["a"])
    drawn = resample(sample, sample.parts.T, seed=1, draws=50)
    assert drawn.error == pytest.approx([2.0])
    assert set(zip(drawn.draws[:, 0].round(9), drawn.errors[:, 0].round(9), strict=True)) == {(3, 0), (5, 2), (7, 0)}


def test_studentised_p_and_interval_agree() -> None:
    """A null value at an end of the 95 % interval has a two-sided p of 5 %; its one-sided parts share it."""
    values = np.random.default_rng(6).exponential(5, (1, 60))
    sample = units(score_table(long_table({"a": values}, "tokens")), "tokens", ["a"])
    drawn = resample(sample, sample.parts.T, seed=2)
    (found,) = studentised(drawn, np.zeros(1))
    for end in (found.low, found.high):
        (at,) = studentised(drawn, np.array([end]))
        assert at.p == pytest.approx(0.05, abs=0.001)
        assert min(at.above, at.below) < 0.05 < max(at.above, at.below)


def test_studentised_interval_of_normal_values_is_students() -> None:
    """Of 60 near-normal values the bootstrap's interval is that of the t distribution, to a twentieth of its width."""
    values = np.random.default_rng(9).normal(5, 2, (1, 60))
    sample = units(score_table(long_table({"a": values}, "tokens")), "tokens", ["a"])
    (found,) = studentised(resample(sample, sample.parts.T, seed=2), np.zeros(1))
    low, high = stats.t.interval(0.95, 59, values.mean(), stats.sem(values[0]))
    assert (found.low, found.high) == pytest.approx((low, high), abs=(high - low) / 20)


def test_ratio_of_proportional_methods() -> None:
    """Tokens that are 0.7 of the other's but for noise: the ratio is near 0.7, below 0.75 and above 0.65."""
    random = np.random.default_rng(7)
    full = random.gamma(20, 50, (2, 100))
    sparse = full * 0.7 * random.normal(1, 0.05, (2, 100))
    sample = units(score_table(long_table({"s": sparse, "f": full}, "tokens")), "tokens", ["s", "f"])
    found = ratio_outcome(sample, PAIR[0], 0.75, seed=1)
    assert found.estimate == pytest.approx(sparse.mean() / full.mean())
    assert 0.65 < found.low < found.estimate < found.high < 0.75
    assert found.below < 0.001
    assert ratio_outcome(sample, PAIR[0], 0.65, seed=1).above < 0.001
    assert log_ratio(sample, PAIR[0], 1).error[0] < 0.01


def test_a_ratio_that_few_questions_do_not_bound_has_an_end_at_infinity() -> None:
    """Three questions of five do not differ: some resamples have next to no spread, so that nothing is too far off."""
    values = {"a": np.array([[29.0, 8, 8, 23, 25]]), "b": np.array([[28.0, 8, 7, 23, 25]])}
    sample = units(score_table(long_table(values, "tokens")), "tokens", ["a", "b"])
    found = ratio_outcome(sample, np.array([1.0, -1.0]), 1.4, 1, 99)
    assert found.high == np.inf
    assert 0 < found.low < found.estimate == pytest.approx(93 / 91)


def test_one_mean_against_a_value_is_the_binomial_test() -> None:
    """8 of 10 against 0.5: one-sided p (45 + 10 + 1) / 1024."""
    sample = units(score_table(long_table({"a": np.array([[1.0] * 8 + [0.0] * 2])})), "score", ["a"])
    assert mean_outcome(sample, 0, 0.5, seed=1).above == pytest.approx(56 / 1024)


def test_a_constant_difference_of_answers_has_an_interval_and_one_of_numbers_has_none() -> None:
    """Twenty questions that are all equal are not all questions: answers have an interval, tokens are not tested."""
    same = np.ones((1, 20))
    answers = units(score_table(long_table({"a": same, "b": same})), "score", ["a", "b"])
    tokens = units(score_table(long_table({"a": same * 7, "b": same * 5}, "tokens")), "tokens", ["a", "b"])
    found = contrast_outcomes(answers, PAIR, [0.0], seed=1)[0]
    assert (found.estimate, found.p) == (0, 1)
    assert -found.low == pytest.approx(1 - 0.025 ** (1 / 20), abs=1e-4) == found.high, "the exact limit of 0 of 20"
    other = contrast_outcomes(tokens, PAIR, [0.0], seed=1)[0]
    assert (other.estimate, other.test) == (
        pytest.approx(2),
        "none: all questions have the same value, so nothing is known of the spread",
    )
    assert np.isnan([other.low, other.high, other.p]).all()


def test_two_questions_have_no_interval_of_numbers() -> None:
    """Half of all resamples of two values hold one of them twice and have no spread: the interval is everything."""
    sample = units(
        score_table(long_table({"a": np.array([[-3.0, 5.0]]), "b": np.array([[1.0, 0.0]])}, "t")), "t", ["a", "b"]
    )
    found = contrast_outcomes(sample, PAIR, [0.0], seed=1)[0]
    assert (found.low, found.high) == (-np.inf, np.inf)
    assert found.p > 0.5


def test_the_score_test_over_clusters_by_hand() -> None:
    """Means 1, 0, .5, -.5 of four clusters: residuals .1875 and .0625 twice, times 4 / 3; a step of 2.5 / 3."""
    a = np.array([[1.0, 1, 1, 0, 1, 1, 0, 0]])
    b = np.array([[0.0, 0, 1, 0, 0, 1, 1, 0]])
    frame = long_table({"a": a, "b": b}).assign(cluster=np.tile(np.repeat(range(4), 2), 2))
    sample = units(score_table(frame), "score", ["a", "b"])
    found = score_tests(sample, PAIR, np.ones(1))
    assert found.estimate[0] == pytest.approx(0.25)
    assert found.step[0] == pytest.approx(2.5 / 3)
    assert found.error[0] ** 2 == pytest.approx(0.078125 * 4 / 3 + 0.5 * (2.5 / 3 / 4) ** 2)
    assert found.freedom == pytest.approx(3)
    two = pd.concat([frame.assign(dataset="x"), frame.assign(dataset="y")])
    both = units(score_table(two), "score", ["a", "b"])
    assert score_tests(both, PAIR, np.ones(1)).freedom == pytest.approx(6)  # eight clusters less two datasets


def test_the_score_test_of_averaged_answers_by_hand() -> None:
    """Ten questions twice: (p - .5) / sqrt(.25 / n), n = p (1 - p) / SE^2, against t with nine degrees of freedom."""
    values = np.array([[1.0, 1, 1, 1, 1, 1, 0, 1, 0, 1], [1.0, 1, 0, 1, 1, 1, 0, 0, 0, 1]])
    sample = units(score_table(long_table({"a": values})), "score", ["a"])
    means = values.mean(axis=0)
    trials = 0.7 * 0.3 / (means.std(ddof=1) ** 2 / 10)
    statistic = 0.2 / np.sqrt(0.25 / trials)
    found = mean_outcome(sample, 0, 0.5, seed=1)
    assert found.statistic == pytest.approx(statistic)
    assert (found.above, found.below) == pytest.approx((stats.t.sf(statistic, 9), stats.t.cdf(statistic, 9)))
    assert found.p == pytest.approx(2 * stats.t.sf(statistic, 9))
    assert np.isnan(mean_outcome(sample, 0, 0.0, seed=1).statistic)


def test_unequal_clusters_have_the_standard_error_of_the_jackknife() -> None:
    """Leave out each cluster, and take the spread of the means that are left, around the mean of all."""
    sizes = np.array([5, 3, 2])
    right = np.array([[1, 1, 0, 1, 0, 0, 1, 1, 1, 0]], dtype=float)
    cluster = np.repeat(np.arange(3), sizes)
    sample = units(score_table(long_table({"a": right}).assign(cluster=cluster)), "score", ["a"])
    left = np.array([right[0][cluster != out].mean() for out in range(3)])
    expected = np.sqrt(2 / 3 * ((left - right.mean()) ** 2).sum())
    assert standard_error(sample, sample.parts.T)[0] == pytest.approx(expected)
    assert jackknife_factors(np.array([0.5, 0.3, 0.2])) == pytest.approx(np.array([4, 1 / 0.49, 1 / 0.64]) * 2 / 3)


def test_its_freedom_is_that_of_the_quadratic_form() -> None:
    """With questions of variance 1: 2 mean^2 / variance; one less than the number of equal clusters."""
    assert satterthwaite(np.full(8, 1 / 8)) == pytest.approx(7)
    assert satterthwaite(np.ones(1)) == 0
    sizes = np.array([15, 15, 6, 2, 1, 1])
    weights = sizes / sizes.sum()
    centring = np.eye(6) - np.outer(weights, np.ones(6))
    form = centring.T @ np.diag(jackknife_factors(weights)) @ centring @ np.diag(weights)
    assert satterthwaite(weights) == pytest.approx(np.trace(form) ** 2 / np.trace(form @ form))

"""Tests of contrasts, beside hand calculations: statistics, sides, means, ratios, and what is said of what has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cortexdsl.core import Family, Floats
from cortexdsl.errors import InputError
from cortexdsl.stats.inference.accuracies import d_z, discordant_odds_ratio, score_tests
from cortexdsl.stats.inference.contrasts import contrast_outcomes, gap_of, mean_outcome, ratio_outcome
from cortexdsl.stats.inference.families import adjust, compare_families, simultaneous_level
from cortexdsl.stats.inference.outcomes import (
    Outcome,
    effective_trials,
    few_units,
    quantile,
    standard_error,
    tail,
    wilson,
)
from cortexdsl.stats.inference.paired import Paired
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.tables.units import Units, units
from tests.stats.tables import long_table, two_by_two

PAIR = np.array([[1.0, -1.0]])


def sample(values: dict[str, Floats], metric: str = "score", **columns: object) -> Units:
    return units(score_table(long_table(values, metric, **columns)), metric, list(values))


def contrast(values: dict[str, Floats], metric: str = "score", null: float = 0.0, **columns: object) -> Outcome:
    return contrast_outcomes(sample(values, metric, **columns), PAIR, [null], seed=1, draws=199)[0]


# ---------------------------------------------------------------- answers
def test_one_replicate_has_the_exact_test() -> None:
    """Two won and seven lost of twenty: Tango's score is McNemar's, -5 / 9^(1/2)."""
    found = contrast(two_by_two(10, 2, 7, 1))
    assert (found.statistic, found.discordant) == (pytest.approx(-5 / 3), 9)
    assert (found.above, found.below) == Paired(2, 7, 20).sides(0.0)
    assert found.p == 2 * found.below
    assert found.test == "score (Tango), exact"
    equal = contrast(two_by_two(10, 3, 3, 1))
    assert (equal.p, equal.above, equal.statistic) == (1.0, equal.below, 0.0)


def test_averaged_answers_have_pseudo_questions_of_their_own_size() -> None:
    """Differences of two replicates 1, 1/2, -1/2, 0: a step of 2.5 / 3; the larger p of t and of the score decides."""
    first = np.array([[1.0, 1, 0, 1], [1, 1, 0, 0]])
    second = np.array([[0.0, 1, 1, 0], [0, 0, 0, 1]])
    found = contrast({"a": first, "b": second})
    step = 2.5 / 3
    assert found.statistic == pytest.approx(0.25 / np.sqrt((1.5 - 0.25) / 12 + 0.5 * (step / 4) ** 2))
    assert found.test == "score (Tango)"
    score = 0.25 / np.sqrt((1.5 + 0.5 * step**2) / 4.5**2)  # the null value 0 implies the mean square
    assert found.p == pytest.approx(2 * max(stats.t.sf(found.statistic, 3.5), stats.norm.sf(score)))
    assert found.discordant == 3
    none = contrast({"a": first, "b": first})
    assert (none.statistic, none.p, none.discordant) == (0.0, 1.0, 0)


def test_over_clusters_the_name_says_so() -> None:
    columns = {"cluster": np.repeat(np.arange(5), 4)}
    assert contrast(two_by_two(10, 6, 2, 2), **columns).test == "score (Tango) over clusters"
    assert contrast(two_by_two(10, 6, 2, 2), null=0.1, **columns).test == "score (Tango) over clusters"


def test_several_datasets_have_no_exact_test() -> None:
    frame = pd.concat([long_table(two_by_two(5, 6, 2, 7), dataset=name) for name in "xy"])
    found = contrast_outcomes(units(score_table(frame), "score", ["a", "b"]), PAIR, [0.0], seed=1)[0]
    assert found.test == "score (Tango)"


def test_an_interval_of_answers_ends_at_what_can_be() -> None:
    """Three questions, all won: no interval reaches beyond 1."""
    found = contrast({"a": np.ones((1, 3)), "b": np.zeros((1, 3))})
    assert found.high == 1.0
    assert found.low > -1.0
    turned = contrast({"a": np.zeros((1, 3)), "b": np.ones((1, 3))})
    assert (turned.low, turned.high) == (-1.0, pytest.approx(-found.low))


def test_scaling_keeps_the_test() -> None:
    found = contrast(two_by_two(10, 7, 2, 1))
    twice = found.scaled(2.0)
    assert (twice.estimate, twice.low, twice.high) == (2 * found.estimate, 2 * found.low, 2 * found.high)
    assert (twice.p, twice.above, twice.statistic) == (found.p, found.above, found.statistic)


def test_a_sum_of_answers_that_is_no_difference_is_tested_as_numbers_are() -> None:
    found = contrast_outcomes(sample(two_by_two(10, 7, 2, 1)), np.array([[1.0, 1.0]]), [1.0], seed=1, draws=199)[0]
    assert found.estimate == pytest.approx(29 / 20)
    assert found.test == "studentised bootstrap (199 draws)"


def test_contrasts_of_different_kinds_keep_their_places() -> None:
    """Of answers, of a cell with a half among them, of one that lacks a value."""
    values = {**two_by_two(4, 4, 2, 2), "c": np.full((1, 12), 0.5), "d": np.full((1, 12), np.nan)}
    here = sample(values)
    here = replace(here, scored=np.array([True, True, True, False]))
    weights = np.array([[1.0, 0, -1, 0], [1, 0, 0, -1], [1, -1, 0, 0]])
    tests = [found.test for found in contrast_outcomes(here, weights, [0.0] * 3, seed=1, draws=99)]
    assert tests[0] == "studentised bootstrap (99 draws)"
    assert tests[1] == "none: d lacks 12 of 12 values of score"
    assert tests[2] == "score (Tango), exact"
    assert gap_of(here, (0, 1, 2)) == ""


# ---------------------------------------------------------------- one mean
@pytest.mark.parametrize(
    ("null", "above", "below"), [(0.0, 0.0, 1.0), (1.0, 1.0, 0.0), (-0.2, 0.0, 1.0), (1.4, 1.0, 0.0)]
)
def test_a_mean_against_what_is_certain(null: float, above: float, below: float) -> None:
    """Eight of ten right: no chance of that where nothing, or everything, is right."""
    found = mean_outcome(sample({"a": np.array([[1.0] * 8 + [0.0] * 2])}), 0, null, seed=1)
    assert (found.above, found.below) == pytest.approx((above, below), abs=1e-15)
    assert np.isnan(found.statistic)
    assert (found.low, found.high) == pytest.approx((0.443905, 0.974789), abs=1e-6)  # R: binom.test(8, 10)
    assert found.test == "binomial exact"


def test_a_mean_over_two_datasets_has_units_less_datasets_degrees() -> None:
    """Six of ten and nine of ten, each twice over: t with 20 - 2 degrees of freedom, Wilson with as many."""
    frame = pd.concat(
        [long_table({"a": np.array([[1.0] * k + [0.0] * (10 - k)])}, dataset=name) for k, name in ((6, "x"), (9, "y"))]
    )
    here = units(score_table(frame), "score", ["a"])
    found = mean_outcome(here, 0, 0.5, seed=1)
    variance = (0.6 * 0.4 / 9 + 0.9 * 0.1 / 9) / 4
    trials = 0.75 * 0.25 / variance
    assert effective_trials(here, 0) == pytest.approx(min(trials, 20))
    counted = few_units(min(trials, 20), 18)
    assert (found.low, found.high) == pytest.approx(wilson(0.75 * counted, counted))
    assert found.above == pytest.approx(stats.t.sf(0.25 / np.sqrt(0.25 / min(trials, 20)), 18))
    assert found.test == "score (Wilson)"


def test_a_mean_that_never_varies_is_as_many_trials_as_units() -> None:
    """Twelve questions in four clusters, all right: four trials, whatever the replicates; Wilson by t of three."""
    here = sample({"a": np.ones((3, 12))}, cluster=np.tile(np.repeat(np.arange(4), 3), 3))
    assert effective_trials(here, 0) == 4
    found = mean_outcome(here, 0, 0.5, seed=1)
    counted = few_units(4, 3)
    assert (found.low, found.high) == pytest.approx(wilson(counted, counted))
    assert found.test == "score (Wilson) over clusters"


def test_replicates_that_disagree_are_worth_at_most_themselves() -> None:
    """Both replicates of each question one right, one wrong: no spread of means, and sixteen units; at most 32 rows."""
    values = np.vstack([np.ones((1, 16)), np.zeros((1, 16))])
    assert effective_trials(sample({"a": values}), 0) == 16
    mixed = values.copy()
    mixed[1, 0] = 1.0
    assert effective_trials(sample({"a": mixed}), 0) == 32  # p (1 - p) / SE^2 would be 249


def test_a_mean_of_numbers_is_a_contrast_of_one() -> None:
    values = np.random.default_rng(1).normal(5, 1, (1, 30))
    found = mean_outcome(sample({"b": np.ones((1, 30)), "a": values}, "tokens"), 1, 4.0, seed=1, draws=199)
    assert found.estimate == pytest.approx(values.mean())
    assert found.above < 0.01


# ---------------------------------------------------------------- ratios
def test_a_ratio_of_nothing_is_not_tested() -> None:
    values = {"a": np.zeros((1, 5)), "b": np.full((1, 5), 2.0)}
    found = ratio_outcome(sample(values, "calls"), PAIR[0], 1.0, seed=1)
    assert found.test == "none: a ratio of means that are not above 0 (0, 2)"
    gap = {"a": np.array([[1.0, np.nan]]), "b": np.ones((1, 2))}
    assert ratio_outcome(sample(gap, "calls"), PAIR[0], 1.0, seed=1).test == "none: a lacks 1 of 2 values of calls"


def test_a_ratio_without_spread_is_not_tested_unless_the_plan_fixes_both() -> None:
    """Six questions of four calls against two say nothing of the seventh; a plan without early stops does."""
    here = sample({"a": np.full((1, 6), 4.0), "b": np.full((1, 6), 2.0)}, "calls")
    found = ratio_outcome(here, PAIR[0], 1.5, 1)
    assert (found.estimate, found.test) == (
        2.0,
        "none: all questions have the same value, so nothing is known of the spread",
    )
    assert np.isnan([found.p, found.low, found.high]).all()
    planned = replace(here, fixed=np.array([True, True]))
    for null, sides in ((1.5, (0.0, 1.0)), (2.5, (1.0, 0.0)), (2.0, (1.0, 1.0))):
        found = ratio_outcome(planned, PAIR[0], null, 1)
        assert (found.above, found.below, found.low, found.high) == (*sides, 2.0, 2.0)
        assert found.test.startswith("certain by the plan")


def test_a_ratio_of_accuracies_is_a_difference_against_zero() -> None:
    """Right on 12 and 15 of 20, both on 9: a - .9 b is .1, 1 and -.9; its interval is where p passes 5 %."""
    here = sample(two_by_two(9, 3, 6, 2))
    found = ratio_outcome(here, PAIR[0], 0.9, 1)
    assert found.estimate == pytest.approx(12 / 15)
    square, size, reach = 3 + 6 * 0.81 + 9 * 0.01, 3 + 6 * 0.9 + 9 * 0.1, np.sqrt((1 + 0.81) / 2)
    step, total = (square + reach**2) / (size + reach), 12 - 0.9 * 15
    error = np.sqrt((square - total**2 / 20) / (20 * 19) + 0.5 * (step / 20) ** 2)
    plain = score_tests(here, PAIR, np.ones(1)).score(np.array([-0.1 * 15 / 20]))[0]
    assert found.below == pytest.approx(max(stats.t.cdf(total / 20 / error, 19.5), stats.norm.cdf(plain)))
    assert found.test == "score (Tango) of a - r b"
    for end in (found.low, found.high):
        assert ratio_outcome(here, PAIR[0], end, 1).p == pytest.approx(0.05, abs=1e-6)


def test_twenty_questions_that_are_all_right_prove_no_ratio() -> None:
    here = sample({"a": np.ones((1, 20)), "b": np.ones((1, 20))})
    found = ratio_outcome(here, PAIR[0], 0.95, 1)
    assert found.estimate == 1
    assert found.above > 0.05
    assert found.low < 0.9 < 1.1 < found.high


def test_a_ratio_to_an_accuracy_that_may_be_zero_has_no_upper_end() -> None:
    found = ratio_outcome(sample(two_by_two(0, 12, 1, 7)), PAIR[0], 1.0, 1)
    assert found.high == np.inf
    assert found.low > 1


def test_the_statistic_of_a_ratio_is_that_of_its_log() -> None:
    random = np.random.default_rng(4)
    values = {"a": random.gamma(9, 2, (1, 40)), "b": random.gamma(9, 3, (1, 40))}
    found = ratio_outcome(sample(values, "calls"), PAIR[0], 0.5, seed=1, draws=199)
    a, b = values["a"][0], values["b"][0]
    influence = (a / a.mean() - b / b.mean()) / 40
    error = np.sqrt((influence**2).sum())
    assert found.statistic == pytest.approx(np.log(a.mean() / b.mean() / 0.5) / error)
    assert found.test == "studentised bootstrap of the log ratio (199 draws)"
    assert found.above < 0.5 < found.below


# ---------------------------------------------------------------- standard errors and their reach
def test_the_standard_error_over_datasets_by_hand() -> None:
    """Of a mean of two means: half the root of the two squared errors; one question alone has no spread."""
    x, y = np.array([3.0, 7.0, 5.0]), np.array([1.0, 2.0])
    frame = pd.concat([long_table({"a": x[None]}, "t", dataset="x"), long_table({"a": y[None]}, "t", dataset="y")])
    here = units(score_table(frame), "t", ["a"])
    expected = np.sqrt(x.var(ddof=1) / 3 + y.var(ddof=1) / 2) / 2
    assert standard_error(here, here.parts.T)[0] == pytest.approx(expected)
    one = sample({"a": np.array([[4.0]])}, "t")
    assert standard_error(one, one.parts.T)[0] == 0


def test_reach_and_tail_are_students_or_normal() -> None:
    assert quantile(np.inf) == pytest.approx(1.959964, abs=1e-6)
    assert quantile(9, 0.9) == pytest.approx(1.833113, abs=1e-6)
    assert tail(np.array(1.959964), np.inf) == pytest.approx(0.025, abs=1e-6)
    assert tail(np.array(1.833113), 9.0) == pytest.approx(0.05, abs=1e-6)


# ---------------------------------------------------------------- corrections
def test_one_test_needs_no_correction_unless_another_was_withdrawn() -> None:
    assert adjust([0.04]).tolist() == [0.04]
    assert adjust([0.04], absent=1) == pytest.approx([0.08])
    assert adjust([], "holm").tolist() == []
    assert np.isnan(adjust([np.nan, np.nan])).all()


@pytest.mark.parametrize("correction", ["holm", "bh", "none"])
def test_one_interval_stands_at_its_own_level(correction: str) -> None:
    assert simultaneous_level([0.3], correction) == 0.95
    assert simultaneous_level([0.3, 0.4], correction, 0.9) == pytest.approx(0.9 if correction == "none" else 0.95)


def test_what_is_significant_at_exactly_alpha_counts_for_the_level() -> None:
    """Both of two at .05: BH rejects both, so that each interval stands at 95 %."""
    assert simultaneous_level([0.05, 0.05], "bh", 1 - 0.05) == pytest.approx(0.95)


def test_an_unknown_correction_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"^no correction 'sidak'; there are holm, bh, none$"):
        adjust([0.1, 0.2], "sidak")


# ---------------------------------------------------------------- effect sizes
def test_odds_of_questions_won() -> None:
    assert discordant_odds_ratio(np.array([1.0, 1, 1, -1, 0])) == 3
    assert discordant_odds_ratio(np.array([-1.0, -1])) == pytest.approx(0.5 / 2.5)
    assert discordant_odds_ratio(np.array([1.0, -1])) == 1
    assert discordant_odds_ratio(np.array([1e-13, -1.0, -1.0])) == pytest.approx(0.5 / 2.5), "rounding is no win"


def test_differences_that_never_vary_have_no_standard_deviation() -> None:
    assert np.isnan(d_z(np.full(3, 2.0)))
    assert np.isnan(d_z(np.array([2.0])))
    assert d_z(np.array([0.0])) == 0
    assert d_z(np.array([1.0, 3.0])) == pytest.approx(2 / np.sqrt(2))
    assert np.isnan(d_z(np.array([1e9, 1e9 + 1e-4]))), "a spread of rounding alone"


# ---------------------------------------------------------------- families
def test_a_family_compares_something_else() -> None:
    frame = long_table(two_by_two(5, 6, 2, 7))
    with pytest.raises(InputError, match=r"^the family 'f' compares 'a' with no other cell$"):
        compare_families(frame, [Family("f", ("a",), "a")], ["score"], seed=1)
    found = compare_families(frame, [Family("f", ("a", "b", "b"), "a")], ["score"], seed=1)
    assert found["cell"].tolist() == ["b"]


def test_effect_sizes_are_odds_with_one_replicate_of_both_and_d_z_otherwise() -> None:
    once, numbers = two_by_two(5, 6, 2, 7), np.linspace(0, 1, 20)[None]
    twice = {cell: np.vstack([row, row[:, ::-1]]) for cell, row in once.items()}
    family = [Family("f", ("b",), "a")]
    assert compare_families(long_table(once), family, ["score"], seed=1)["effect"].tolist() == ["odds_ratio"]
    assert compare_families(long_table(twice), family, ["score"], seed=1)["effect"].tolist() == ["d_z"]
    found = compare_families(long_table({"a": once["a"], "b": numbers}), family, ["score"], seed=1, draws=99)
    assert found["effect"].tolist() == ["d_z"]
    assert found["effect_size"][0] == pytest.approx(d_z((numbers - once["a"])[0]))

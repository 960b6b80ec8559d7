"""Teams, seeds, datasets and experiments as samples from a population."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cortexdsl.errors import InputError
from cortexdsl.stats.inference.random_effects import (
    heterogeneity,
    pool_crossed,
    pool_separate,
    random_effect,
)

# Tuberculosis among vaccinated and controls (yes, no, yes, no) in 13 trials: Colditz et al. 1994, JAMA 271:698.
TRIALS = np.array([
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761),
    (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232), (17, 1699, 65, 1600),
    (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
])  # fmt: skip


def _log_risks() -> tuple[np.ndarray, np.ndarray]:
    a, b, c, d = TRIALS.T.astype(float)
    return np.log(a / (a + b)) - np.log(c / (c + d)), np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))


def test_meta_analysis_of_the_bcg_trials() -> None:
    """R: metafor::rma(yi, vi, method="PM", test="knha") of dat.bcg gives tau^2 0.3181, estimate -0.7150."""
    effects, errors = _log_risks()
    found = pool_separate(effects, errors)
    assert found.between**2 == pytest.approx(0.3181, abs=1e-4)
    assert found.estimate == pytest.approx(-0.7150, abs=1e-4)
    weights = 1 / (errors**2 + found.between**2)
    assert (weights * (effects - found.estimate) ** 2).sum() == pytest.approx(12)  # Paule and Mandel's equation
    assert found.share == pytest.approx(1 - 12 / 152.2330, abs=1e-5)  # metafor: Q(df = 12) = 152.2330
    low, high = found.interval()
    assert (low + high) / 2 == pytest.approx(found.estimate)
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, 12) * found.error)
    low, high = found.prediction()
    spread = np.hypot(found.between, found.error)
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, 11) * spread)  # groups - 2


def test_groups_that_are_alike_keep_the_error_of_their_questions() -> None:
    """Four equal estimates with errors of 0.1: 0.1 / sqrt(4), not the 0 of Hartung and Knapp alone."""
    found = pool_separate([0.2] * 4, [0.1] * 4)
    assert (found.error, found.between, found.share) == pytest.approx((0.05, 0, 0))


def test_a_group_without_any_error_leaves_all_of_them_alike() -> None:
    """1, 2 and 6 with errors of 0, 1 and 1: a spread of sqrt(7), of which 7 - 2 / 3 is between groups."""
    found = pool_separate([1.0, 2.0, 6.0], [0.0, 1.0, 1.0])
    assert found.estimate == 3.0
    assert found.error == pytest.approx((7 / 3) ** 0.5)
    assert found.between == pytest.approx((7 - 2 / 3) ** 0.5)
    assert found.share == pytest.approx((7 - 2 / 3) / 7)


def test_a_crossed_layout_by_hand() -> None:
    """Means 1, 2, 6 of 3 groups; of questions 2, 4; no interaction: tau^2 = 7, variance 1 + 7 / 3, 2 (10/3)^2 / ..."""
    values = np.array([[0.0, 2.0], [1.0, 3.0], [5.0, 7.0]])
    found = pool_crossed(values)
    assert found.estimate == 3
    assert found.between**2 == pytest.approx(7)
    assert found.error**2 == pytest.approx(1 + 7 / 3)
    assert found.share == 1
    # Satterthwaite: (10 / 3)^2 / (1^2 / 1 + (7 / 3)^2 / 2) = 2.985, at most questions - 1
    assert found.freedom == 1


def test_degrees_of_freedom_by_hand() -> None:
    """Five questions, no interaction: (asked + tau^2 / 3)^2 / (asked^2 / 4 + (tau^2 / 3)^2 / 2), asked = 2.5 / 5."""
    values = np.array([0.0, 1.0, 5.0])[:, None] + np.arange(5.0)
    found = pool_crossed(values)
    assert found.freedom == pytest.approx((0.5 + 7 / 3) ** 2 / (0.5**2 / 4 + (7 / 3) ** 2 / 2))


def test_two_groups_say_nothing_of_a_population() -> None:
    found, note = random_effect([np.zeros(9), np.ones(9)], "teams")
    assert found.test == "none: 2 teams: what teams differ by is not known from fewer than 3"
    assert np.isnan(found.p)
    assert not note
    with pytest.raises(InputError, match="fewer than 3"):
        pool_separate([1, 2], [1, 1])


def test_few_groups_are_named_as_few() -> None:
    random = np.random.default_rng(0)
    assert (
        "a rough guess; with only 5 teams the test may err"
        in random_effect(list(random.normal(size=(5, 20))), "teams")[1]
    )
    assert "few" not in random_effect(list(random.normal(size=(6, 20))), "teams")[1]
    assert heterogeneity(pool_crossed(random.normal(size=(8, 9))), "seeds").startswith("almost none of the")


def test_p_and_interval_are_one_procedure() -> None:
    """Against an end of its own interval the two-sided p is 5 %; each side has half of it or the rest."""
    groups = list(np.random.default_rng(2).normal(0.3, 1, (6, 40)))
    for over in ("teams", "datasets"):
        found, _ = random_effect(groups, over)  # type: ignore[arg-type]
        for end in (found.low, found.high):
            at, _ = random_effect(groups, over, null=end)  # type: ignore[arg-type]
            assert at.p == pytest.approx(0.05)
            assert at.above + at.below == pytest.approx(1)


@pytest.mark.parametrize(("tau", "shared"), [(0.0, 0.4), (0.1, 0.0), (0.1, 0.4)])
def test_error_rate_over_five_teams(tau: float, shared: float) -> None:
    """No team effect on average: 5 % of 1,000 experiments may say so, and two standard errors more."""
    random, wrong, ignored = np.random.default_rng(5), 0, 0
    for _ in range(1000):
        values = random.normal(0, tau, (5, 1)) + random.normal(0, shared, 60) + random.normal(0, 0.4, (5, 60))
        wrong += random_effect(list(values), "teams")[0].p <= 0.05
        ignored += stats.ttest_1samp(values.mean(axis=0), 0).pvalue <= 0.05
    assert wrong <= 64
    assert ignored <= 64 or tau  # teams taken as given: right only where they do not differ
    assert not (tau and not shared) or ignored > 200


def test_errors_over_separate_datasets() -> None:
    """Eight datasets that differ by 0.1 around nothing: at most 5 % of 600 experiments, and two standard errors."""
    random, wrong = np.random.default_rng(6), 0
    for _ in range(600):
        sizes = random.integers(40, 200, 8)
        groups = [random.normal(random.normal(0, 0.1), 0.5, size) for size in sizes]
        wrong += random_effect(groups, "datasets")[0].p <= 0.05
    assert wrong <= 600 * 0.068


def test_groups_without_any_spread_are_not_tested() -> None:
    found, _ = random_effect([np.full(4, 0.5)] * 3, "teams")
    assert np.isnan(found.p)
    assert "do not differ at all" in found.test
    assert random_effect([np.zeros(4)] * 3, "teams")[0].p == 1
    assert random_effect([np.zeros(4)] * 3, "datasets")[0].p == 1
    assert "single question" in random_effect([np.zeros(1)] * 3, "datasets")[0].test

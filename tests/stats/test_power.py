"""Power by formula against Miller's and statsmodels' values, by hand, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cortexdsl.errors import InputError
from cortexdsl.stats.planning.planning import _needed
from cortexdsl.stats.planning.power import (
    Truth,
    bonett_price_inflation,
    equivalence_power,
    miller_questions,
    normal_power,
    paired_difference,
    paired_power,
    simulated_power,
)


def test_millers_questions() -> None:
    """w^2 = 1/9, no variance within: a difference of 3 points needs 969 questions."""
    assert miller_questions(0.03, 1 / 9) == pytest.approx(968.997, abs=1e-3)


def test_the_power_of_one_replicate_by_hand() -> None:
    """Six questions, all discordant, p(win) = 0.9: of leads 6 and 4 only 6 / sqrt(8 - 36 / 8) exceeds t of 7, 2.365."""
    assert paired_power(6, 1.0, 0.8) == pytest.approx(0.9**6 + 0.1**6)
    assert paired_power(2, 1.0, 0.8) == 0, "two wins of two: 2 / sqrt(4 - 1) is not significant"


def test_the_size_of_one_replicate_is_about_nominal() -> None:
    for questions in (20, 50, 100, 500):
        assert paired_power(questions, 0.2, 0.0) <= 0.053


def test_the_power_of_one_replicate_is_what_the_test_does() -> None:
    """Of every split of 120 questions, with its probability, whether the test of the verdicts is significant."""
    share = 0.0
    for m in range(121):
        chance, wins = stats.binom.pmf(m, 120, 0.28), np.arange(m + 1)
        statistic = (2 * wins - m) / np.sqrt(m + 2 - (2 * wins - m) ** 2 / 122)
        significant = 2 * stats.t.sf(np.abs(statistic), 121) <= 0.05
        share += chance * stats.binom.pmf(wins, m, 0.2 / 0.28)[significant].sum()
    assert paired_power(120, 0.28, 0.12) == pytest.approx(share, abs=1e-9)


def test_power_and_difference_are_inverse() -> None:
    assert paired_power(200, 0.25, paired_difference(200, 0.25)) == pytest.approx(0.8, abs=1e-3)
    assert np.isnan(paired_difference(10, 0.1))


def test_normal_approximations() -> None:
    """Power is 0.8 where distance / error is 1.96 + 0.8416; equivalence needs 1.645 + 1.2816 at power 0.8."""
    assert normal_power(100, 2.80158, 10) == pytest.approx(0.8, abs=1e-4)
    assert equivalence_power(100, 2.92641, 10, 0.0) == pytest.approx(0.8, abs=1e-4)
    assert equivalence_power(4, 0.1, 10, 0.0) == 0


def test_equivalence_power_has_two_ends() -> None:
    """Error 1, margin 2, truth 0.5: within +- 0.355 of 0 by P(Z < -0.1449) - P(Z < -0.8551) = .44241 - .19626."""
    assert equivalence_power(100, 2.0, 10, 0.5) == pytest.approx(0.24615, abs=1e-4)
    assert equivalence_power(100, 2.0, 10, -0.5) == pytest.approx(0.24615, abs=1e-4)
    assert equivalence_power(100, 2.0, 0, 1.9) == 1
    assert equivalence_power(100, 2.0, 0, 2.0) == 0


def test_impossible_expectations_are_refused() -> None:
    with pytest.raises(InputError, match="at most that"):
        paired_power(100, 0.1, 0.2)
    with pytest.raises(InputError, match="difference of 0"):
        miller_questions(0.0, 0.1)


def test_the_pseudo_questions_of_replicates_by_hand() -> None:
    """Two replicates of discordance .2, independent: they differ on 1 - .8^2 - 2 x .1^2 = .34 of questions."""
    truth = Truth(0.2)
    assert truth.deviation(2) ** 2 == pytest.approx(0.1)
    assert truth.added(100, 2) == pytest.approx((100 * 0.1 + 1) / (100 * 0.34 + 1))
    assert truth.added(100, 1) == pytest.approx(1), "of one replicate: Bonett and Price"


def test_the_power_of_replicates_is_what_simulation_finds() -> None:
    """4,000 experiments of 120 questions and three replicates: within the simulation's interval and a point."""
    truth = Truth(0.25, 0.1, 0.4)
    _, low, high = simulated_power(truth, 120, 3, runs=4000)
    inflation = bonett_price_inflation(120, truth.deviation(3), truth.added(120, 3))
    power = normal_power(120, 0.1, truth.deviation(3), inflation=inflation, freedom=121)
    assert low - 0.01 < power < high + 0.01


@pytest.mark.parametrize("enough", [1, 2, 3, 5, 8, 9, 16, 17, 100, 129])
def test_the_fewest_questions_are_found_however_few(enough: int) -> None:
    assert _needed(lambda count: count - enough) == enough


def test_more_questions_than_anybody_asks_are_endless() -> None:
    assert _needed(lambda count: count - 100, most=128) == 100
    assert _needed(lambda count: count - 130, most=128) == np.inf


def test_what_never_varies_is_certain() -> None:
    """A spread of 0: any distance is shown, none is not; pseudo-questions widen nothing."""
    assert (normal_power(10, 0.1, 0.0), normal_power(10, 0.0, 0.0)) == (1.0, 0.0)
    assert bonett_price_inflation(10, 0.0) == 1.0
    assert paired_power(10, 0.0, 0.0) == 0.0


def test_two_pseudo_questions_widen_by_hand() -> None:
    """98 questions of deviation 1/2: sqrt(26.5) / 100 beside 1/2 / sqrt(98)."""
    assert bonett_price_inflation(98, 0.5) == pytest.approx(np.sqrt(26.5) / 100 * np.sqrt(98) / 0.5)
    # at a distance of two true errors the bound lies at 1.2 times 1.96 of them
    assert normal_power(100, 0.1, 0.5, inflation=1.2) == pytest.approx(stats.norm.cdf(2 - 1.2 * 1.959964), abs=1e-6)
    assert normal_power(100, -0.1, 0.5) == normal_power(100, 0.1, 0.5)


def test_all_of_a_discordance_in_one_direction_is_possible() -> None:
    """Six questions, all discordant, all won: significant only if all six are, which they are."""
    assert paired_power(6, 1.0, 1.0) == pytest.approx(1.0)
    assert paired_power(2, 1.0, 1.0) == 0.0
    assert paired_power(6, 1.0, 0.0) == pytest.approx(2 / 64)

"""Power by formula against Miller's and statsmodels' values, by hand, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cortexdsl.errors import InputError
from cortexdsl.stats.inference.paired import Paired
from cortexdsl.stats.planning.planning import _needed
from cortexdsl.stats.planning.power import (
    Truth,
    equivalence_power,
    normal_power,
    null_inflation,
    paired_power,
)
from tests.stats.simulated import simulated_power


def test_the_power_of_one_replicate_by_hand() -> None:
    """Six questions, all discordant, p(win) = 0.9: of leads 6 and 4 only 6 / sqrt(6) exceeds 1.96."""
    assert paired_power(6, 1.0, 0.8) == pytest.approx(0.9**6 + 0.1**6)
    assert paired_power(2, 1.0, 0.8) == 0, "two wins of two: 2 / sqrt(2) is not significant"


def test_the_size_of_one_replicate_is_about_nominal() -> None:
    for questions in (20, 50, 100, 500):
        assert paired_power(questions, 0.2, 0.0) <= 0.053


@pytest.mark.parametrize(("questions", "discordance", "difference"), [(20, 0.2, 0.14), (50, 0.2, 0.14), (50, 0.6, 0.2)])
def test_the_power_of_one_replicate_is_that_of_the_exact_test(
    questions: int, discordance: float, difference: float
) -> None:
    """Of every split, with its probability, whether the test of the verdicts is significant: within a point."""
    share = 0.0
    chances = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    for wins in range(questions + 1):
        for losses in range(questions + 1 - wins):
            chance = stats.multinomial.pmf([wins, losses, questions - wins - losses], questions, chances)
            if chance > 1e-5:
                share += chance * (2 * min(Paired(wins, losses, questions).sides(0.0)) <= 0.05)
    assert paired_power(questions, discordance, difference) == pytest.approx(share, abs=0.011)


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


def test_the_power_of_replicates_is_what_simulation_finds() -> None:
    """4,000 experiments of 120 questions and three replicates: within the simulation's interval and a point."""
    truth = Truth(0.25, 0.1, 0.4)
    _, low, high = simulated_power(truth, 120, 3, runs=4000)
    power = normal_power(120, 0.1, truth.deviation(3), freedom=119)
    assert low - 0.01 < power < high + 0.01


def test_the_power_of_a_margin_is_what_simulation_finds() -> None:
    """A margin of .05 at discordance .06: the variance under the margin is larger than that of the sample."""
    inflation = null_inflation(0.06, 0.0, -0.05)
    assert inflation > 1.1
    _, low, high = simulated_power(Truth(0.06), 150, 1, null=-0.05, runs=2000)
    assert low - 0.03 < normal_power(150, 0.05, 0.06**0.5, inflation=inflation) < high + 0.03


@pytest.mark.parametrize("enough", [1, 2, 3, 5, 8, 9, 16, 17, 100, 129])
def test_the_fewest_questions_are_found_however_few(enough: int) -> None:
    assert _needed(lambda count: count - enough) == enough


def test_more_questions_than_anybody_asks_are_endless() -> None:
    assert _needed(lambda count: count - 100, most=128) == 100
    assert _needed(lambda count: count - 130, most=128) == np.inf


def test_what_never_varies_is_certain() -> None:
    """A spread of 0: any distance is shown, none is not."""
    assert (normal_power(10, 0.1, 0.0), normal_power(10, 0.0, 0.0)) == (1.0, 0.0)
    assert null_inflation(0.0, 0.0, 0.1) == 1.0
    assert paired_power(10, 0.0, 0.0) == 0.0


def test_inflation_by_hand() -> None:
    """At a distance of two true errors the bound lies at 1.2 times 1.96 of them."""
    assert normal_power(100, 0.1, 0.5, inflation=1.2) == pytest.approx(stats.norm.cdf(2 - 1.2 * 1.959964), abs=1e-6)
    assert normal_power(100, -0.1, 0.5) == normal_power(100, 0.1, 0.5)


def test_all_of_a_discordance_in_one_direction_is_possible() -> None:
    """Six questions, all discordant, all won: significant only if all six are, which they are."""
    assert paired_power(6, 1.0, 1.0) == pytest.approx(1.0)
    assert paired_power(2, 1.0, 1.0) == 0.0
    assert paired_power(6, 1.0, 0.0) == pytest.approx(2 / 64)

"""Power by formula against Miller's and statsmodels' values, by hand, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cortexdsl.analysis.planning.planning import _needed
from cortexdsl.analysis.planning.power import (
    bonett_price_inflation,
    equivalence_power,
    mcnemar_difference,
    mcnemar_power,
    mcnemar_questions,
    miller_difference,
    miller_questions,
    normal_power,
    replicate_saving,
    sign_flip_power,
    t_test_questions,
)
from cortexdsl.analysis.planning.simulate import Truth, simulated_power
from cortexdsl.errors import InputError


def test_millers_questions() -> None:
    """w^2 = 1/9, no variance within: a difference of 3 points needs 969 questions."""
    assert miller_questions(0.03, 1 / 9) == pytest.approx(968.997, abs=1e-3)


def test_millers_differences() -> None:
    """198 questions, w^2 = 1/9, s^2 = 1/6: 13.3 points with one replicate, 7.6 with ten."""
    within = (1 / 6, 1 / 6)
    assert miller_difference(198, 1 / 9, within) == pytest.approx(0.13273, abs=1e-5)
    assert miller_difference(198, 1 / 9, within, (10, 10)) == pytest.approx(0.07567, abs=1e-5)


@pytest.mark.parametrize(("replicates", "cut"), [(1, 0), (2, 1 / 3), (4, 1 / 2), (6, 5 / 9)])
def test_millers_variance_cut(replicates: int, cut: float) -> None:
    """Var(x) = 1/12, s^2 = 1/6."""
    assert replicate_saving(1 / 12, 1 / 6, replicates) == pytest.approx(cut)


def test_paired_t_test() -> None:
    """R: power.t.test(delta = .2, power = .8, type = "paired") gives n = 198.151."""
    assert t_test_questions(0.2) == pytest.approx(198.151, abs=1e-3)


def test_mcnemars_power_by_hand() -> None:
    """Six questions, all discordant, p(win) = 0.9: only 6 : 0 (p = 1/32) is significant: 0.9^6 + 0.1^6."""
    assert mcnemar_power(6, 1.0, 0.8) == pytest.approx(0.9**6 + 0.1**6)
    assert mcnemar_power(5, 1.0, 0.8) == 0


def test_a_split_whose_p_is_exactly_alpha_is_significant() -> None:
    """6 : 0 has a p of 2 / 64, and so much is allowed."""
    assert mcnemar_power(6, 1.0, 0.8, alpha=2 / 64) == pytest.approx(0.9**6 + 0.1**6)
    assert mcnemar_power(6, 1.0, 0.8, alpha=1.9 / 64) == 0


def test_mcnemars_size_is_at_most_nominal() -> None:
    for questions in (50, 100, 500):
        assert mcnemar_power(questions, 0.2, 0.0) <= 0.05


def test_mcnemars_power_is_what_simulation_finds() -> None:
    """20,000 experiments of 120 questions: within four standard errors."""
    random = np.random.default_rng(1)
    wins, losses, _ = random.multinomial(120, [0.2, 0.08, 0.72], 20_000).T
    p = np.minimum(1, 2 * stats.binom.cdf(np.minimum(wins, losses), wins + losses, 0.5))
    assert mcnemar_power(120, 0.28, 0.12) == pytest.approx((p <= 0.05).mean(), abs=4 * 0.0035)


def test_questions_and_differences_are_inverse() -> None:
    questions = mcnemar_questions(0.25, 0.1)
    assert mcnemar_power(questions, 0.25, 0.1) >= 0.8 > mcnemar_power(questions - 12, 0.25, 0.1)
    assert mcnemar_difference(questions, 0.25) == pytest.approx(0.1, abs=0.003)
    assert np.isnan(mcnemar_difference(10, 0.1))


@pytest.mark.parametrize("case", [(0.25, 0.1), (0.2, 0.08), (0.3, 0.15), (0.1, 0.06), (0.4, 0.2), (0.15, 0.1)])
def test_the_questions_asked_for_are_the_first_from_which_on_the_power_is_there(case: tuple[float, float]) -> None:
    """The power is a saw: of the sizes about the one asked for, it is the first whose next has the power, too."""
    found = mcnemar_questions(*case)
    enough = {n: mcnemar_power(n, *case) >= 0.8 for n in range(found - 4, found + 2)}
    assert [n for n in range(found - 4, found + 1) if enough[n] and enough[n + 1]] == [found]


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
        mcnemar_power(100, 0.1, 0.2)
    with pytest.raises(InputError, match="difference of 0"):
        mcnemar_questions(0.1, 0.0)
    with pytest.raises(InputError, match="difference of 0"):
        miller_questions(0.0, 0.1)


def test_sign_flip_power_by_hand() -> None:
    """(.1 - 1 / 200) 10 / .4 = 2.375 of errors; the flips' own spread is sqrt(1 + .0625) of it: Phi(2.375 - 2.0203)."""
    assert sign_flip_power(100, 0.1, 0.4, 2) == pytest.approx(0.6386, abs=1e-4)
    assert sign_flip_power(100, -0.1, 0.4, 2) == sign_flip_power(100, 0.1, 0.4, 2)


def test_sign_flip_power_is_what_simulation_finds() -> None:
    """4,000 experiments of 120 questions and three replicates: within the simulation's interval and a point."""
    truth = Truth(0.25, 0.1, 0.4)
    _, low, high = simulated_power(truth, 120, 3, runs=4000)
    assert low - 0.01 < sign_flip_power(120, 0.1, truth.deviation(3), 3) < high + 0.01


@pytest.mark.parametrize("enough", [1, 2, 3, 5, 8, 9, 16, 17, 100, 129])
def test_the_fewest_questions_are_found_however_few(enough: int) -> None:
    assert _needed(lambda count: count - enough) == enough


def test_more_questions_than_anybody_asks_are_endless() -> None:
    assert _needed(lambda count: count - 100, most=128) == 100
    assert _needed(lambda count: count - 130, most=128) == np.inf


def test_what_never_varies_is_certain() -> None:
    """A spread of 0: any distance is shown, none is not; pseudo-questions widen nothing."""
    assert (normal_power(10, 0.1, 0.0), normal_power(10, 0.0, 0.0)) == (1.0, 0.0)
    assert (sign_flip_power(10, 0.1, 0.0, 2), sign_flip_power(10, 0.0, 0.0, 2)) == (1.0, 0.0)
    assert bonett_price_inflation(10, 0.0) == 1.0
    assert mcnemar_power(10, 0.0, 0.0) == 0.0


def test_two_pseudo_questions_widen_by_hand() -> None:
    """98 questions of deviation 1/2: sqrt(26.5) / 100 beside 1/2 / sqrt(98)."""
    assert bonett_price_inflation(98, 0.5) == pytest.approx(np.sqrt(26.5) / 100 * np.sqrt(98) / 0.5)
    # at a distance of two true errors the bound lies at 1.2 times 1.96 of them
    assert normal_power(100, 0.1, 0.5, inflation=1.2) == pytest.approx(stats.norm.cdf(2 - 1.2 * 1.959964), abs=1e-6)
    assert normal_power(100, -0.1, 0.5) == normal_power(100, 0.1, 0.5)


def test_all_of_a_discordance_in_one_direction_is_possible() -> None:
    """Six questions, all discordant, all won: significant only if all six are, which they are."""
    assert mcnemar_power(6, 1.0, 1.0) == pytest.approx(1.0)
    assert mcnemar_power(5, 1.0, 1.0) == 0.0
    assert mcnemar_power(6, 1.0, 0.0) == pytest.approx(2 / 64)

"""Sign-flip tests against exact values, against scipy, and against McNemar's test of statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from cortexdsl.analysis.tests.joint import joint_sign_flip
from cortexdsl.analysis.tests.signflip import mcnemar_mid_p, sign_flip


def _p(differences: list[float], step: float | None = None, draws: int = 10_000) -> float:
    return sign_flip(np.array(differences)[:, None], step, seed=1, draws=draws)[0].p


def test_mcnemar_of_agresti_by_convolution() -> None:
    """[[101, 121], [59, 33]]: exact p 4.434449e-6, mid-p 3.266647e-6 (statsmodels; R: exact2x2::mcnemar.exact)."""
    assert _p([1.0] * 121 + [-1.0] * 59 + [0.0] * 134, step=1.0) == pytest.approx(4.434449e-6, rel=1e-6)
    assert mcnemar([[101, 121], [59, 33]], exact=True).pvalue == pytest.approx(4.434449e-6, rel=1e-6)
    assert mcnemar_mid_p(121, 59) == pytest.approx(3.266647e-6, rel=1e-6)


def test_mid_p_by_hand() -> None:
    """Of 4 discordant pairs 3 to 1: exact 2 (1 + 4) / 16 = 0.625, less P(1) = 4/16: 0.375. An even split: 1 - 6/16."""
    assert mcnemar_mid_p(3, 1) == pytest.approx(0.375)
    assert mcnemar_mid_p(2, 2) == pytest.approx(0.625)
    assert mcnemar_mid_p(0, 0) == 1.0


@given(st.integers(0, 60), st.integers(0, 60))
def test_one_replicate_is_exact_mcnemar(wins: int, losses: int) -> None:
    """The sign-flip distribution of differences of +-1 is McNemar's binomial."""
    expected = mcnemar([[5, wins], [losses, 5]], exact=True).pvalue if wins + losses else 1.0
    assert _p([1.0] * wins + [-1.0] * losses + [0.0] * 3, step=1.0) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=10))
def test_convolution_enumeration_and_scipy_agree(thirds: list[int]) -> None:
    """Three replicates: the convolved distribution is the enumerated one, and scipy's."""
    values = np.array(thirds) / 3
    theirs = stats.permutation_test(  # of whole numbers: of thirds, scipy's sums of 0 are not quite 0
        (np.array(thirds, dtype=float),),
        lambda x, axis: np.sum(x, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert _p(list(values), step=1 / 3) == pytest.approx(min(1.0, theirs.pvalue), abs=1e-12)
    assert _p(list(values)) == pytest.approx(min(1.0, theirs.pvalue), abs=1e-12)


def test_drawn_signs_agree_with_the_exact_p_within_their_error() -> None:
    """Thirty irregular differences: a draw of signs lands within five standard errors of the p on a fine lattice."""
    values = np.round(np.random.default_rng(5).normal(0.25, 1, 30), 2)
    exact = _p(list(values), step=0.01)
    drawn = sign_flip(values[:, None], None, seed=3)[0]
    assert drawn.error is not None
    assert abs(drawn.p - exact) < 5 * drawn.error


def test_a_comparison_does_not_depend_on_what_else_is_tested() -> None:
    values = np.random.default_rng(1).normal(0.1, 1, (50, 3))
    together = sign_flip(values, None, seed=9)
    assert [flip.p for flip in together] == [sign_flip(values[:, [i]], None, seed=9)[0].p for i in range(3)]


def test_the_smallest_drawn_p_is_one_over_draws_plus_one() -> None:
    assert _p(list(np.linspace(1, 2, 40)), draws=99) == pytest.approx(0.01)


def test_equal_methods_have_p_one() -> None:
    assert _p([0.0] * 20, step=1.0) == 1.0
    assert _p([0.0] * 20) == 1.0


def test_what_rounding_left_over_is_no_difference() -> None:
    """Three questions of 1 beside forty of 1e-17, which is 0: two of eight patterns are as far out as 3, exactly."""
    assert _p([1.0] * 3 + [1e-17] * 40) == 0.25


def test_joint_test_of_one_contrast_is_the_sign_flip() -> None:
    """With one column s'(C'C)^-1 s orders sign patterns as |s| does."""
    values = np.random.default_rng(2).normal(0.5, 1, (9, 1))
    assert joint_sign_flip(values, seed=1)[1].p == pytest.approx(sign_flip(values, None, seed=1)[0].p)

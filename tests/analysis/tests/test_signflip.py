"""McNemar's exact test against statsmodels, and random signs against all patterns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from cortexdsl.analysis.tests.joint import joint_sign_flip
from cortexdsl.analysis.tests.signflip import mcnemar_p, patterns, random_signs


def test_mcnemar_of_agresti() -> None:
    """[[101, 121], [59, 33]]: exact p 4.434449e-6 (statsmodels; R: exact2x2::mcnemar.exact)."""
    assert mcnemar_p(121, 59) == pytest.approx(4.434449e-6, rel=1e-6)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemars_p_is_that_of_statsmodels(wins: int, losses: int) -> None:
    expected = mcnemar([[5, wins], [losses, 5]], exact=True).pvalue if wins + losses else 1.0
    assert mcnemar_p(wins, losses) == pytest.approx(expected, rel=1e-9)


def test_joint_test_of_one_contrast_is_scipys_permutation_test() -> None:
    """With one column s'(C'C)^-1 s orders sign patterns as |s| does."""
    values = np.random.default_rng(2).normal(0.5, 1, (9, 1))
    theirs = stats.permutation_test(
        (values[:, 0],),
        lambda x, axis: np.sum(x, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert joint_sign_flip(values, seed=1)[1].p == pytest.approx(theirs.pvalue)


def test_drawn_signs_are_fair_and_the_same_for_the_same_seed() -> None:
    signs = np.concatenate(random_signs(50, 2500, seed=4))
    assert signs.shape == (2500, 50)
    assert set(np.unique(signs)) == set(np.unique(patterns(2))) == {-1.0, 1.0}
    assert abs(signs.mean()) < 4 / np.sqrt(signs.size)
    assert np.array_equal(signs, np.concatenate(random_signs(50, 2500, seed=4)))

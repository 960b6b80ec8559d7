"""Random signs against all patterns, and joint tests of contrasts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cortexdsl.core import Floats
from cortexdsl.stats.inference.bootstrap import resample
from cortexdsl.stats.inference.contrasts import NO_SPREAD
from cortexdsl.stats.inference.joint import joint_bootstrap, joint_sign_flip, joint_test, patterns, random_signs
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.tables.units import Units, units
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.tables import long_table


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


CELLS = tuple(f"s[keep={keep}, rounds={rounds}]" for keep in ("mean", "median") for rounds in (1, 2, 3))
INTERACTING = np.array([[1.0, -1, 0, -1, 1, 0], [1, 0, -1, -1, 0, 1]])


def _tokens(questions: int, seed: int = 3, lift: float = 0.0) -> dict[str, Floats]:
    random = np.random.default_rng(seed)
    base = random.lognormal(6, 0.6, questions)
    values = {cell: (base * random.lognormal(0, 0.3, questions))[None] for cell in CELLS}
    values[CELLS[-1]] = values[CELLS[-1]] + lift
    return values


def _sample(questions: int = 40, lift: float = 0.0) -> Units:
    return units(score_table(long_table(_tokens(questions, lift=lift), "tokens")), "tokens", CELLS)


def test_statistic_is_hotellings() -> None:
    """T-squared is n (n - 1) m' (X'X)^-1 m of the mean m and the centred rows X; here without the n - 1 of both."""
    sample = _sample()
    rows = (INTERACTING @ sample.values).T
    mean, centred = rows.mean(axis=0), rows - rows.mean(axis=0)
    hotelling = len(rows) * (len(rows) - 1) * mean @ np.linalg.inv(centred.T @ centred) @ mean
    found = joint_bootstrap(sample, sample.parts.T @ INTERACTING.T, seed=1, draws=99)[0]
    assert found * (len(rows) - 1) / len(rows) == pytest.approx(hotelling)


def test_one_contrast_is_the_symmetric_studentised_bootstrap() -> None:
    sample = _sample()
    contributions = sample.parts.T @ INTERACTING[:1].T
    drawn = resample(sample, contributions, 1, 999)
    deviation = np.abs((drawn.draws - drawn.estimate) / drawn.errors)[:, 0]
    observed = abs(drawn.estimate[0] / drawn.error[0])
    expected = ((deviation >= observed).sum() + 1) / 1000
    assert joint_bootstrap(sample, contributions, 1, 999)[1] == pytest.approx(expected)


def test_drawn_flips_say_how_far_their_p_may_be_off() -> None:
    """The standard error of a share of draws."""
    sample = _sample(lift=60.0)
    flip = joint_sign_flip(sample.parts.T @ INTERACTING.T, 1, 400)[1]
    assert 0 < flip.p < 1
    assert flip.error == pytest.approx(np.sqrt(flip.p * (1 - flip.p) / 400))


def test_p_does_not_depend_on_the_level_that_others_are_held_against() -> None:
    sample = _sample(lift=80.0)
    other = np.array([[-1.0, 1, 0, 1, -1, 0], [0, 1, -1, 0, -1, 1]])
    first, second = (joint_bootstrap(sample, sample.parts.T @ w.T, 1, 999) for w in (INTERACTING, other))
    assert first == pytest.approx(second)


def test_numbers_are_studentised_and_answers_flipped() -> None:
    claim = "tokens(s[keep, rounds]) interacting"
    row = evaluate_claims(long_table(_tokens(60, lift=400.0), "tokens"), [claim], seed=1, draws=999).iloc[0]
    assert (row["verdict"], row["test"]) == ("supported", "joint studentised bootstrap (999 draws)")
    random = np.random.default_rng(1)
    right = {cell: (random.random((1, 60)) < 0.5).astype(float) for cell in CELLS}
    row = evaluate_claims(long_table(right), [claim.replace("tokens", "accuracy")], seed=1, draws=999).iloc[0]
    assert row["test"].startswith("joint sign-flip (999 draws")


@pytest.mark.parametrize(("questions", "warned"), [(100, True), (250, False)])
def test_interactions_of_skewed_numbers_are_said_to_err_more_often(questions: int, warned: bool) -> None:
    random = np.random.default_rng(8)
    values = {cell: random.normal(400, 20, (1, questions)) for cell in CELLS}
    values[CELLS[-1]] = 400 * random.lognormal(-0.5, 1, (1, questions))
    row = evaluate_claims(long_table(values, "tokens"), ["tokens(s[keep, rounds]) interacting"], seed=1, draws=99).iloc[
        0
    ]
    assert (f"only {questions} questions of skewed values" in row["note"]) == warned


def test_fewer_questions_than_contrasts_show_nothing() -> None:
    """Their covariance has no inverse: what they differ by may be anything."""
    sample = _sample(3, lift=1e4)
    assert joint_bootstrap(sample, sample.parts.T @ INTERACTING.T, 1, 999)[1] > 0.2


def test_differences_of_numbers_that_never_vary_are_not_tested() -> None:
    """There is no spread to studentise by, and ten questions that all say the same are not all questions."""
    values = {cell: np.full((1, 10), 100.0) + 7 * (cell == CELLS[-1]) for cell in CELLS}
    sample = units(score_table(long_table(values, "tokens")), "tokens", CELLS)
    assert joint_test(sample, sample.parts.T @ INTERACTING.T, 1, 999) is None
    row = evaluate_claims(long_table(values, "tokens"), ["tokens(s[keep, rounds]) interacting"], seed=1, draws=99).iloc[
        0
    ]
    assert (row["verdict"], row["test"]) == (
        "undecided",
        f"none: {NO_SPREAD}",
    )

"""Claims over prompts: wordings are a sample, as teams are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cortexdsl.engine.seeds import drawn_wording
from cortexdsl.errors import DataError
from cortexdsl.stats.inference.random_effects import pool_crossed, random_effect
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.tables import long_table

CLAIM = "accuracy(a) > accuracy(b) over prompts"


def _worded(wording: list[int], seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = long_table({name: (random.random((len(wording), 30)) < 0.6).astype(float) for name in "ab"})
    return frame.assign(wording=[wording[replicate - 1] for replicate in frame["replicate"]])


def test_each_run_of_replicates_uses_each_wording_once() -> None:
    """Nine replicates of three wordings: each three of them are a permutation, and another seed has another order."""
    drawn = [drawn_wording(5, replicate, 3) for replicate in range(1, 10)]
    assert [sorted(drawn[k : k + 3]) for k in (0, 3, 6)] == [[0, 1, 2]] * 3
    orders = {tuple(drawn_wording(seed, replicate, 3) for replicate in (1, 2, 3)) for seed in range(40)}
    assert len(orders) == 6


def test_over_prompts_is_the_random_effect_of_the_means_of_each_wording() -> None:
    """Replicates of one wording are averaged, and the wordings are the groups of a crossed layout."""
    frame = _worded([3, 1, 2, 1, 2, 3])
    found = evaluate_claims(frame, [CLAIM], seed=1).iloc[0]
    wide = frame.pivot_table(index="question_id", columns=["cell", "wording"], values="score", sort=False)
    groups = [(wide["a", one] - wide["b", one]).to_numpy() for one in (3, 1, 2)]
    expected, note = random_effect(groups, "prompts")
    assert found["p"] == pytest.approx(expected.p)
    assert found["ci_low"] == pytest.approx(expected.low)
    assert found["note"].startswith(note)
    assert found["null"] == "a difference of 0, two-sided; prompts like these"


def test_two_wordings_are_too_few() -> None:
    found = evaluate_claims(_worded([1, 2, 1, 2]), [CLAIM], seed=1).iloc[0]
    assert found["test"] == "none: 2 prompts: what prompts differ by is not known from fewer than 3"


def test_a_cell_of_one_wording_is_compared_within_each_wording_of_the_other() -> None:
    frame = _worded([1, 2, 3])
    frame.loc[frame["cell"] == "b", "wording"] = np.nan
    assert evaluate_claims(frame, [CLAIM], seed=1)["test"][0].startswith("random effect of 3 prompts")


def test_a_table_without_wordings_says_so() -> None:
    with pytest.raises(DataError, match=r"over prompts, and no cell of it has wordings\n    write prompts: {STEP"):
        evaluate_claims(_worded([1, 2, 3]).drop(columns="wording"), [CLAIM], seed=1)


def test_wordings_are_no_metric() -> None:
    assert "wording" not in score_table(_worded([1, 2, 3])).metrics


def test_error_rate_over_four_prompts() -> None:
    """No difference on average, and 0.1 from wording to wording: 5 % of 400 experiments, and three standard errors."""
    random, wrong = np.random.default_rng(9), 0
    for _ in range(400):
        moved = random.normal(0, 0.1, 4)
        groups = [random.normal(0, 0.4, 40) + shift for shift in moved]
        wrong += random_effect(groups, "prompts")[0].p <= 0.05
    assert wrong / 400 <= 0.06 + 3 * np.sqrt(0.06 * 0.94 / 400)


def test_three_wordings_have_at_least_two_degrees_of_freedom() -> None:
    """Wordings differ (means -0.6, 0, 0.6), and the means of questions do not: three means of variance 0.36.

    Questions add nothing, so the error is that of three independent means, sqrt(0.36 / 3), with two degrees of freedom.
    """
    odd = np.array([0.3, -0.3] * 10)
    groups = np.stack([odd - 0.6, 0.0 * odd, -odd + 0.6])
    pooled = pool_crossed(groups)
    assert pooled.freedom == 2
    assert pooled.error == pytest.approx((0.36 / 3) ** 0.5)


@pytest.mark.parametrize("groups", [3, 5])
def test_degrees_of_freedom_lie_between_those_of_groups_and_of_questions(groups: int) -> None:
    random = np.random.default_rng(3)
    for _ in range(200):
        moved = random.normal(0, 0.1, groups)[:, None]
        values = random.integers(-1, 2, (groups, 20)) + moved
        assert groups - 1 <= pool_crossed(values).freedom <= 19

"""Where the spread of claims comes from."""

from __future__ import annotations

import numpy as np
import pytest

from cortexdsl.claims.cells import CellNames
from cortexdsl.stats.planning.spread import claim_spread, components_of
from cortexdsl.stats.tables.score_table import score_table
from tests.stats.tables import long_table

RANDOM = np.random.default_rng(6)
VALUES = {name: (RANDOM.random((4, 20)) < RANDOM.random(20)).astype(float) for name in "ab"}


def test_the_difference_of_a_claim() -> None:
    arms = (CellNames("a", "a"), CellNames("b", "b"))
    found = claim_spread(score_table(long_table(VALUES)), "accuracy(a) > accuracy(b)", arms)
    assert found == components_of((VALUES["a"] - VALUES["b"]).T)
    for other in ("ece(a) < ece(b)", "accuracy(a) >= 0.9 * accuracy(b)", "accuracy(a) > accuracy(nobody)"):
        assert claim_spread(score_table(long_table(VALUES)), other, arms) is None


def test_one_replicate_has_no_components() -> None:
    arms = (CellNames("a", "a"), CellNames("b", "b"))
    once = score_table(long_table({name: own[:1] for name, own in VALUES.items()}))
    assert claim_spread(once, "accuracy(a) > accuracy(b)", arms) is None


def test_wordings_are_a_part_that_no_split_changes() -> None:
    arms = (CellNames("a", "a"), CellNames("b", "b"))
    frame = long_table(VALUES)
    even = score_table(frame.assign(wording=frame["replicate"] % 2 + 1))
    assert claim_spread(even, "accuracy(a) > accuracy(b)", arms) is None


def test_the_variance_of_a_mean_by_hand() -> None:
    """(between + within / 4) / 20 is the variance of the means of questions, over 20."""
    components = components_of(VALUES["a"].T)
    expected = VALUES["a"].mean(axis=0).var(ddof=1) / 20
    assert components.variance_of_mean(20, 4) == pytest.approx(expected)

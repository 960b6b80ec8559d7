"""Where the spread of cells, teams and claims comes from."""

from __future__ import annotations

import numpy as np
import pytest

from cortexdsl.claims.cells import CellNames
from cortexdsl.stats.inference.components import components_of
from cortexdsl.stats.planning.spread import cell_spreads, claim_spread
from cortexdsl.stats.tables.score_table import score_table
from tests.stats.tables import long_table

RANDOM = np.random.default_rng(6)
VALUES = {name: (RANDOM.random((4, 20)) < RANDOM.random(20)).astype(float) for name in "ab"}
ARMS = (CellNames("a", "m", (), {"team": "three"}), CellNames("b", "m", (), {"team": "five"}))


def test_cells_and_teams() -> None:
    """A row for each cell, and one for the method over its teams: a crossed layout of questions, teams, replicates."""
    a, b, teams = cell_spreads(score_table(long_table(VALUES)), "accuracy", ARMS)
    assert (a.name, b.name, teams.name, teams.groups) == ("a", "b", "m over teams", "teams")
    assert a.components == components_of(VALUES["a"].T[:, None, :])
    crossed = np.stack([VALUES["a"].T, VALUES["b"].T], axis=1)
    assert teams.components == components_of(crossed)


def test_wordings_are_groups_if_each_has_as_many_replicates() -> None:
    frame = long_table(VALUES)
    even = score_table(frame.assign(wording=frame["replicate"] % 2 + 1))
    (a, _) = cell_spreads(even, "accuracy", ())
    assert a.groups == "prompts"
    assert a.components == components_of(np.stack([VALUES["a"].T[:, [0, 2]], VALUES["a"].T[:, [1, 3]]], axis=1))
    odd = score_table(frame.assign(wording=(frame["replicate"] > 3) + 1))
    assert cell_spreads(odd, "accuracy", ())[0].groups == ""


def test_the_difference_of_a_claim() -> None:
    arms = (CellNames("a", "a"), CellNames("b", "b"))
    found = claim_spread(score_table(long_table(VALUES)), "accuracy(a) > accuracy(b)", arms)
    assert found is not None
    assert found.components == components_of((VALUES["a"] - VALUES["b"]).T[:, None, :])
    for other in ("ece(a) < ece(b)", "accuracy(a) >= 0.9 * accuracy(b)", "accuracy(a) > accuracy(nobody)"):
        assert claim_spread(score_table(long_table(VALUES)), other, arms) is None


def test_one_replicate_has_no_components() -> None:
    assert cell_spreads(score_table(long_table({name: own[:1] for name, own in VALUES.items()})), "accuracy", ()) == []


def test_the_variance_of_a_mean_by_hand() -> None:
    """(between + within / 4) / 20 is the variance of the means of questions, over 20."""
    components = components_of(VALUES["a"].T[:, None, :])
    expected = VALUES["a"].mean(axis=0).var(ddof=1) / 20
    assert components.variance_of_mean(20, 4) == pytest.approx(expected)

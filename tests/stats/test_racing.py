"""Racing: who is dropped when, by hand; that cells of unequal lengths are compared on what both were asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cortexdsl.core import Family
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.sequential.sequential import evaluate_anytime, live_cells
from cortexdsl.stats.tables.score_table import ASKED_COLUMN, score_table
from cortexdsl.stats.tables.units import units
from tests.stats.races import race
from tests.stats.tables import long_table

RIGHT, WRONG = np.ones((1, 100)), np.zeros((1, 100))
MIXED = np.tile([1.0, 0.0], 50)[None]


def test_a_beaten_rival_is_dropped_and_the_others_go_on() -> None:
    """`a` is always right: `b`, always wrong, is beaten at once, `same` never; 75 of 300 questions are saved."""
    frame = long_table({"a": RIGHT, "b": WRONG, "same": RIGHT})
    found = race(frame, ["score(a) > score(every other)"], batch=25, fewest=25)
    assert dict(found.asked) == {"a": 100, "b": 25, "same": 100}
    assert found.saved == pytest.approx(75 / 300)
    assert found.verdicts["verdict"].tolist() == ["undecided"]


def test_a_claim_that_one_rival_refutes_is_over_for_all() -> None:
    """`a` loses to `b` at the first look, so nothing is left to learn of it from `c`, which is its equal."""
    found = race(
        long_table({"a": WRONG, "b": RIGHT, "c": WRONG}), ["score(a) > score(every other)"], batch=25, fewest=25
    )
    assert set(found.asked.values()) == {25}
    assert found.verdicts["verdict"].tolist() == ["contradicted"]


def test_a_cell_goes_on_for_whichever_claim_is_open() -> None:
    """`b` is decided against `a`, and open against `c`; `a` has no other claim."""
    frame = long_table({"a": RIGHT, "b": MIXED, "c": MIXED})
    claims = ["score(a) > score(b)", "score(b) > score(c)"]
    found = race(frame, claims, batch=50, fewest=50)
    assert dict(found.asked) == {"a": 50, "b": 100, "c": 100}
    assert found.verdicts["verdict"].tolist() == ["supported", "undecided"]


def test_who_was_dropped_does_not_come_back() -> None:
    """An open contrast with a cell that is no longer debated can learn nothing: neither cell goes on for it."""
    table = score_table(long_table({"a": MIXED, "b": MIXED, "c": MIXED}))
    claims = ["score(a) > score(b)", "score(a) > score(c)"]
    assert live_cells(table, claims) == ("a", "b", "c")
    assert live_cells(table, claims, among=["a", "b"]) == ("a", "b")
    assert live_cells(table, claims, among=["a"]) == ()


def test_claims_share_alpha() -> None:
    """What one claim of one decides (p of .022) is open where there are four, and each has .0125."""
    values = {"a": RIGHT[:, :11], "b": WRONG[:, :11], "c": MIXED[:, :11], "d": MIXED[:, :11]}
    table, claim = score_table(long_table(values)), "score(a) > score(b)"
    p = evaluate_anytime(table, [claim])["p"][0]
    assert 0.0125 < p < 0.025
    others = ["score(c) > score(d)", "score(c) > 0.6", "score(d) > 0.6"]
    assert live_cells(table, [claim]) == ()
    assert live_cells(table, [claim, *others]) == ("a", "b", "c", "d")
    assert live_cells(table, [claim, *others], correction="none") == ("c", "d")
    assert live_cells(table, [claim], withdrawn=3) == ("a", "b")


def _uneven() -> pd.DataFrame:
    """`a` and `b` were asked 10 questions, `c` the first 4 of them, all wrongly answered."""
    frames = [
        long_table({"a": np.ones((2, 10)), "b": np.tile([1.0, 0.0], (2, 5))}).assign(**{ASKED_COLUMN: 10}),
        long_table({"c": np.zeros((2, 4))}).assign(**{ASKED_COLUMN: 4}),
    ]
    return pd.concat(frames, ignore_index=True)


def test_cells_are_compared_on_what_both_were_asked() -> None:
    """What was never asked is not missing: `b` is .5 on 10 questions and on the first 4; nothing counts as wrong."""
    table = score_table(_uneven())
    alone, beside = units(table, "score", ["b"]), units(table, "score", ["b", "c"])
    assert (alone.sizes.tolist(), beside.sizes.tolist()) == ([10], [4])
    assert (alone.means.tolist(), beside.means.tolist()) == ([0.5], [0.5, 0.0])
    assert beside.missing.tolist() == [0, 0]
    found = compare_families(table, [Family("f", ("b", "c"), "a")], ["score"], seed=1)
    assert found[["cell", "n_questions", "difference"]].to_numpy().tolist() == [["b", 10, -0.5], ["c", 4, -1.0]]


def test_a_missing_row_of_what_was_asked_still_counts_as_wrong() -> None:
    """`b` lacks its first question in one replicate: 9 right of 20 rows."""
    frame = _uneven().drop(index=20).reset_index(drop=True)
    found = units(score_table(frame), "score", ["b"])
    assert (found.missing.tolist(), found.means.tolist()) == ([1], [pytest.approx(9 / 20)])


def test_equal_cells_are_rarely_told_apart() -> None:
    """Four equal cells, looked at four times: any cell dropped is an error, at most 5 % of 60 and three errors."""
    wrong = 0
    for run in range(60):
        random = np.random.default_rng(run)
        chance = random.beta(0.9, 0.5, 120)
        frame = long_table({cell: (random.random((1, 120)) < chance).astype(float) for cell in "abcd"})
        wrong += min(race(frame, ["score(a) > score(every other)"], batch=30, fewest=30).asked.values()) < 120
    assert wrong <= 60 * (0.05 + 3 * np.sqrt(0.05 * 0.95 / 60))

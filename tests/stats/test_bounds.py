"""The bounds of missing and unreadable answers, as the rule `verdict` writes them into bounds.csv."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cortexdsl.core import Family
from cortexdsl.stats.inference.families import missing_bounds
from cortexdsl.stats.inference.paired import Paired
from cortexdsl.stats.tables.rows import BoundRow, columns_of
from tests.stats.tables import long_table

RIGHT = {"a": 16, "b": 10, "c": 4}  # of 20 questions, always the first ones


def bounds(unreadable: int = 0) -> pd.DataFrame:
    """The bounds of one replicate of `RIGHT`; the last answers of b are unreadable."""
    answers = {cell: (np.arange(20) < right).astype(float)[None] for cell, right in RIGHT.items()}
    scores = long_table(answers, unparsed=0)
    late = scores["question_id"].isin([f"q{20 - k}" for k in range(1, unreadable + 1)])
    scores["unparsed"] = (late & scores["cell"].eq("b")).astype(int)
    return missing_bounds(scores, [Family("main", ("b", "c"), "a", "none")], ["accuracy"], seed=1)


def test_unreadable_answers_that_could_turn_a_comparison() -> None:
    """a is right on 6 questions more than b, p = .014; with its 8 unreadable answers right, b leads by 2 of 20."""
    row = bounds(unreadable=8).iloc[0]
    assert (row["cell"], row["unparsed"], bool(row["changes"])) == ("b", 8, True)
    assert row["p_adjusted"] == 2 * Paired(6, 0, 20).sides(0.0)[0]
    assert row["best_difference"] == pytest.approx(0.1)


def test_answers_that_can_all_be_read_have_no_bounds() -> None:
    found = bounds()
    assert found.empty
    assert list(found) == columns_of(BoundRow)

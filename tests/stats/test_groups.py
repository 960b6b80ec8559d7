"""Groups of cells that no test tells apart, and the questions on which two cells differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cortexdsl.stats.inference.groups import changed_questions, equal_groups
from cortexdsl.stats.tables.score_table import score_table


def scores(right: dict[str, int], questions: int = 200, dataset: str = "data") -> pd.DataFrame:
    """Cells that are right on the first so many questions, so that pairs are discordant one way alone."""
    rows = [
        {"dataset": dataset, "cell": cell, "replicate": 1, "question_id": f"q{k}", "score": float(k < count)}
        for cell, count in right.items() for k in range(questions)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("right", "groups"),
    [
        ({"a": 150, "b": 149, "c": 100}, [("a", "b"), ("c",)]),
        ({"c": 100, "a": 150, "b": 100}, [("a",), ("c", "b")]),
        ({"a": 106, "b": 101, "c": 96}, [("a", "b"), ("b", "c")]),  # a and c differ, and b from neither
        ({"a": 10, "b": 10, "c": 10}, [("a", "b", "c")]),
    ],
)  # fmt: skip
def test_cells_are_grouped(right: dict[str, int], groups: list[tuple[str, ...]]) -> None:
    assert equal_groups(score_table(scores(right)), "score", tuple(right), 0) == groups


def test_of_a_cost_the_lowest_is_first_and_datasets_count_alike() -> None:
    frame = pd.concat([scores({"a": 20, "b": 190, "c": 100}, dataset=d) for d in "xy"])
    frame = frame.rename(columns={"score": "output_tokens"})
    assert equal_groups(score_table(frame), "output_tokens", ("a", "b", "c"), 0) == [("a",), ("c",), ("b",)]


def test_questions_that_changed_have_the_largest_change_first() -> None:
    values = {"a": [1, 0, 0.5, 1, 1], "b": [0, 1, 0.25, 1, np.nan]}
    rows = [
        {"cell": cell, "replicate": 1, "question_id": f"q{k}", "score": value}
        for cell, own in values.items() for k, value in enumerate(own)
    ]  # fmt: skip
    changes = changed_questions(score_table(pd.DataFrame(rows)), "score", "a", "b")
    assert (changes.higher, changes.lower, changes.equal) == (("q0", "q2"), ("q1",), 1)
    assert changes.left_out == 1

"""Cells exchanged at random: what stays, what moves, and how often each exchange comes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from cortexdsl.errors import InputError
from cortexdsl.stats.relabelling import relabelled
from cortexdsl.stats.tables.score_table import ScoreTable, score_table


def table(**columns: object) -> ScoreTable:
    rows = [(cell, r, q) for cell in "abc" for r in (1, 2) for q in range(4) if (cell, r, q) != ("b", 2, 3)]
    frame = pd.DataFrame(rows, columns=["cell", "replicate", "question_id"])
    return score_table(frame.assign(score=range(len(frame)), **columns))


def values(one: ScoreTable) -> dict[tuple[int, int, int], float]:
    keys = zip(one.cell.tolist(), one.replicate.tolist(), one.question.tolist(), strict=True)
    return dict(zip(keys, one.column("score").tolist(), strict=True))


def test_rows_stay_in_their_question_and_replicate_and_other_cells_stay_as_they_are() -> None:
    before = values(table())
    patterns = Counter()
    rng = np.random.default_rng(1)
    for _ in range(400):
        after = values(relabelled(table(), ["a", "b"], rng))
        assert len(after) == len(before)
        for (cell, replicate, question), value in after.items():
            pair = {before.get((other, replicate, question)) for other in ((0, 1) if cell < 2 else (2,))}
            assert value in pair
        patterns[tuple(after.get((0, r, q)) == before[0, r, q] for r in (0, 1) for q in range(4))] += 1
    shares = np.mean([pattern for pattern, count in patterns.items() for _ in range(count)], axis=0)
    assert np.abs(shares - 0.5).max() < 0.1  # each question and replicate by its own coin
    assert len(patterns) > 200


def test_questions_of_a_cluster_are_exchanged_together() -> None:
    clustered = table(cluster=[str(q // 2) for cell in "abc" for r in (1, 2) for q in range(4)
                               if (cell, r, q) != ("b", 2, 3)])  # fmt: skip
    before = values(clustered)
    for seed in range(20):
        after = values(relabelled(clustered, ["a", "b"], np.random.default_rng(seed)))
        assert (after[0, 0, 0] == before[0, 0, 0]) == (after[0, 0, 1] == before[0, 0, 1])


def test_bounds_of_a_plan_are_those_of_all_exchanged_cells() -> None:
    bounded = table().with_most({"a": {"calls": 2.0, "rounds": 1.0}, "b": {"calls": 5.0}, "c": {"calls": 1.0}})
    most = relabelled(bounded, ["a", "b"], np.random.default_rng(0)).most
    assert most == {"a": {"calls": 5.0}, "b": {"calls": 5.0}, "c": {"calls": 1.0}}


def test_answers_are_not_exchanged() -> None:
    from dataclasses import replace

    with pytest.raises(InputError, match="claims about answers"):
        relabelled(replace(table(), answers=pd.DataFrame()), ["a", "b"], np.random.default_rng(0))

"""Metrics of verdicts on pairs: by hand for each kind of verdict, and against published values."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cortexdsl.core import Dataset
from cortexdsl.metrics.estimates import metrics_table
from cortexdsl.metrics.pairs import pair_columns
from cortexdsl.stats.tables.agreement import cohen_kappa, krippendorff_alpha
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task
from tests.stats.debates import made, record

ROWS = [
    {"id": "long", "ask": "One?", "one": "A long reply.", "two": "Short.", "better": ["A", "A", "tie"]},
    {"id": "same", "ask": "Two?", "one": "Yes!", "two": "No!!", "better": "B"},
]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    fields = {"question": "ask", "answer": "better", "choices": ["one", "two"]}
    return load(Dataset("own", path=str(path), kind="pair", fields=fields))


def columns(task: Task, verdicts: dict[str, str | None]) -> dict[str, dict[str, float | None]]:
    debates = [record(replace(made([{"a": "R"}], question=one), answer=verdict)) for one, verdict in verdicts.items()]
    return dict(zip(verdicts, pair_columns(debates, task), strict=True))


def test_a_verdict_that_follows_the_reply_is_a_preference(task: Task) -> None:
    found = columns(task, {"long": "A", "long-swapped": "B", "same": "B", "same-swapped": "A"})
    assert {one: row["first_chosen"] for one, row in found.items()} == {
        "long": 1, "long-swapped": 0, "same": 0, "same-swapped": 1,
    }  # fmt: skip
    assert {row["consistency"] for row in found.values()} == {1}
    assert {row["position_bias"] for row in found.values()} == {0}
    assert found["long"]["pair_score"] == found["long-swapped"]["pair_score"] == pytest.approx(2 / 3)
    assert found["long"]["label_agreement"] == pytest.approx(1 / 3)
    assert found["same"]["label_agreement"] is None


def test_a_verdict_that_follows_the_position_is_a_tie(task: Task) -> None:
    found = columns(task, {"long": "A", "long-swapped": "A"})
    assert [(row["consistency"], row["position_bias"]) for row in found.values()] == [(0, 1), (0, 1)]
    scores = [row["pair_score"] for row in found.values()]
    assert scores == pytest.approx([1 / 3, 1 / 3])  # one of three people says tie


def test_length_is_compared_with_what_people_prefer(task: Task) -> None:
    found = columns(task, {"long": "A", "long-swapped": "A", "same": "A"})
    people = (2 + 0.5) / 3
    assert found["long"]["longer_chosen"] == 1
    assert found["long"]["length_bias"] == pytest.approx(1 - people)
    assert found["long-swapped"]["length_bias"] == pytest.approx(0 - people)
    assert found["same"]["length_bias"] is found["same"]["longer_chosen"] is None


def test_an_unreadable_ballot_is_counted_and_is_no_preference(task: Task) -> None:
    found = columns(task, {"long": None, "long-swapped": "B"})
    assert found["long"]["first_chosen"] is found["long"]["length_bias"] is None
    assert [row["consistency"] for row in found.values()] == [0, 0]
    assert [row["pair_score"] for row in found.values()] == [0, 0]


def test_without_the_other_order_nothing_is_said_about_the_position(task: Task) -> None:
    assert "position_bias" not in columns(task, {"long": "A"})["long"]


def test_alpha_is_that_of_krippendorffs_example() -> None:
    """Of his page on computing alpha (2011): four observers, twelve units, some values missing, nominal .743."""
    observers = ["123321412...", "1233224125.3", ".33323422 51.".replace(" ", ""), "12332441251."]
    units = list(zip(*observers, strict=True))
    counts = np.array([[unit.count(str(value)) for value in range(1, 6)] for unit in units])
    assert krippendorff_alpha(counts)[0] == pytest.approx(0.743, abs=0.001)


def test_kappa_is_that_of_a_table_by_hand() -> None:
    cells = {(0, 0): 20, (0, 1): 5, (1, 0): 10, (1, 1): 15}
    judge, people = (np.repeat(np.eye(2)[[key[k] for key in cells]], list(cells.values()), axis=0) for k in (0, 1))
    assert cohen_kappa(judge, people)[0] == pytest.approx(0.4)
    judge[0] = 0  # a verdict that cannot be read agrees with nobody
    assert cohen_kappa(judge, people)[0] < 0.4


@pytest.mark.parametrize("statistic", [cohen_kappa, lambda v, p: krippendorff_alpha(v + p)])
def test_influence_is_how_the_estimate_moves(statistic: Callable[..., tuple[float, np.ndarray]]) -> None:
    rng = np.random.default_rng(1)
    people = rng.multinomial(3, [0.5, 0.3, 0.2], size=60).astype(float)
    verdicts = np.eye(3)[rng.integers(0, 3, 60)]
    value, influence = statistic(verdicts, people)
    assert influence.mean() == pytest.approx(0, abs=1e-12)
    for row in (0, 7, 31):
        again = statistic(np.vstack([verdicts, verdicts[row]]), np.vstack([people, people[row]]))[0]
        assert (again - value) * 61 == pytest.approx(influence[row], abs=0.05)


def table(cells: dict[str, list[str]], labels: list[str]) -> ScoreTable:
    """Verdicts of cells on pairs in both orders, one after the other, with one label each."""
    rows = [
        {"dataset": "own", "cell": cell, "replicate": 1, "question_id": f"q{k}", "cluster": f"p{k // 2}",
         "score": float(verdict == label), "first_chosen": {"A": 1, "B": 0}[verdict], "tie_chosen": 0, "labels": 1,
         "first_labels": float(label == "A"), "tie_labels": 0}
        for cell, verdicts in cells.items() for k, (verdict, label) in enumerate(zip(verdicts, labels, strict=True))
    ]  # fmt: skip
    return score_table(pd.DataFrame(rows))


def test_chance_agreement_does_not_depend_on_which_reply_is_listed_first() -> None:
    """A judge that always says A is right for every second question, and agrees by chance alone."""
    labels = ["A", "B"] * 20
    found = metrics_table(table({"first": ["A"] * 40, "right": labels}, labels), ["accuracy", "kappa", "alpha"])
    estimates = found.set_index(["cell", "metric"])["estimate"]
    assert estimates["first", "accuracy"] == 0.5
    assert estimates["first", "kappa"] == pytest.approx(0)
    assert estimates["right", "kappa"] == estimates["right", "alpha"] == pytest.approx(1)


def test_an_interval_counts_a_pair_once() -> None:
    """Both orders of a pair hold the same information, if the judge is consistent."""
    rng = np.random.default_rng(2)
    right = rng.random(40) < 0.7
    labels = ["A", "B"] * 40
    verdicts = [label if right[k // 2] else {"A": "B", "B": "A"}[label] for k, label in enumerate(labels)]
    both = metrics_table(table({"judge": verdicts}, labels), ["kappa"]).iloc[0]
    error = 2 * np.sqrt(right.mean() * (1 - right.mean()) / 40)  # of 2 p - 1, with 40 pairs
    assert both["ci_high"] - both["ci_low"] == pytest.approx(2 * 1.96 * error, rel=0.15)

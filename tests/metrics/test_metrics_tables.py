"""metrics.csv, rounds.csv and agents.csv: estimates by hand, intervals against other sources."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cortexdsl.core.metrics import ALIASES, METRICS
from cortexdsl.errors import InputError
from cortexdsl.metrics.estimates import Sums, estimate, metrics_table, round_table
from cortexdsl.metrics.registry import MEASURES, OF_JOB, asked_measures
from cortexdsl.metrics.rows import AgentRow, BinRow, CalibrationRow, PersuasionRow
from cortexdsl.metrics.scores import round_rows, score_rows
from cortexdsl.metrics.tables import agent_table, debate_tables
from cortexdsl.report.csv_rows import read_frame
from cortexdsl.stats.tables.rows import columns_of
from cortexdsl.stats.tables.score_table import metric_named, score_table
from tests.stats.debates import grade, made, record


def table(values: dict[tuple[str, str], list[list[float]]], **columns: list[float]) -> pd.DataFrame:
    """Make scores: (dataset, cell) -> replicates -> one score a question."""
    rows = [
        {"dataset": d, "cell": c, "replicate": r + 1, "question_id": f"q{q}", "score": score}
        for (d, c), replicates in values.items()
        for r, scores in enumerate(replicates)
        for q, score in enumerate(scores)
    ]
    return pd.DataFrame(rows).assign(**columns)


def one(frame: pd.DataFrame, metric: str = "accuracy", dataset: str = "sums", cell: str = "full") -> pd.Series:
    found = metrics_table(score_table(frame), [metric])
    return found[(found["dataset"] == dataset) & (found["cell"] == cell)].iloc[0]


def test_one_replicate_of_a_binary_score_has_wilsons_interval() -> None:
    # Wilson 8/10 is [.490162, .943318] (statsmodels, and Wilson 1927 by hand).
    row = one(table({("sums", "full"): [[1.0] * 8 + [0.0] * 2]}))
    assert (row["estimate"], row["n_questions"], row["n_replicates"]) == (0.8, 10, 1)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.490162, 0.943318), abs=1e-6)


def test_replicates_that_always_agree_add_questions_nothing() -> None:
    scores = [1.0] * 8 + [0.0] * 2
    row = one(table({("sums", "full"): [scores] * 3}))
    assert (row["estimate"], row["n_questions"], row["n_replicates"]) == (0.8, 10, 3)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.490162, 0.943318), abs=1e-6)


def test_replicates_that_disagree_within_questions_count_as_more_questions() -> None:
    # Every question is right once in two: no variance between questions, so all 20 rows count, less what ten questions
    # leave unknown of it: 20 (1.959964 / 2.262157)^2 = 15.0134, and Wilson 7.5067/15.0134.
    row = one(table({("sums", "full"): [[1.0, 0.0] * 5, [0.0, 1.0] * 5]}))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.274313, 0.725687), abs=1e-5)


def test_a_perfect_cell_keeps_an_interval() -> None:
    row = one(table({("sums", "full"): [[1.0] * 10] * 3}))
    assert row["ci_low"] == pytest.approx(10 / (10 + 1.959964**2), abs=1e-6)  # Wilson n/n: n / (n + z^2)
    assert row["ci_high"] == 1.0


def test_few_questions_of_a_count_have_students_interval() -> None:
    # Mean 3, sd 1.581139, n = 5, t(.975, 4) = 2.776445: 3 -+ 1.963243.
    frame = table({("sums", "full"): [[0.0] * 5]}, cvr=[1.0, 2.0, 3.0, 4.0, 5.0])
    row = one(frame, "cvr")
    assert (row["estimate"], row["ci_low"], row["ci_high"]) == pytest.approx((3.0, 1.036757, 4.963243), abs=1e-6)


@pytest.mark.parametrize("metric", ["absolute_error", "relative_error"])
def test_the_interval_of_a_distance_does_not_go_below_0(metric: str) -> None:
    frame = table({("sums", "full"): [[0.0] * 5]}, **{metric: [0.0, 0.0, 0.0, 0.0, 10.0]})
    row = one(frame, metric)
    assert (row["estimate"], row["ci_low"]) == pytest.approx((2.0, 0.0))
    assert row["ci_high"] == pytest.approx(2 + 2.776445 * 2, abs=1e-5)


def test_many_questions_of_a_count_have_students_interval_from_0_on() -> None:
    values = np.random.default_rng(3).gamma(2.0, 50.0, 200)
    row = one(table({("sums", "full"): [[0.0] * 200]}, calls=list(values)), "calls")
    expected = stats.t.interval(0.95, 199, values.mean(), stats.sem(values))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected)
    rare = one(table({("sums", "full"): [[0.0] * 200]}, failures=[1.0] + [0.0] * 199), "failures")
    assert rare["ci_low"] == 0.0 < rare["estimate"] < rare["ci_high"]


def test_one_question_has_no_interval_and_no_value_is_no_estimate() -> None:
    row = one(table({("sums", "full"): [[1.0]]}))
    assert row["estimate"] == 1.0
    assert math.isnan(row["ci_low"])
    unknown = one(table({("sums", "full"): [[1.0, 0.0]]}, input_tokens=[math.nan, math.nan]), "input_tokens")
    assert math.isnan(unknown["estimate"])
    assert unknown["n_questions"] == 0


def test_a_question_without_a_value_is_counted_out_not_counted_as_nothing() -> None:
    row = one(table({("sums", "full"): [[1.0, 0.0, 1.0]]}, density=[0.5, math.nan, 0.7]), "density")
    assert (row["estimate"], row["n_questions"]) == (pytest.approx(0.6), 2)


def test_the_mean_over_datasets_is_the_plain_mean_with_movers_interval() -> None:
    frame = table({("sums", "full"): [[1.0] * 8 + [0.0] * 2], ("words", "full"): [[1.0] * 10 + [0.0] * 10]})
    low, high = 0.490162, 0.943318  # Wilson 8/10
    other_low, other_high = 0.299298, 0.700702  # Wilson 10/20
    row = one(frame, dataset="all")
    assert (row["estimate"], row["n_questions"]) == (pytest.approx(0.65), 30)
    assert row["ci_low"] == pytest.approx(0.65 - math.hypot(0.8 - low, 0.5 - other_low) / 2, abs=1e-6)
    assert row["ci_high"] == pytest.approx(0.65 + math.hypot(high - 0.8, other_high - 0.5) / 2, abs=1e-6)


def test_the_mean_over_datasets_is_absent_for_one_dataset_and_for_a_cell_that_lacks_one() -> None:
    single = metrics_table(score_table(table({("sums", "full"): [[1.0, 0.0]]})))
    assert set(single["dataset"]) == {"sums"}
    both = metrics_table(
        score_table(table({("sums", "full"): [[1.0]], ("sums", "half"): [[1.0]], ("words", "full"): [[1.0]]}))
    )
    assert set(both[both["dataset"] == "all"]["cell"]) == {"full"}


def test_improvement_and_conformity_are_ratios_of_sums() -> None:
    frame = table({("sums", "full"): [[1.0, 1.0, 0.0, 1.0]]}, opening_score=[1.0, 0.0, 0.0, 1.0])
    frame = frame.assign(gain=[0.0, 1.0, 0.0, 0.0], conformed=[2.0, 0.0, 0.0, 1.0], majority_faced=[3.0, 0.0, 1.0, 1.0])
    assert one(frame, "improvement")["estimate"] == 0.5  # from 2/4 to 3/4
    assert one(frame, "conformity")["estimate"] == pytest.approx(3 / 5)


def test_a_ratios_error_is_that_of_its_linearisation() -> None:
    # Cochran 1977, Eq. 6.13 without the finite population factor: r = 0.6, e = y - r x.
    y, x = np.array([2.0, 0.0, 0.0, 1.0]), np.array([3.0, 0.5, 1.0, 0.5])
    e = y - 0.6 * x
    expected = math.sqrt((e**2).sum() / 3 / 4) / x.mean()
    assert Sums(y, x, 4, 4, False).error == pytest.approx(expected)


def test_clusters_are_the_unit_where_they_are_declared() -> None:
    # Golden values of the cluster-robust error: .1595712 with the factor C / (C - 1).
    scores = [1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1]
    frame = table({("sums", "full"): [[float(s) for s in scores]]}).assign(cluster=[f"c{k // 3}" for k in range(12)])
    p, error = 7 / 12, 0.1595712
    z, t = 1.959964, 3.182446  # of three degrees of freedom
    trials = p * (1 - p) / error**2 * (z / t) ** 2
    centre = (p + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * math.sqrt(p * (1 - p) / trials + z**2 / (4 * trials**2))
    row = one(frame)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((centre - half, centre + half), abs=1e-5)


def test_columns_and_order_follow_the_contract() -> None:
    frame = table({("sums", "full"): [[1.0, 0.0]], ("sums", "half"): [[0.0, 0.0]]})
    found = metrics_table(score_table(frame))
    assert " ".join(found.columns) == "dataset cell metric estimate ci_low ci_high n_questions n_replicates"
    assert list(zip(found["cell"], found["metric"], strict=True)) == [("full", "accuracy"), ("half", "accuracy")]


def test_every_metric_has_its_columns_and_every_alias_its_metric() -> None:
    for metric in METRICS.values():
        assert metric.column in {*MEASURES, *asked_measures(METRICS), *OF_JOB}
        assert metric.per is None or metric.per in {*MEASURES, *OF_JOB}
    assert set(ALIASES.values()) <= set(METRICS)
    assert metric_named("cons") is METRICS["consensus"]


def test_a_further_score_column_is_a_metric_and_a_misspelt_one_is_named() -> None:
    frame = table({("sums", "full"): [[1.0, 0.0]]}, f1=[0.5, 0.25])
    assert one(frame, "f1")["estimate"] == 0.375
    with pytest.raises(InputError, match="did you mean 'accuracy'"):
        metrics_table(score_table(frame), ["acuracy"])
    with pytest.raises(InputError, match="needs the column gain and opening_score"):
        metrics_table(score_table(frame), ["improvement"])
    with pytest.raises(InputError, match="cannot be called 'all'"):
        metrics_table(score_table(frame.assign(dataset="all")))


def test_an_estimate_of_shares_stays_within_them() -> None:
    part = Sums(np.array([1.0, 1.0, 0.9]), np.ones(3), 3, 3, False)
    found = estimate(METRICS["density"], [part])
    assert found.high == 1.0


def test_rounds_carry_final_answers_forward_by_hand() -> None:
    long = made([{"a": "R", "b": "W"}, {"a": "W", "b": "W"}, {"a": "R", "b": "R"}], [[("b", "a")], [("a", "b")]],
                confidence=[{"a": 0.9, "b": 0.5}])  # fmt: skip
    short = made([{"a": "W", "b": "W"}], question="q2", stop="consensus")
    rows = round_rows([record(long), record(short)], grade)
    assert [(row["question_id"], row["round"], row["score"]) for row in rows] == [
        ("q1", 0, 1.0), ("q1", 1, 0.0), ("q1", 2, 1.0), ("q2", 0, 0.0),
    ]  # fmt: skip
    found = round_table(rows)
    assert found["round"].tolist() == [0, 1, 2]
    assert found["accuracy"].tolist() == [0.5, 0.0, 0.5]
    assert found["consensus"].tolist() == [0.5, 1.0, 1.0]
    assert found["debating"].tolist() == [1.0, 0.5, 0.5]
    assert found["improvement"].tolist() == [0.0, -1.0, 0.0]
    assert found["density"].tolist()[1:] == [0.5, 0.5]
    assert found["n_questions"].tolist() == [2, 2, 2]
    assert found["accuracy_low"][0] == pytest.approx(0.094531, abs=1e-6)  # Wilson 1/2


def test_rounds_of_several_datasets_and_cells_keep_their_own_horizon() -> None:
    two = made([{"a": "R", "b": "W"}, {"a": "R", "b": "R"}], [[("a", "b")]])
    one_round = made([{"a": "R", "b": "R"}])
    records = [
        record(two),
        record(one_round, "vote"),
        record(two, dataset="words"),
        record(one_round, "vote", 1, "words"),
    ]
    rows = [row for r in records for row in round_rows([r], grade)]
    found = round_table(rows)
    keys = list(zip(found["dataset"], found["cell"], found["round"], strict=True))
    assert keys == [("sums", "full", 0), ("sums", "full", 1), ("sums", "vote", 0), ("words", "full", 0),
                    ("words", "full", 1), ("words", "vote", 0), ("all", "full", 0), ("all", "full", 1),
                    ("all", "vote", 0)]  # fmt: skip
    assert round_table([]).empty


def test_agents_by_hand() -> None:
    # a hears b's W once and yields; b is heard, never wavers and is wrong.
    debate = made([{"a": "R", "b": "W"}, {"a": "W", "b": "W"}], [[("b", "a")]], confidence=[{"a": 0.6, "b": 1.0}])
    steady = made([{"a": "R", "b": "R"}, {"a": "R", "b": "R"}], [[("b", "a")]], question="q2")
    found = agent_table([record(debate), record(steady)], grade).set_index("agent")
    assert found.loc["a", ["opening_accuracy", "last_accuracy", "hears", "is_heard"]].tolist() == [1.0, 0.5, 1.0, 0.0]
    assert found.loc["b", ["opening_accuracy", "last_accuracy", "hears", "is_heard"]].tolist() == [0.5, 0.5, 0.0, 1.0]
    assert found.loc["a", ["right_to_wrong", "conformity", "stubbornness"]].tolist() == [0.5, 1.0, 0.0]
    assert math.isnan(found.loc["b", "conformity"])
    assert found.loc["a", "brier_stated"] == pytest.approx(0.16)
    assert found.loc["b", "ece_stated"] == pytest.approx(1.0)
    assert found.loc["a", ["debated", "answers", "calls", "input_tokens"]].tolist() == [2, 4, 2.0, 25.0]


def test_tables_from_records_to_metrics() -> None:
    debates = [made([{"a": "R", "b": "W"}], question=f"q{k}") for k in range(3)]
    debates[2] = replace(debates[2], answer="W")
    frame = pd.DataFrame(score_rows(map(record, debates), grade))
    found = metrics_table(score_table(frame)).set_index("metric")
    assert found.loc["accuracy", "estimate"] == pytest.approx(2 / 3)
    assert found.loc["input_tokens", "estimate"] == 20.0
    assert found.loc["input_tokens", "ci_low"] == 20.0
    assert found.loc["brier_stated", "n_questions"] == 0


def test_each_table_is_read_by_the_class_that_it_is_written_by(tmp_path: Path) -> None:
    """Every column of a file is a field of its row, in the same order, and comes back."""
    records = [record(made([{"a": "R", "b": "W"}, {"a": "R", "b": "R"}], [[("a", "b"), ("b", "a")]]))]
    written = debate_tables(records, grade)
    kinds = {"agents": AgentRow, "calibration": CalibrationRow, "reliability": BinRow, "persuasion": PersuasionRow}
    for name, kind in kinds.items():
        assert list(written[name].columns) == columns_of(kind)
        written[name].to_csv(tmp_path / f"{name}.csv", index=False)
        rows = read_frame(tmp_path / f"{name}.csv", kind)
        assert len(rows) == len(written[name]) > 0
        assert [getattr(rows[0], column) for column in columns_of(kind)[:3]] == written[name].iloc[0, :3].tolist()

"""Tables of scores from anywhere: nothing dropped, nothing guessed, replicates averaged within a question."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cortexdsl.analysis.units.table import read_table, score_table
from cortexdsl.analysis.units.units import bounded, units
from cortexdsl.errors import DataError
from tests.analysis.tables import long_table


def test_ids_and_truth_values_of_any_type(tmp_path: Path) -> None:
    """1, 1.0 and "1" are one question; True, "false" and "1" are scores; a byte order mark and spaces do no harm."""
    path = tmp_path / "s.csv"
    path.write_text("\ufeffcell, replicate, question_id, score\na,1,1,True\na,1,2,false\nb,1,2.0,1\nb,1,1,0\n", "utf-8")
    with pytest.raises(DataError, match=r"no column|lacks"):
        score_table(pd.DataFrame({"cell": ["a"]}))
    table = read_table(path)
    assert table.questions == (("1", "2", "2.0"),)  # a text file says 2.0 where it says 2.0
    frame = pd.DataFrame(
        {"cell": list("aabb"), "replicate": 1, "question_id": [1, 2, 2.0, 1.0], "score": [True, False, 1, 0]}
    )
    assert units(score_table(frame), "score", ["a", "b"]).values.tolist() == [[1, 0], [0, 1]]


def test_replicates_are_averaged_first() -> None:
    sample = units(score_table(long_table({"a": np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]])})), "accuracy", ["a"])
    assert sample.values == pytest.approx(np.array([[1, 1 / 3]]))
    assert sample.replicates.tolist() == [3]
    assert sample.binary


def test_a_missing_answer_counts_as_wrong_and_is_remembered() -> None:
    """Question q1 lacks one of two replicates: mean 1/2, which could have been 1."""
    frame = long_table({"a": np.ones((2, 3)), "b": np.ones((2, 3))}).drop(index=4)
    sample = units(score_table(frame), "score", ["a", "b"])
    assert sample.values[0].tolist() == [1, 0.5, 1]
    assert sample.missing.tolist() == [1, 0]
    assert bounded(sample, [1, 0]).values[0].tolist() == [1, 1, 1]
    assert bounded(sample, [0, 1]).values[0].tolist() == [1, 0.5, 1]


def test_an_unreadable_answer_is_wrong_and_could_be_right() -> None:
    frame = long_table({"a": np.array([[1.0, 0.0, 0.0]])})
    frame["unparsed"] = ["", "no number", "0"]
    sample = units(score_table(frame), "score", ["a"])
    assert sample.unparsed.tolist() == [1]
    assert sample.spare.tolist() == [[0, 1, 0]]


def test_missing_tokens_are_a_gap_not_a_zero() -> None:
    frame = long_table({"a": np.array([[10.0, np.nan]]), "b": np.array([[5.0, 5.0]])}, "tokens")
    assert units(score_table(frame), "tokens", ["a", "b"]).gaps.tolist() == [1, 0]


def test_a_missing_brier_score_is_not_a_perfect_one() -> None:
    """A Brier score lies in [0, 1] and 0 is its best: nothing may stand in for one that is undefined."""
    frame = long_table({"a": np.array([[0.2, np.nan]])}, "brier_stated")
    assert units(score_table(frame), "brier_stated", ["a"]).gaps.tolist() == [1]


def test_a_ratio_metric_is_the_ratio_of_sums() -> None:
    """improvement = sum of gains / sum of opening scores = (1 - 1 + 1) / (1 + 1 + 0) = 1/2."""
    frame = long_table({"a": np.array([[1.0, -1.0, 1.0]])}, "gain")
    frame["opening_score"] = [1.0, 1.0, 0.0]
    assert units(score_table(frame), "improvement", ["a"]).means[0] == pytest.approx(0.5)


def test_several_datasets_count_alike() -> None:
    """All of 2 right and 1 of 4 right: the mean over datasets is 0.625, over questions it would be 0.5."""
    frame = pd.concat([long_table({"a": np.ones((1, 2))}, dataset="x"), long_table({"a": np.eye(1, 4)}, dataset="y")])
    sample = units(score_table(frame), "score", ["a"])
    assert sample.means[0] == pytest.approx(0.625)
    assert sample.share.sum() == pytest.approx(1)


def test_clusters_gather_questions() -> None:
    frame = long_table({"a": np.ones((2, 6))}).assign(cluster=list("xxyyz") * 2 + [None] * 2)
    with pytest.raises(DataError, match="two clusters"):
        score_table(frame)
    frame["cluster"] = (["x", "x", "y", "y", "y", None]) * 2
    sample = units(score_table(frame), "score", ["a"])
    assert sample.share == pytest.approx([2 / 6, 3 / 6, 1 / 6])
    assert sample.clustered


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda f: pd.concat([f, f.iloc[[1]]]), r"1 rows stand twice; the first is row 5.*question_id 'q1'"),
        (lambda f: f.drop(columns="replicate"), "no column replicate"),
        (lambda f: f.assign(question_id=None), "question_id is empty"),
        (lambda f: f.assign(score="good"), "score is 'good', which is no number"),
        (lambda f: f.assign(score=np.inf), "infinite"),
        (lambda f: f.assign(score=1e300), "too large"),
        (lambda f: f.iloc[:0], "no rows"),
        (lambda f: f.rename(columns={"score": "scor"}), "no metric 'accuracy'|no column 'score'"),
        (lambda f: f[f.cell == "a"], "no cell 'b'"),
        (lambda f: f.assign(dataset=["x", "x", "x", "y"]), "has no row on the dataset"),
    ],
)
def test_a_bad_table_is_one_clear_error(change: object, what: str) -> None:
    frame = long_table({"a": np.ones((1, 2)), "b": np.ones((1, 2))})
    with pytest.raises(DataError, match=what):
        units(score_table(change(frame)), "accuracy", ["a", "b"])  # type: ignore[operator]


def test_missing_files_say_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "none.csv")

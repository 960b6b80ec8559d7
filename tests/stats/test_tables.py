"""Tables of scores from anywhere: nothing dropped, nothing guessed, replicates averaged within a question."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cortexdsl.errors import DataError
from cortexdsl.stats.tables.score_table import read_table, score_table
from cortexdsl.stats.tables.units import units, with_doubtful_rows
from tests.stats.tables import long_table


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
    assert with_doubtful_rows(sample, [1, 0]).values[0].tolist() == [1, 1, 1]
    assert with_doubtful_rows(sample, [0, 1]).values[0].tolist() == [1, 0.5, 1]


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


def test_a_ratio_over_nothing_is_a_gap_in_every_question_of_its_cell_alone() -> None:
    """Two cells, three questions: b was never right at its opening, so that nothing can be said of its improvement."""
    frame = long_table({"a": np.array([[1.0, -1.0, 1.0]]), "b": np.array([[0.0, 1.0, 1.0]])}, "gain")
    frame["opening_score"] = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    sample = units(score_table(frame), "improvement", ["a", "b"])
    assert sample.gaps.tolist() == [0, 3]
    assert sample.means[0] == pytest.approx(0.5)


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
        (lambda f: pd.concat([f, f.iloc[[1]]]), r"1 row appears twice; the first is row 5.*question_id 'q1'"),
        (lambda f: f.drop(columns="replicate"), "no column replicate"),
        (lambda f: f.assign(question_id=None), "question_id is empty"),
        (lambda f: f.assign(score="good"), "score is 'good', which is not a number"),
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


def _three_rows(**columns: object) -> pd.DataFrame:
    return long_table({"a": np.array([[1.0, 0.0, 1.0]])}).assign(**columns)


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        (_three_rows(score=["1", "x", "0"]), r"^the scores table: row 2: score is 'x', which is not a number$"),
        (_three_rows(score=[1.0, 0.0, -2e100]),
         "^the scores table: row 3: score is too large to be squared; cell a, replicate 1, question_id q2$"),
        (_three_rows(score=[1.0, -np.inf, 0.0]), "row 2: score is infinite; cell a, replicate 1, question_id q1$"),
        (_three_rows(question_id=["q0", " ", "q2"]), "^the scores table: row 2: question_id is empty$"),
        (_three_rows(question_id=["q0", "q1", None]), "row 3: question_id is empty$"),
        (_three_rows(cell=["", "a", "a"]), "row 1: cell is empty$"),
        (_three_rows(question_id=["q0", "q1", "q1"]),
         "^the scores table: 1 row appears twice; the first is row 3: dataset 'data', cell 'a', replicate '1', "
         "question_id 'q1'; keep one row per dataset, cell, replicate and question$"),
        (_three_rows(question_id="q"), "2 rows appear twice; the first is row 2: "),
        (pd.concat([_three_rows(), _three_rows()["cell"]], axis=1), "^the scores table: a column appears twice; "),
        (pd.DataFrame({"cell": ["a"]}), "^the scores table: no column replicate, question_id; a table has cell, "),
    ],
)  # fmt: skip
def test_an_error_says_the_row_as_people_count_them(frame: pd.DataFrame, what: str) -> None:
    with pytest.raises(DataError, match=what):
        score_table(frame).column("score")


def test_the_largest_number_that_can_be_squared_is_a_score() -> None:
    assert score_table(_three_rows(score=[1e100, -1e100, 0.0])).column("score").tolist() == [1e100, -1e100, 0.0]


@pytest.mark.parametrize("nothing", ["", "NaN", "none", "NULL", "na", "N/A", " "])
def test_nothing_is_written_in_many_ways(nothing: str) -> None:
    values = score_table(_three_rows(score=["yes", nothing, "No"])).column("score")
    assert values.tolist() == pytest.approx([1.0, np.nan, 0.0], nan_ok=True)


@pytest.mark.parametrize(
    ("column", "said", "doubtful"),
    [
        ("unparsed", ["", "0", "0.0"], [False, False, False]),
        ("unparsed", ["no", "False", "2"], [False, False, True]),
        ("unparsed", [0, 1, np.nan], [False, True, False]),
        ("unanswered", [1, 0, 0], [True, False, False]),
    ],
)
def test_what_could_not_be_read(column: str, said: list[object], doubtful: list[bool]) -> None:
    assert score_table(_three_rows(**{column: said})).unparsed.tolist() == doubtful


def test_whether_a_debate_has_an_answer_counts_for_more_than_how_many_of_its_answers_could_be_read() -> None:
    frame = _three_rows(unparsed=[2, 1, 0], unanswered=[0, 1, 0])
    assert score_table(frame).unparsed.tolist() == [False, True, False]


def test_ids_that_are_whole_numbers_are_one_label_however_they_are_typed() -> None:
    frame = _three_rows(question_id=[1, 2.0, 2.5], replicate=[1.0, 1, 1])
    assert score_table(frame).questions == (("1", "2", "2.5"),)


def test_questions_of_one_cluster_or_of_none_are_their_own() -> None:
    """A cluster that all share says nothing; an empty one is none, also beside others."""
    same = score_table(_three_rows(cluster="x"))
    assert same.clusters[0].tolist() == [0, 1, 2]
    some = score_table(_three_rows(cluster=["x", "none", ""]))
    assert len(set(some.clusters[0].tolist())) == 3
    two = score_table(_three_rows(cluster=["x", "y", "x"]))
    assert two.clusters[0].tolist() == [0, 1, 0]
    twice = pd.concat([_three_rows(cluster="x"), _three_rows(cluster=["x", "y", "x"], replicate=2)])
    with pytest.raises(DataError, match=r"^the scores table: question 'q1' has two clusters$"):
        score_table(twice)


def test_what_may_be_compared_are_the_columns_that_are_no_ids() -> None:
    frame = _three_rows(dataset="d", method="m", cluster="c", group="g", stop="rounds", schema_version=1, asked=3)
    frame = frame.assign(rounds=1, tokens=5.0, **{"score@0": 1.0})
    assert score_table(frame).metrics == ("accuracy", "rounds", "tokens")
    assert score_table(frame.drop(columns="score")).metrics == ("rounds", "tokens")


def test_a_value_after_a_round_is_the_last_where_nobody_knows_how_many_there_were() -> None:
    frame = _three_rows(rounds=[2, np.nan, 0], **{"score@0": [0.25, 0.5, 0.75], "score@1": [0.1, 0.2, 0.3]})
    table = score_table(frame)
    assert table.after("score", 0).tolist() == [0.25, 0.0, 1.0]
    assert table.after("score", 1).tolist() == [0.1, 0.0, 1.0]
    assert table.after("score", 2).tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(DataError, match=r"no column 'score@0', though cell a, replicate 1, question_id q0 went on"):
        score_table(frame.drop(columns="score@0")).after("score", 0)


def test_a_table_with_tabs_is_read_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "s.tsv").write_text("cell\treplicate\tquestion_id\tscore\na\t1\tq\t1\n")
    assert read_table(tmp_path / "s.tsv").cells == ("a",)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match=r"empty\.csv: cannot be read as a table: "):
        read_table(tmp_path / "empty.csv")


def test_replicates_that_a_cell_never_had_are_not_missing_and_rows_of_one_that_it_had_are() -> None:
    """a has two replicates, of which the second lacks q2; b has one, and is whole."""
    frame = long_table({"a": np.ones((2, 3)), "b": np.ones((1, 3))}).drop(index=5)
    sample = units(score_table(frame), "score", ["a", "b"])
    assert (sample.missing.tolist(), sample.replicates.tolist()) == ([1, 0], [2, 1])
    assert sample.values[0].tolist() == [1, 1, 0.5]


def test_scores_that_are_no_shares_have_nothing_to_stand_in_and_yes_or_no_is_said_cell_by_cell() -> None:
    values = {
        "a": np.array([[1.0, 0.0, np.nan]]),
        "b": np.array([[1.5, 0.0, np.nan]]),
        "c": np.array([[0.5, 1, np.nan]]),
    }
    sample = units(score_table(long_table(values)), "score", ["a", "b", "c"])
    assert sample.yes_no.tolist() == [True, False, False]
    assert sample.scored.tolist() == [True, False, True]
    assert (sample.gaps.tolist(), sample.missing.tolist()) == ([0, 1, 0], [1, 0, 1])
    negative = units(score_table(long_table({"a": np.array([[-0.5, 1.0]])})), "score", ["a"])
    assert (negative.scored.tolist(), negative.yes_no.tolist()) == ([False], [False])


def test_missing_files_say_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "none.csv")

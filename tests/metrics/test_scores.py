"""scores.csv: one row a debate, complete, in a text that is always the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from cortexdsl.cli.main import main
from cortexdsl.core.metrics import LABELS
from cortexdsl.errors import RecordError
from cortexdsl.metrics.estimates import round_table
from cortexdsl.metrics.scores import (
    Row,
    check_complete,
    method_of,
    read_rows,
    round_rows,
    score_rows,
    write_rows,
    write_scores,
)
from cortexdsl.stats.tables.score_table import read_table
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.debates import grade, made, record

CONTRACT = ["dataset", "cell", "method", "replicate", "question_id", "score", "unparsed", "rounds", "stop", "calls",
            "input_tokens", "output_tokens"]  # fmt: skip


def rows_of(questions: str = "12", cells: tuple[str, ...] = ("full",), replicates: int = 1) -> list[Row]:
    return [
        row
        for cell in cells
        for r in range(1, replicates + 1)
        for row in score_rows(
            [record(made([{"a": "R", "b": "W", "c": None}], question=q), cell, r) for q in questions], grade
        )
    ]


def test_a_row_begins_with_the_contracts_columns() -> None:
    row = rows_of()[0]
    assert list(row)[: len(CONTRACT)] == CONTRACT
    assert [row[c] for c in CONTRACT] == ["sums", "full", "full", 1, "1", 1.0, 1.0, 0.0, "rounds", 3.0, 30.0, 9.0]


def test_the_method_comes_from_the_plan_or_else_from_the_cells_name() -> None:
    debate = made([{"a": "R"}])
    known = score_rows([record(debate, "sparse[keep=mean]")], grade, methods={"sparse[keep=mean]": "sparse"})
    assert known[0]["method"] == "sparse"
    assert [method_of(c) for c in ("sparse[keep=mean]", "sparse~keep=mean", "full")] == ["sparse", "sparse", "full"]


def test_further_grades_and_labels_are_columns_and_no_answer_is_worth_nothing_by_any_of_them() -> None:
    debates = [made([{"a": "W"}]), made([{"a": None}], question="q2")]
    rows = score_rows(map(record, debates), grade, also={"f1": lambda _, __: 0.5}, labels={"cluster": {"q1": "page 3"}})
    assert [(row["f1"], row["cluster"]) for row in rows] == [(0.5, "page 3"), (0.0, None)]


def test_a_column_of_text_is_one_declaration_from_the_table_to_verdicts_and_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Undeclared, it is refused when the table is written; declared, every reader of the table passes it by."""
    debates = [made([{"a": answer}], question=f"q{k}") for k, answer in enumerate("RRRW")]
    labels = {"mood": {f"q{k}": word for k, word in enumerate(("calm", "5", "cross", "glum"))}}
    rows = score_rows(map(record, debates), grade, labels=labels)
    with pytest.raises(RecordError, match="the column 'mood' holds 'calm', and values are numbers"):
        write_scores(tmp_path / "scores.csv", rows)
    for module in ("cortexdsl.metrics.scores", "cortexdsl.stats.tables.score_table"):
        monkeypatch.setattr(f"{module}.LABELS", {**LABELS, "mood": "id"})
    write_scores(tmp_path / "scores.csv", rows)
    table = read_table(tmp_path / "scores.csv")
    assert "mood" not in table.metrics
    assert evaluate_claims(table, ["accuracy(full) > 0.5"], 0)["verdict"].tolist() == ["undecided"]
    assert main(["export", str(tmp_path / "scores.csv"), "--table", "scores", "--out", str(tmp_path / "out.csv")]) == 0
    assert [row["mood"] for row in read_rows(tmp_path / "out.csv")] == ["calm", "5", "cross", "glum"]


def test_a_guided_record_can_never_be_scored() -> None:
    told = record(made([{"a": "R"}]))
    told = replace(told, header=replace(told.header, guided=True))
    with pytest.raises(RecordError, match="told the gold answer"):
        score_rows([told], grade)


def test_two_datasets_are_not_scored_by_one_grade_function() -> None:
    debate = made([{"a": "R"}])
    with pytest.raises(RecordError, match="'sums' and 'words'"):
        score_rows([record(debate), record(debate, dataset="words")], grade)


def test_text_is_the_same_for_the_same_rows_and_free_of_noise(tmp_path: Path) -> None:
    rows = rows_of("ba", ("full", "cut"), 2)
    rows[0] |= {"score": 0.1 + 0.2, "gain": float("nan")}
    write_scores(tmp_path / "one.csv", rows)
    write_scores(tmp_path / "two.csv", sorted(rows, key=lambda row: str(row["cell"])))
    text = (tmp_path / "one.csv").read_bytes()
    assert text == (tmp_path / "two.csv").read_bytes()
    assert b"\r" not in text
    lines = text.decode().splitlines()
    assert [line.split(",")[1:5] for line in lines[1:5]] == [
        ["cut", "cut", "1", "b"], ["cut", "cut", "1", "a"], ["cut", "cut", "2", "b"], ["cut", "cut", "2", "a"],
    ]  # fmt: skip
    assert lines[5].startswith("sums,full,full,1,b,0.30000000000000004,1,0,rounds,3,30,9,39,")


def test_hostile_ids_stay_in_their_field(tmp_path: Path) -> None:
    question = 'q,"1"\n2\x00\ud800'
    write_scores(tmp_path / "s.csv", score_rows([record(made([{"a": "R"}], question=question))], grade))
    back = read_rows(tmp_path / "s.csv")
    assert [row["question_id"] for row in back] == ['q,"1"\n2\x00\\ud800']


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\r\nb", '"', "a,b", "\u2028"])
def test_every_separator_within_a_field_is_read_back(tmp_path: Path, text: str) -> None:
    """A line end of any kind within an id ends no row."""
    rows: list[Row] = [{"question_id": text, "score": "1"}, {"question_id": "q", "score": "0"}]
    write_rows(tmp_path / "rows.csv", rows)
    assert read_rows(tmp_path / "rows.csv") == rows


def test_ids_that_look_like_numbers_stay_text_on_the_way_to_the_statistics(tmp_path: Path) -> None:
    write_scores(tmp_path / "s.csv", rows_of(questions="0"))
    rows = score_rows([record(made([{"a": "R"}], question="007"))], grade)
    write_scores(tmp_path / "s.csv", rows)
    table = read_table(tmp_path / "s.csv")
    assert table.questions == (("007",),)
    assert table.column("score").tolist() == [1.0]


def test_parts_are_joined_without_a_change(tmp_path: Path) -> None:
    rows = rows_of(cells=("full", "cut"))
    write_scores(tmp_path / "whole.csv", rows)
    for name in ("full", "cut"):
        write_scores(tmp_path / f"{name}.csv", [row for row in rows if row["cell"] == name])
    joined = [row for name in ("full", "cut") for row in read_rows(tmp_path / f"{name}.csv")]
    check_complete(joined, ["full", "cut"], 1, {"sums": ["1", "2"]})
    write_scores(tmp_path / "joined.csv", joined)
    assert (tmp_path / "joined.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_table_that_a_spreadsheet_saved_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes("\ufeffturn,value\r\n1,yes\r\n".encode())
    assert read_rows(path) == [{"turn": "1", "value": "yes"}]


def test_a_table_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes("turn,value\n1,très\n".encode("latin-1"))
    with pytest.raises(RecordError, match=r"mine\.csv: is not in UTF-8"):
        read_rows(path)


def test_a_torn_or_missing_part_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        read_rows(tmp_path / "none.csv")
    (tmp_path / "torn.csv").write_text("a,b\n1\n")
    with pytest.raises(RecordError, match="1 fields where 2 columns"):
        read_rows(tmp_path / "torn.csv")


def test_rounds_read_back_from_a_file_give_the_same_table(tmp_path: Path) -> None:
    debate = made([{"a": "R", "b": "W"}, {"a": "R", "b": "R"}], [[("a", "b")]])
    rows = round_rows([record(debate)], grade, {"q1": "page 3"})
    write_rows(tmp_path / "rounds.csv", rows)
    pd.testing.assert_frame_equal(round_table(rows), round_table(read_rows(tmp_path / "rounds.csv")))


def test_a_complete_table_passes() -> None:
    check_complete(rows_of("12", ("full", "cut"), 2), ["full", "cut"], 2, {"sums": ["1", "2"]})


def test_what_is_missing_double_or_foreign_is_counted_and_named() -> None:
    rows = rows_of("12", ("full",), 2)
    with pytest.raises(RecordError, match=r"1 are missing \(sums/full/r2/2\)"):
        check_complete(rows[:-1], ["full"], 2, {"sums": ["1", "2"]})
    with pytest.raises(RecordError, match=r"1 stand twice \(sums/full/r1/1\)"):
        check_complete([*rows, rows[0]], ["full"], 2, {"sums": ["1", "2"]})
    with pytest.raises(RecordError, match=r"2 are not of the plan \(sums/full/r1/2, sums/full/r2/2\)"):
        check_complete(rows, ["full"], 2, {"sums": ["1"]})
    with pytest.raises(RecordError, match=r"9 are missing \(.*/r1/4, \.\.\.\)"):
        check_complete([], ["full"], 1, {"sums": list("012345678")})

"""Debates of other programs get the same records and tables as our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cortexdsl.cli.main import main
from cortexdsl.errors import DataError
from cortexdsl.logs.plain import read_transcripts
from cortexdsl.metrics.foreign import foreign_debates, write_foreign
from cortexdsl.records import read_debates

SUM = {
    "id": "q1",
    "question": "3 + 4?",
    "answer": "7",
    "agents": [["Answer: 7", "Answer: 7"], ["Answer: 8", "Answer: 7"]],
}
OTHER = {"id": "q2", "question": "3 + 5?", "answer": "8", "agents": [["Answer: 7"], ["Answer: 7"]]}


def written(folder: Path, *lines: dict[str, Any]) -> Path:
    path = folder / "old.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def imported(folder: Path, *lines: dict[str, Any], kind: str | None = None) -> Any:
    transcripts = read_transcripts(written(folder, *lines), dataset="sums", cell="old")
    return foreign_debates(transcripts, "made", kind)


def test_a_whole_import_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results" / "made"
    assert main(["import", str(written(tmp_path, SUM, OTHER)), "--out", str(out), "--dataset", "sums"]) == 0
    assert "sums: 2 debates, 6 turns, 0 without a readable answer (read as number)" in capsys.readouterr().out
    (first, second) = read_debates(out / "debates" / "sums" / "imported" / "r1-s01.jsonl")
    assert (first.header.experiment, first.debate.answer, second.debate.answer) == ("made", "7", "7")
    scores = pd.read_csv(out / "scores.csv").set_index("question_id")
    assert scores["score"].tolist() == [1, 0]
    assert scores["opening_score"].tolist() == [0.5, 0]  # 7 and 8 are tied: the draw's expectation
    assert scores["cvr"].tolist() == [1, 0]
    assert scores["input_tokens"].isna().all()
    rounds = pd.read_csv(out / "rounds.csv")
    assert rounds["accuracy"].tolist() == [0.25, 0.5]
    assert rounds["consensus"].tolist() == [0.5, 1.0]
    metrics = pd.read_csv(out / "metrics.csv").set_index("metric")
    assert metrics.loc["accuracy", "n_questions"] == 2
    assert {p.name for p in out.iterdir()} == {"debates", "scores.csv", "rounds.csv", "metrics.csv", "agents.csv",
                                              "answers.csv", "calibration.csv", "reliability.csv",
                                              "persuasion.csv", "questions.jsonl"}  # fmt: skip


def test_without_golds_there_are_records_but_no_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "made"
    assert main(["import", str(written(tmp_path, {"agents": [["yes"]]})), "--out", str(out)]) == 0
    assert "no gold answers, so no scores" in capsys.readouterr().out
    assert sorted(p.name for p in out.iterdir()) == ["debates", "questions.jsonl"]


def test_choices_are_read_as_choices(tmp_path: Path) -> None:
    line = {"question": "Which?", "choices": ["red", "blue"], "answer": "B", "agents": [["the answer is (B)"]]}
    (found,) = imported(tmp_path, line, kind="number")
    assert (found.kind, found.records[0].debate.answer) == ("choice", "B")
    assert found.task.grade("1", "B") == 1.0


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((SUM, SUM), "stands twice in cell 'old'"),
        ((SUM, {"id": "q2", "question": "?", "agents": [["7"]]}), "no answer, though other questions"),
        ((SUM, {**OTHER, "choices": ["7", "8"]}), "no choices, though other questions"),
    ],
)
def test_mixtures_are_refused(tmp_path: Path, lines: tuple[dict[str, Any], ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        imported(tmp_path, *lines)


def test_an_empty_file_and_a_broken_map_are_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = written(tmp_path)
    assert main(["import", str(empty), "--out", str(tmp_path / "r")]) == 2
    assert "it is empty" in capsys.readouterr().err
    assert main(["import", str(empty), "--out", str(tmp_path / "r"), "--field", "gold"]) == 2
    assert "WORD=COLUMN" in capsys.readouterr().err


def test_real_debates_are_scored_and_described(shared_data: Path, tmp_path: Path) -> None:
    # The MMLU records carry their program's own verdict on their last answers: ours agrees wherever all its agents do.
    path = shared_data / "recorded_debates.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    fields = {"dataset": "task", "answer": "gold", "choices": "options", "personas": "roles", "models": "model"}
    found = foreign_debates(read_transcripts(path, dataset="d", cell="dylan", fields=fields), "dylan", "expression")
    write_foreign(tmp_path, found)
    scores = pd.read_csv(tmp_path / "scores.csv", dtype={"question_id": str})
    assert len(scores) == len(lines)
    mmlu = scores[(scores["dataset"] == "MMLU") & (scores["consensus"] == 1)]
    recorded = {str(k): line.get("final_correct_recorded") for k, line in enumerate(lines, start=1)}
    assert len(mmlu) > 5
    assert [bool(s) for s in mmlu["score"]] == [recorded[q] for q in mmlu["question_id"]]
    metrics = pd.read_csv(tmp_path / "metrics.csv")
    assert set(metrics["dataset"]) == {"MATH", "MMLU", "all"}
    assert metrics[metrics["metric"] == "density"]["estimate"].eq(1.0).all()  # everyone hears everyone

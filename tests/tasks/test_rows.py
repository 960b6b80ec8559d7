"""Replies of other programs, summaries, the judge, and the two verbs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Question
from cortexdsl.errors import DataError
from cortexdsl.tasks.judging import judge_variables, read_judgement
from cortexdsl.tasks.registry import registry
from cortexdsl.tasks.replies import grade_rows, options_in, row_item, summary


@pytest.mark.parametrize(
    ("row", "kind", "metric"),
    [
        (
            {"task": "mmlu_pro/history", "gold": "H", "options": ["a", "b", "c", "d", "e", "f", "g", "h"]},
            "choice",
            "accuracy",
        ),
        ({"task": "GSM8k", "gold": "1,000"}, "number", "accuracy"),
        ({"task": "MATH", "gold": r"\frac12"}, "expression", "math"),
        ({"task": "bbh/formal_fallacies", "gold": "valid"}, "labels", "accuracy"),
        ({"task": "bbh/snarks", "gold": "(B)"}, "choice", "accuracy"),
        ({"task": "fever", "gold": "REFUTES"}, "labels", "accuracy"),
        ({"task": "squad_v2", "gold": ["x", "y"]}, "text", "f1"),
        ({"task": "longbench/lcc", "gold": "x = 1"}, "free", "code_similarity"),
        ({"task": "SQA", "gold": "yes"}, "yesno", "accuracy"),
        ({"task": "Aqua", "gold": "C", "question": "Which? Options: A)2 B)15 C)30"}, "choice", "accuracy"),
        ({"task": "ECQA", "gold": "3"}, "number", "accuracy"),
        ({"task": "mine", "gold": "Paris"}, "text", "em"),
        ({"task": "mine", "gold": "Paris", "kind": "text", "metric": "f1"}, "text", "f1"),
    ],
)
def test_task_names_of_any_spelling_and_golds_of_any_kind(row: dict[str, object], kind: str, metric: str) -> None:
    item = row_item({**row, "output": ""})
    assert (item.kind, item.metric) == (kind, metric)


def test_options_in_the_text_of_a_question() -> None:
    assert options_in("Which?\nOptions:\n(A) one\n(B) two")[1] == ("B", "two")
    assert options_in("Which?\nA. one\nB. two\nC. three")[2] == ("C", "three")
    assert options_in("Which? Options: A)2 B)15 C)30 D)60 E)120")[4] == ("E", "120")
    assert options_in("A. Smith wrote it. Who?") == ()


def test_a_row_that_lacks_something_is_named() -> None:
    with pytest.raises(DataError, match="row 2: no 'gold'"):
        grade_rows([{"task": "gsm8k", "gold": "1", "output": ""}, {"task": "gsm8k", "output": ""}])
    with pytest.raises(DataError, match="row 1: its gold is empty"):
        grade_rows([{"task": "gsm8k", "gold": None, "output": ""}])


def rows() -> list[dict[str, object]]:
    return [
        {"task": "gsm8k", "question": "2+2?", "gold": "4", "output": "Answer: 4\nConfidence: 1.5"},
        {"task": "gsm8k", "question": "2+3?", "gold": "5", "output": "The answer is 5."},
        {"task": "gsm8k", "question": "2+4?", "gold": "6", "output": None},
        {"task": "boolq", "question": "is it", "gold": True, "output": "Answer: yes"},
    ]


def test_rows_and_their_summary() -> None:
    """gsm8k 2 of 3 lenient and 1 of 3 strict; boolq 1 of 1: micro 3/4, macro (2/3 + 1)/2 = 5/6."""
    graded = grade_rows(rows())
    assert [each.row()["answer"] for each in graded] == ["4", "5", None, "yes"]
    assert [each.row()["strict"] for each in graded] == ["4", None, None, "yes"]
    assert [each.score for each in graded] == [1.0, 1.0, 0.0, 1.0]
    assert graded[2].row()["unparsed"] == "empty reply"
    assert summary(graded).splitlines() == [
        "task   replies  score strict/lenient  unread strict/lenient",
        "gsm8k        3         33.3%   66.7%          66.7%   33.3%",
        "boolq        1        100.0%  100.0%           0.0%    0.0%",
        "all          4         50.0%   75.0%          50.0%   25.0%",
        "",
        "micro average 75.0% (over replies), macro average 83.3% (over tasks)",
        "1 stated confidences lie outside 0 to 1",
    ]
    assert [each.score for each in grade_rows(rows(), "strict")] == [1.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("text", "judgement"),
    [
        ("Both say Rome.\nJudgement: correct", True),
        ("**Judgment:** incorrect", False),
        ("Judgement: correct at first. But no.\nJudgement: not correct", False),
        ("Incorrect.", False),
        ("correct", True),
        ("The answer is incorrect, so nobody knows what is correct", None),
        ("", None),
    ],
)
def test_a_judge_is_read_by_its_last_judgement(text: str, judgement: bool | None) -> None:
    assert read_judgement(text) is judgement


def test_the_judge_sees_question_golds_and_answer() -> None:
    variables = judge_variables(Question("q", "Where?"), ("Rome",), "in Rome")
    assert set(variables) == {"question", "golds", "answer"}


def test_grade_writes_rows_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text("\n".join(map(json.dumps, rows())), encoding="utf-8")
    assert main(["grade", str(path), "--json"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["answer"] for row in printed] == ["4", "5", None, "yes"]
    assert set(printed[0]) >= {"answer", "unparsed", "strict", "lenient", "score"}
    out = tmp_path / "graded.jsonl"
    assert main(["grade", str(path), "--out", str(out)]) == 0
    assert [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] == printed
    summary = capsys.readouterr().out
    assert "micro average 75.0%" in summary
    assert "1 stated confidences lie outside 0 to 1" in summary


def test_grade_says_what_is_wrong_with_its_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('{"task": "gsm8k"}', encoding="utf-8")
    assert main(["grade", str(path)]) == 2
    assert "row 1: no 'gold'" in capsys.readouterr().err
    assert main(["grade", str(tmp_path / "none.jsonl")]) == 2
    assert "no such file" in capsys.readouterr().err
    path.write_text("", encoding="utf-8")
    assert main(["grade", str(path)]) == 2


def test_data_lists_shows_and_samples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(registry())
    assert main(["data", "show", "mmlu"]) == 0
    shown = capsys.readouterr().out
    assert "arXiv 2009.03300" in shown
    assert "medical: anatomy" in shown
    assert main(["data", "sample", "arithmetic"]) == 0
    assert capsys.readouterr().out.count("What is the result of") == 3
    assert main(["data", "show", "mlmu"]) == 2
    assert "did you mean 'mmlu'" in capsys.readouterr().err


def test_rows_with_instructions_are_checked() -> None:
    row = {"task": "ifeval", "gold": [{"instruction": "punctuation:no_comma"}]}
    graded = grade_rows([{**row, "output": "Oak and elm"}, {**row, "output": "Oak, elm"}])
    assert [each.score for each in graded] == [1.0, 0.0]

"""What `check` says of a spec's questions, and `data sample` of a file or a spec."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from tests.tasks.hub import fake_hub

FIRST = """\
title: Which is right?
seed: 1
dataset: {name: arithmetic, size: 20}
models: {solver: {model: builtin/solver, skill: 0.5}}
agents: [{name: one, model: solver}, {name: two, model: solver}]
methods: {vote: {protocol: voting}}
"""
COMMIT = "0" * 39 + "1"
ROWS = [f"What is {n} plus 3?;{n + 3}\n" for n in range(30)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out a folder with a spec and a table as German Excel writes it."""
    monkeypatch.chdir(tmp_path)
    Path("first.yaml").write_text(FIRST)
    Path("a.csv").write_text("question;Gold answer\n" + "".join(ROWS))


def checked(capsys: pytest.CaptureFixture[str], dataset: str, *, extends: bool = True) -> list[str]:
    """Lines that `check` prints of a spec with this dataset."""
    text = f"extends: first.yaml\ndataset: {dataset}\n"
    if not extends:
        text = FIRST.replace("{name: arithmetic, size: 20}", dataset)
    Path("second.yaml").write_text(text)
    assert main(["check", "second.yaml"]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_line_says_what_was_understood_and_three_questions_follow(capsys: pytest.CaptureFixture[str]) -> None:
    line, *questions, last = checked(capsys, "{file: a.csv, answer: Gold answer, size: 20}")
    assert line == (
        "a.csv: 30 rows, 20 used (size: 20), answers are numbers, gold column 'Gold answer'; cells are divided by ';'"
    )
    assert len(questions) == 3
    assert all(question.startswith("    What is ") for question in questions)
    assert last.endswith("it can run")


def test_a_size_of_another_file_is_named_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    """`first.yaml` says 20 of these very questions."""
    Path("first.yaml").write_text(FIRST.replace("name: arithmetic", "file: a.csv, answer: Gold answer"))
    line = checked(capsys, "{seed: 5}")[0]
    assert line.startswith("a.csv: 30 rows, 20 used (size: 20 from first.yaml:3), answers are numbers")


def test_what_belongs_to_another_dataset_is_not_taken_over_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    line = checked(capsys, "{file: a.csv, answer: Gold answer}")[0]
    assert line.startswith("a.csv: 30 rows, all used, ")
    assert line.endswith("not used, since it belongs to another dataset: size of first.yaml:3")


def test_questions_asked_twice_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("question,answer\n1+1?,2\n2+2?,4\n1+1?,2\n")
    line = checked(capsys, "{file: a.csv}")[0]
    assert "3 rows, all used, " in line
    assert "1 question asked more than once (rows 1 and 3" in line


def test_a_generated_dataset_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    line = checked(capsys, "{size: 5}")[0]
    assert line == "arithmetic: 5 questions, generated; answers are numbers"


def test_a_question_is_one_line_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    """A terminal would obey some."""
    Path("a.jsonl").write_text(json.dumps({"question": "a\n\x1b[31m" + "b" * 200, "answer": "2"}))
    (question,) = checked(capsys, "{file: a.jsonl}")[1:2]
    assert question == "    a [31m" + "b" * 67 + "... -> 2"


def test_examples_show_options_a_cut_passage_and_the_gold(capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong with a file is seen in what an agent will be shown."""
    row = {"question": "Where?", "answer": 1, "choices": {"A": "Rome", "B": "Oslo"}, "text": "It is " + "cold " * 30}
    Path("a.jsonl").write_text(json.dumps(row))
    _, *lines, _ = checked(capsys, "{file: a.jsonl, choices: choices, context: text}")
    assert lines == ["    Where? -> B", "        (A) Rome (B) Oslo", "        It is " + "cold " * 13 + "co..."]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [("#### 42", "-> #### 42"), ('["Bob","Robert"]', '-> ["Bob","Robert"]'), ("one|two", "-> one|two")],
)
def test_a_gold_is_shown_as_it_was_read(capsys: pytest.CaptureFixture[str], answer: str, shown: str) -> None:
    Path("a.jsonl").write_text(json.dumps({"question": "1+1?", "answer": answer}))
    assert checked(capsys, "{file: a.jsonl}")[1] == f"    1+1? {shown}"


def test_json_says_the_same_as_values(capsys: pytest.CaptureFixture[str]) -> None:
    Path("second.yaml").write_text("extends: first.yaml\ndataset: {file: a.csv, answer: Gold answer}\n")
    assert main(["check", "--json", "second.yaml"]) == 0
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (line["level"], line["where"], line["dataset"]) == ("dataset", "second.yaml:2:10", "a")
    assert (line["rows"], line["used"], line["kind"], line["delimiter"]) == (30, 30, "number", ";")
    assert line["columns"] == {"question": "question", "answer": "Gold answer"}
    assert line["left"] == ["size of first.yaml:3"]
    assert line["questions"][0].keys() == {"question", "options", "passage", "gold"}
    assert len(line["questions"]) == 3
    assert len(line["questions_digest"]) == 16


@pytest.mark.parametrize(("revision", "warns"), [("", True), ("@main", True), (f"@{COMMIT}", False)])
def test_a_dataset_of_the_hub_without_a_commit_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], revision: str, warns: bool
) -> None:
    rows = [{"question": "1+1?", "answer": "2"}]
    fake_hub(monkeypatch, {("somebody/sums", None): rows}, {"main": rows, COMMIT: rows}, loaded=COMMIT)
    Path("second.yaml").write_text(f"extends: first.yaml\ndataset: {{hub: somebody/sums{revision}}}\n")
    assert main(["check", "second.yaml"]) == 0
    said = capsys.readouterr()
    assert f"hub: somebody/sums, revision {COMMIT}" in said.out
    assert ("loaded from the hub without a commit" in said.err) == warns
    assert (f"write @COMMIT after its name; today it is {COMMIT}" in said.err) == warns


# ---------------------------------------------------------------- data sample
def sampled(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What `data sample` prints."""
    assert main(["data", "sample", *arguments]) == 0
    return capsys.readouterr().out


def test_the_datasets_of_a_spec_are_sampled(capsys: pytest.CaptureFixture[str]) -> None:
    Path("second.yaml").write_text("extends: first.yaml\ndataset: {file: a.csv, answer: Gold answer, size: 9}\n")
    said = sampled(capsys, "second.yaml")
    assert said.startswith("a.csv: 30 rows, 9 used (size: 9), answers are numbers")
    assert said.count("gold: ") == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["own"], "no dataset 'own'"),
        (["second.yaml", "--path", "x"], "--path is for a dataset of the list: a spec says it itself"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    Path("second.yaml").write_text(FIRST)
    assert main(["data", "sample", *arguments]) == 2
    assert said in capsys.readouterr().err

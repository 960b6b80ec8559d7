"""What `compare` takes: tables, results folders and logs, one or several of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.cli.main import main

HEAD = "cell,replicate,question_id,score\n"


def table(path: Path, **cells: list[int]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"{cell},1,{k},{score}\n" for cell, scores in cells.items() for k, score in enumerate(scores)]
    path.write_text(HEAD + "".join(rows))
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *command: str, code: int = 0) -> str:
    assert main(["compare", *command]) == code
    out, error = capsys.readouterr()
    return " ".join((out if code == 0 else error).split())


def test_the_first_cell_is_the_reference_and_changes_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, table(tmp_path / "s.csv", a=[1, 0, 1, 1, 0, 1, 1, 1], b=[0, 1, 1, 1, 0, 0, 0, 1]))
    assert "1 comparison with a" in text
    assert "b against a, question by question: higher on 1 (1), lower on 3 (0, 5, 6), equal on 4." in text


def test_tables_of_several_sources_are_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = table(tmp_path / "results" / "x" / "scores.csv", a=[1, 0] * 4), table(tmp_path / "t.csv", b=[0, 0] * 4)
    text = said(capsys, str(Path(one).parent), two)
    assert "1 comparison with a" in text
    three = table(tmp_path / "u.csv", c=[1, 1] * 4)
    assert "Cells that cannot be told apart" in said(capsys, one, two, three)


def test_a_table_beside_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"provider": "gpt", "prompt": "{{q}}", "vars": {"q": k}, "testIdx": k, "success": k > 3} for k in range(8)]
    (tmp_path / "log.json").write_text(json.dumps({"results": {"version": 3, "results": rows}}))
    own = table(tmp_path / "s.csv", a=[1, 0] * 4)
    Path(own).write_text(Path(own).read_text().replace("cell,", "dataset,cell,").replace("\na,", "\ntests,a,"))
    assert "gpt against a, question by question: higher on 2 (5, 7), lower on 2 (0, 2)" in said(
        capsys, own, str(tmp_path / "log.json"), "--score", "pass"
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["s.csv", "t.csv"], "the cell 'a' is in more than one of them"),
        (["s.csv", "--score", "f1"], "--score chooses a score of logs"),
        (["s.csv", "--cluster", "topic"], "--cluster topic: s.csv has no such column it has: cell"),
        (["results/stopped"], "results/stopped/scores.csv: there is no such file"),
        (["nowhere"], "nowhere: there is no such file"),
        (["no*.eval"], "no*.eval: there is no such file or folder"),
    ],
)
def test_bad_sources_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], expected: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    table(Path("s.csv"), a=[1, 0])
    table(Path("t.csv"), a=[1, 0])
    Path("results/stopped").mkdir(parents=True)
    Path("results/stopped/plan.json").write_text("{}")
    assert expected in said(capsys, *arguments, code=2)

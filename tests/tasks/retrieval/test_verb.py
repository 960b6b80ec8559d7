from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.models.call_log.append_log import AppendLog
from cortexdsl.tasks.retrieval.pools import read_pools

SPEC = """
title: A pool of each kind
seed: 1
dataset: {file: questions.jsonl, question: asked, answer: gold, id: id, kind: text, metric: f1}
models: {solver: {model: builtin/solver, skill: 0.5}}
agents: [{name: one, model: solver}, {name: two, model: solver}]
knowledge:
  words:   {corpus: corpus.jsonl, top: 1}
  vectors: {corpus: corpus.jsonl, top: 2}
  web:     {api_base: env:SEARCH_ADDRESS, api_key_env: SEARCH_KEY}
methods:
  both: {protocol: madke, pool: [words, vectors]}
  none: {protocol: madke}
"""
CORPUS = [("a", "Oslo is the capital of Norway"), ("b", "Rome is the capital of Italy"), ("c", "apples are red")]


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps({"id": i, "contents": t}) + "\n" for i, t in CORPUS))
    rows = [("q1", "What is the capital of Norway?", "Oslo"), ("q2", "What is the capital of Italy?", "Rome")]
    lines = [json.dumps({"id": id, "asked": asked, "gold": gold}) + "\n" for id, asked, gold in rows]
    (tmp_path / "questions.jsonl").write_text("".join(lines))
    (tmp_path / "try.yaml").write_text(SPEC)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "try.yaml"


def pool(spec: Path, source: str) -> tuple[int, Path]:
    out = spec.parent / "pools" / f"{source}.jsonl"
    words = ["pool", str(spec), "--dataset", "questions", "--source", source, "--out", str(out)]
    return main(words), out


def test_pools_of_a_spec(spec: Path) -> None:
    """Each question shares its country with one passage, which is the best match by words and by strings alike."""
    (status, words), (status_too, vectors) = pool(spec, "words"), pool(spec, "vectors")
    assert status == status_too == 0
    assert {id: [p.id for p in found] for id, found in read_pools([words]).items()} == {"q1": ["a"], "q2": ["b"]}
    assert {id: [p.id for p in found] for id, found in read_pools([words, vectors]).items()} == {
        "q1": ["a", "b"],
        "q2": ["b", "a"],
    }


def test_a_pool_is_written_again_from_its_log(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lost but for its log, the file comes back byte for byte; the log does not grow."""
    _, out = pool(spec, "words")
    before, log = out.read_bytes(), out.parent / "searches" / out.name
    kept = log.read_bytes()
    out.unlink()
    capsys.readouterr()
    pool(spec, "words")
    assert (out.read_bytes(), log.read_bytes()) == (before, kept)
    assert "2 searches kept before" in capsys.readouterr().err


def test_an_unknown_source_and_a_missing_key_are_input_errors(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2 is the input's; each message names what is there or what to set."""
    assert pool(spec, "wiki")[0] == 2
    assert "there are: words, vectors, web" in capsys.readouterr().err
    assert pool(spec, "web")[0] == 2
    assert "SEARCH_KEY, which is not set" in capsys.readouterr().err


def test_two_jobs_do_not_write_one_log(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The log of searches has one writer: the second job stops before it asks anything."""
    with AppendLog(spec.parent / "pools" / "searches" / "words.jsonl"):
        assert pool(spec, "words")[0] == 1
    assert "another process writes this log" in capsys.readouterr().err

"""A debate of small models, through the verb that the workflow calls."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl_tiny.folder import Folder
from tests.tiny.made import made

SPEC = """\
title: Small ones debate
seed: 3
dataset: {name: arithmetic, size: 4}
models:
  small: {model: tiny/./model, max_tokens: 12, temperature: 1.0}
agents:
  - {name: a, model: small}
  - {name: b, model: small}
  - {name: c, model: small}
methods:
  full: {protocol: multi-llm, rounds: 1}
"""


def test_records_are_the_same_however_many_calls_go_through_the_model_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    digest = Folder(made(Path("model"), window=1024)).digest
    Path("x.yaml").write_text(SPEC)
    job = ["debate", "x.yaml", "--dataset", "arithmetic", "--cell", "full", "--shard", "r1-s01"]
    for connections in ("1", "12"):
        shutil.rmtree("results", ignore_errors=True)
        assert main([*job, "--connections", connections, "--out", f"{connections}.jsonl"]) == 0
    assert Path("1.jsonl").read_bytes() == Path("12.jsonl").read_bytes()
    turns = [turn for line in Path("1.jsonl").read_text().splitlines() for turn in json.loads(line)["turns"]]
    assert len(turns) == 4 * 6
    assert len({turn["text"] for turn in turns}) > 12
    assert all(turn["completion_tokens"] <= 12 and turn["prompt_tokens"] > 20 for turn in turns)
    (log,) = Path("results/x/calls").rglob("full.jsonl")
    assert {json.loads(line)["parameters"]["weights"] for line in log.read_text().splitlines()} == {digest}

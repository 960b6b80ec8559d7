"""Replies are read as the dataset asks: leniently, or in the requested format alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.metrics.scores import read_rows

SPEC = """\
seed: 3
dataset: {{name: arithmetic, size: 12, strict: {strict}}}
models: {{m: {{model: builtin/solver, skill: 0.8, malformed: 0.6}}}}
agents: [{{name: a, model: m}}, {{name: b, model: m}}, {{name: c, model: m}}]
methods: {{vote: {{protocol: voting}}}}
"""


def test_a_strict_reading_leaves_more_replies_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is malformed is often readable all the same, and a vote has no course that the reading could change."""
    unread = {}
    for reading in ("true", "false"):
        folder = tmp_path / reading
        folder.mkdir()
        monkeypatch.chdir(folder)
        Path("spec.yaml").write_text(SPEC.format(strict=reading), encoding="utf-8")
        out = Path("results/spec/debates/arithmetic/vote/r1-s01.jsonl")
        out.parent.mkdir(parents=True)
        at = ["spec.yaml", "--dataset", "arithmetic", "--cell", "vote"]
        assert main(["debate", *at, "--shard", "r1-s01", "--out", str(out)]) == 0
        assert main(["score", *at]) == 0
        rows = read_rows(Path("results/spec/parts/arithmetic/vote/scores.csv"))
        unread[reading] = sum(int(row["unparsed"] or 0) for row in rows)
    assert unread["true"] > unread["false"]

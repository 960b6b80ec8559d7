"""Both readings of every reply are scored, whichever of them the debate was spoken with."""

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


@pytest.mark.parametrize("reading", ["strict", "lenient"])
def test_the_score_is_that_of_the_reading_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading: str
) -> None:
    """A vote has no course that a reading could change, so its score is the column of its own reading."""
    monkeypatch.chdir(tmp_path)
    Path("spec.yaml").write_text(SPEC.format(strict=str(reading == "strict").lower()), encoding="utf-8")
    out = Path("results/spec/debates/arithmetic/vote/r1-s01.jsonl")
    out.parent.mkdir(parents=True)
    at = ["spec.yaml", "--dataset", "arithmetic", "--cell", "vote"]
    assert main(["debate", *at, "--shard", "r1-s01", "--out", str(out)]) == 0
    assert main(["score", *at]) == 0
    rows = read_rows(Path("results/spec/parts/arithmetic/vote/scores.csv"))
    assert [row["score"] for row in rows] == [row[f"{reading}_score"] for row in rows]
    assert [row["unparsed"] for row in rows] == [row[f"{reading}_unparsed"] for row in rows]
    unread = {name: sum(int(row[f"{name}_unparsed"] or 0) for row in rows) for name in ("strict", "lenient")}
    assert unread["strict"] > unread["lenient"]  # what is malformed is often readable all the same

"""Debates of agents in Inspect are imported as records, and so is what our own export wrote for Inspect."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cortexdsl.records import debate_files, read_debates
from tests.results.made import write_scored
from tests.results.told import told


def imported(python: Path, repository: Path, log: Path, target: Path) -> str:
    command = [python, "-m", "cortexdsl", "import", log, "--out", target]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=200, cwd=repository).stdout


@pytest.mark.parametrize("form", ["eval", "json"])
def test_agents_of_inspect(with_inspect: Path, repository: Path, tmp_path: Path, form: str) -> None:
    """Agents are spans, rounds their replies; the calls of the grading model are no turns."""
    script = Path(__file__).with_name("inspect_debate.py")
    subprocess.run([with_inspect, script, tmp_path / "logs", form], check=True, capture_output=True, timeout=200)
    (log,) = (tmp_path / "logs").iterdir()
    said = imported(with_inspect, repository, log, tmp_path / "results" / "old")
    assert said.startswith("sums: 2 debates, 8 turns, 0 without a readable answer")
    (path,) = debate_files(tmp_path / "results" / "old")
    first, second = (record.debate for record in read_debates(path))
    assert [(turn.speaker, turn.round, turn.answer, turn.heard) for turn in first.turns] == [
        ("ann", 0, "7", ()), ("bob", 0, "8", ()), ("ann", 1, "7", (1,)), ("bob", 1, "7", ())
    ]  # fmt: skip
    assert [agent.model.model for agent in first.agents] == ["mockllm/small", "mockllm/large"]
    assert {(turn.prompt_tokens, turn.completion_tokens) for turn in second.turns} == {(9, 2)}
    assert (first.question_id, first.answer, second.answer) == ("q1", "7", "7")
    scores = (tmp_path / "results" / "old" / "scores.csv").read_text().splitlines()
    assert [line.split(",")[scores[0].split(",").index("score")] for line in scores[1:]] == ["1", "1"]


def test_an_exported_debate_is_the_same_debate_again(with_inspect: Path, repository: Path, tmp_path: Path) -> None:
    """As Inspect wrote the log: for every cell of the experiment."""
    made = write_scored(tmp_path / "results" / "made")
    export = "import sys; from pathlib import Path; from cortexdsl.export.inspect_logs import export_inspect"
    export += "; print(*export_inspect(*map(Path, sys.argv[1:])), sep='\\n')"
    command = [with_inspect, "-c", export, made, tmp_path / "logs"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=200, cwd=repository)
    again = []
    for number, path in enumerate(done.stdout.split("\n")[:-1]):
        again.append(tmp_path / "results" / f"again{number}")
        imported(with_inspect, repository, Path(path), again[-1])
    assert told(*again) == told(made)

"""Debates of agents in Inspect are imported as records, and so is what our own export wrote for Inspect."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from cortexdsl.records import debate_files, read_debates
from tests.results.made import write_scored
from tests.results.told import told

IMPORT = """
import json, sys
from cortexdsl.cli.main import main
for log, target in json.load(sys.stdin):
    assert main(["import", log, "--out", target]) == 0
"""


def imported(python: Path, repository: Path, logs: dict[Path, Path]) -> str:
    """Import each log into its folder, in one process, because importing Inspect takes seconds."""
    pairs = [(str(log), str(target)) for log, target in logs.items()]
    command = [python, "-c", IMPORT]
    done = subprocess.run(
        command, check=True, input=json.dumps(pairs), capture_output=True, text=True, timeout=200, cwd=repository
    )
    return done.stdout


def test_agents_of_inspect(with_inspect: Path, repository: Path, tmp_path: Path) -> None:
    """Agents are spans, rounds their replies; the calls of the grading model are no turns."""
    script = Path(__file__).with_name("inspect_debate.py")
    forms = ("eval", "json")
    command = [with_inspect, script, tmp_path / "logs", *forms]
    subprocess.run(command, check=True, capture_output=True, timeout=200)
    logs = {path: tmp_path / "results" / path.suffix[1:] for path in (tmp_path / "logs").iterdir()}
    said = imported(with_inspect, repository, logs)
    assert said.count("sums: 2 debates, 8 turns, 0 without a readable answer") == 2
    for form in forms:
        check_sums(tmp_path / "results" / form)


def check_sums(folder: Path) -> None:
    """The debates of `inspect_debate.py` are recorded as they were held."""
    (path,) = debate_files(folder)
    first, second = (record.debate for record in read_debates(path))
    assert [(turn.speaker, turn.round, turn.answer, turn.heard) for turn in first.turns] == [
        ("ann", 0, "7", ()), ("bob", 0, "8", ()), ("ann", 1, "7", (1,)), ("bob", 1, "7", ())
    ]  # fmt: skip
    assert [agent.model.model for agent in first.agents] == ["mockllm/small", "mockllm/large"]
    assert {(turn.prompt_tokens, turn.completion_tokens) for turn in second.turns} == {(9, 2)}
    assert (first.question_id, first.answer, second.answer) == ("q1", "7", "7")
    scores = (folder / "scores.csv").read_text().splitlines()
    assert [line.split(",")[scores[0].split(",").index("score")] for line in scores[1:]] == ["1", "1"]


def test_an_exported_debate_is_the_same_debate_again(with_inspect: Path, repository: Path, tmp_path: Path) -> None:
    """As Inspect wrote the log: for every cell of the experiment."""
    made = write_scored(tmp_path / "results" / "made")
    export = "import sys; from pathlib import Path; from cortexdsl.export.inspect_logs import export_inspect"
    export += "; print(*export_inspect(*map(Path, sys.argv[1:])), sep='\\n')"
    command = [with_inspect, "-c", export, made, tmp_path / "logs"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=200, cwd=repository)
    logs = {Path(path): tmp_path / "results" / f"again{k}" for k, path in enumerate(done.stdout.splitlines())}
    imported(with_inspect, repository, logs)
    assert told(*logs.values()) == told(made)

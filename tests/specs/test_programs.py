"""The shipped debate over programs: permission, votes by what programs do, the report, and a replay that runs none."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cortexdsl.core import Debate
from cortexdsl.records import read_debates
from cortexdsl.tasks.programs import sandbox
from tests.workflow.bench import Bench

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.workflow,
    pytest.mark.sandboxed,
    pytest.mark.skipif(bool(sandbox.problem()), reason=sandbox.problem() or "there is a sandbox"),
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A folder with the finished experiment."""
    folder = tmp_path_factory.mktemp("programs")
    shutil.copytree(ROOT / "specs", folder / "specs")
    (folder / "prompts").symlink_to(ROOT / "prompts")
    bench = Bench(folder)
    refused = verb(bench, "run", "examples/programs", "--cores", "1")
    assert refused.returncode == 2
    assert "run programs of models, and tests and solutions of data, in a sandbox without" in refused.stderr
    assert not (folder / "results").exists()
    without = verb(bench, "run", "examples/programs", "--yes", path="/nowhere")
    assert without.returncode == 2
    assert "there is no bwrap\n    install it: apt install bubblewrap" in without.stderr
    done = verb(bench, "run", "examples/programs", "--yes", "--cores", "1")
    assert done.returncode == 0, done.stderr
    return bench


def verb(bench: Bench, *words: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**bench.environment, "XDG_STATE_HOME": str(bench.folder / "state")}
    environment |= {"PATH": path} if path else {}
    command = [sys.executable, "-m", "cortexdsl", *words]
    return subprocess.run(
        command,
        cwd=bench.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def debates(bench: Bench, cell: str) -> dict[str, Debate]:
    files = (bench.folder / "results/examples/programs/debates").rglob(f"{cell}/*.jsonl")
    return {record.debate.question_id: record.debate for path in files for record in read_debates(path)}


def test_the_debate_mends_what_the_vote_gets_wrong(bench: Bench) -> None:
    with (bench.folder / "results/examples/programs/scores.csv").open(encoding="utf-8", newline="") as file:
        scores = {(row["method"], row["question_id"]): row["score"] for row in csv.DictReader(file)}
    assert {question: scores["vote", question] for question in ("leap", "longest", "middle", "vowels")} == {
        "leap": "0", "longest": "0", "middle": "1", "vowels": "1",
    }  # fmt: skip
    assert scores["debate", "leap"] == "1"
    assert "examples/programs" in (bench.folder / "results/examples/programs/report.html").read_text(encoding="utf-8")


def test_votes_count_what_programs_do(bench: Bench) -> None:
    """Two programs with other texts are one answer; one that fails on the examples is unreadable and has no vote."""
    opened = debates(bench, "vote")
    first, second, third = (turn.answer for turn in opened["leap"].turns)
    assert first == second == "def leap(year):\n    return year % 4 == 0"
    assert opened["leap"].turns[1].text.count("not year % 4") == 1
    assert opened["leap"].votes == {first: 2, third: 1}
    failing = opened["vowels"].turns[2]
    assert failing.answer is None
    assert (failing.unparsed or "").startswith("fails on vowels('Debate'): ")
    assert sum(opened["vowels"].votes.values()) == 2


def test_results_are_replayed_read_and_scored_again_without_running_a_program(bench: Bench) -> None:
    logs = bench.folder / "results/examples/programs/programs"
    before = sorted((path.name, path.read_bytes()) for path in logs.iterdir())
    for words in (("replay", "specs/examples/programs.yaml"), ("regrade", "specs/examples/programs.yaml")):
        again = verb(bench, *words, path="/nowhere")
        assert again.returncode == 0, again.stderr
    assert sorted((path.name, path.read_bytes()) for path in logs.iterdir()) == before
    keys = [json.loads(line)["key"] for _, text in before for line in text.decode().splitlines()]
    assert len(keys) == len(set(keys)) == 12 + 6  # on examples, and by tests: the first of each answer


def test_a_program_that_no_log_has_is_not_run_without_permission(bench: Bench) -> None:
    logs = bench.folder / "results/examples/programs/programs"
    moved = logs.rename(logs.with_name("elsewhere"))
    try:
        refused = verb(bench, "replay", "specs/examples/programs.yaml")
    finally:
        shutil.rmtree(logs, ignore_errors=True)
        moved.rename(logs)
    assert refused.returncode == 2
    assert "this needs your permission" in refused.stderr

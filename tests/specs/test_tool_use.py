"""The shipped debates with tools: permission, what agents use, the report and the text of a debate, and a replay."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from cortexdsl.core import Debate
from cortexdsl.records import read_debates
from cortexdsl.tasks.programs import sandbox
from tests.specs.test_programs import verb
from tests.workflow.bench import Bench

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path("results/examples/tool-use")
pytestmark = [
    pytest.mark.workflow,
    pytest.mark.sandboxed,
    pytest.mark.skipif(bool(sandbox.problem()), reason=sandbox.problem() or "there is a sandbox"),
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A folder with the finished experiment."""
    folder = tmp_path_factory.mktemp("tool-use")
    shutil.copytree(ROOT / "specs", folder / "specs")
    (folder / "prompts").symlink_to(ROOT / "prompts")
    bench = Bench(folder)
    refused = verb(bench, "run", "examples/tool-use", "--cores", "1")
    assert refused.returncode == 2
    assert "run the programs that models write as a tool, in a sandbox without network and files" in refused.stderr
    done = verb(bench, "run", "examples/tool-use", "--yes", "--cores", "1")
    assert done.returncode == 0, done.stderr
    return bench


def debates(bench: Bench, cell: str) -> list[Debate]:
    files = (bench.folder / RESULTS / "debates").rglob(f"{cell}/*.jsonl")
    return [record.debate for file in files for record in read_debates(file)]


def test_each_agent_uses_its_own_tools(bench: Bench) -> None:
    """The solver asks for one computation a turn; the thinker has no tool, and the coder has two."""
    used = {
        (turn.speaker, use.tool) for debate in debates(bench, "tumix") for turn in debate.turns for use in turn.uses
    }
    assert used == {("counter", "calculator"), ("coder", "python")}
    for debate in debates(bench, "tumix"):
        for turn in debate.turns:
            assert len(turn.uses) == (turn.speaker in ("counter", "coder"))
            assert all(use.error is None for use in turn.uses)
    assert all(debate.turns[-1].reads == "verdict" for debate in debates(bench, "tumix"))


def test_the_verifier_speaks_only_if_they_disagree(bench: Bench) -> None:
    for debate in debates(bench, "dynadebate"):
        opening = {turn.answer for turn in debate.turns if turn.step == "answer"}
        assert any(turn.step == "verify" for turn in debate.turns) == (len(opening) > 1)
        assert all(turn.uses for turn in debate.turns if turn.speaker == "verifier")


def test_scores_and_report_count_what_was_used(bench: Bench) -> None:
    with (bench.folder / RESULTS / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    total = sum(len(turn.uses) for cell in ("tumix", "dynadebate") for d in debates(bench, cell) for turn in d.turns)
    assert sum(int(row["tool_uses"]) for row in rows) == total > 0
    assert {row["failed_tool_uses"] for row in rows} == {"0"}
    by_cell = {row["cell"]: row for row in rows}
    assert by_cell["plain"]["tool_uses"] == "0"
    calls = {row["question_id"]: int(row["calls"]) for row in rows if row["cell"] == "tumix"}
    for debate in debates(bench, "tumix"):
        assert calls[debate.question_id] == sum(len(turn.calls) for turn in debate.turns)
    page = (bench.folder / RESULTS / "report.html").read_text(encoding="utf-8")
    assert f"Agents used tools {total:,} times." in page
    assert "Tools used" in page


def test_a_matched_budget_has_the_calls_of_its_tools(bench: Bench) -> None:
    spent = {debate.question_id: sum(len(turn.calls) for turn in debate.turns) for debate in debates(bench, "tumix")}
    assert {debate.question_id: len(debate.turns) for debate in debates(bench, "same-calls")} == spent


def test_a_debate_is_shown_with_its_tools(bench: Bench) -> None:
    question = debates(bench, "tumix")[0].question_id
    shown = verb(bench, "show", "results/examples/tool-use", "--cell", "tumix", "--question", question).stdout
    assert "    > calculator: " in shown
    assert "    > python: print(" in shown
    assert "```tool" not in shown


def test_the_experiment_is_replayed_without_running_a_program(bench: Bench) -> None:
    replayed = verb(bench, "replay", "specs/examples/tool-use.yaml", path="/nowhere")
    assert replayed.returncode == 0, replayed.stderr
    assert "byte for byte" in replayed.stdout + replayed.stderr


def test_exports_have_uses_of_tools(bench: Bench) -> None:
    out = bench.folder / "out"
    for words in (
        ("--table", "turns", "--out", f"{out}/turns.csv"),
        ("--table", "debates", "--out", f"{out}/debates.jsonl"),
        ("--to", "inspect", "--out", f"{out}/inspect"),
        ("--to", "every-eval-ever", "--out", f"{out}/eee"),
    ):
        done = verb(bench, "export", "results/examples/tool-use", *words)
        assert done.returncode == 0, done.stderr
    with (out / "turns.csv").open(encoding="utf-8", newline="") as file:
        used = sum(int(row["tool_uses"]) for row in csv.DictReader(file))
    nested = [json.loads(line) for line in (out / "debates.jsonl").read_text(encoding="utf-8").splitlines()]
    uses = [use for debate in nested for turn in debate["turns"] for use in turn["tool_uses"]]
    assert used == len(uses) > 0
    assert {use["tool"] for use in uses} == {"calculator", "python"}
    logs = [json.loads(path.read_text(encoding="utf-8")) for path in (out / "inspect").glob("*tumix*.json")]
    messages = [message for log in logs for sample in log["samples"] for message in sample["messages"]]
    assert any(message["content"].startswith("Result of calculator:") for message in messages)

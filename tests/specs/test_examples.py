"""Every example runs through Snakemake to its report, on the built-in solver alone."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tracked import tracked
from tests.workflow.bench import Bench
from tests.workflow.forks import FIGURES

ROOT = Path(__file__).resolve().parents[2]
RUN_PROGRAMS = ("programs", "tool-use")  # need permission and a sandbox: test_programs.py, test_tool_use.py
EXAMPLES = [
    path.stem
    for path in tracked("specs/examples", "[!_]*.yaml")
    if path.stem not in RUN_PROGRAMS and not path.stem.endswith("-tiny")  # the same specs with other models, in minutes
]


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run all examples in one go, outside the checkout. Parallel test workers share one run."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder = root / "examples"
    with (root / "examples.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            for name in ("Snakefile", "workflows", "profiles", "prompts", "environment.yml"):
                (folder / name).symlink_to(ROOT / name)
            shutil.copytree(ROOT / "specs", folder / "specs")
            run = _snakemake(folder, [f"examples/{name}" for name in EXAMPLES])
            (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    status, said = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert status == 0, said[-4000:]
    return folder / "results" / "examples"


def _snakemake(folder: Path, specs: list[str]) -> tuple[int, str]:
    """Run them; the page shows every figure, and their other files are left empty. Other tests need the other core."""
    bench = Bench(folder, {FIGURES: "svg"})
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--quiet", "all", "--config"]
    run = bench.run([*command, f"spec={','.join(specs)}"], timeout=1150)
    return run.status, run.text


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def plan(results: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((results / name / "plan.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.workflow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_to_its_report(results: Path, name: str) -> None:
    """Every question of every cell and replicate is scored once; every claim has a verdict; the page is there."""
    assert (results / name / "report.html").stat().st_size > 10_000
    scores = rows(results / name / "scores.csv")
    found = plan(results, name)
    keys = {(row["dataset"], row["cell"], row["replicate"], row["question_id"]) for row in scores}
    questions = {(row["dataset"], row["question_id"]) for row in scores}
    asked = {row["cell"]: int(row.get("asked") or len(questions)) for row in scores}  # fewer where cells race
    assert len(asked) == len(found["cells"])
    assert len(keys) == len(scores) == sum(asked.values()) * found["replicates"]
    verdicts = [row["verdict"] for row in rows(results / name / "hypotheses.csv")]
    assert verdicts
    assert set(verdicts) <= {"supported", "contradicted", "undecided"}


def mean(results: Path, name: str, cell: str, metric: str) -> float:
    found = [row for row in rows(results / name / "metrics.csv") if (row["cell"], row["metric"]) == (cell, metric)]
    return float(found[0]["estimate"])


@pytest.mark.workflow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("name", "cell", "calls"),
    [
        ("groups", "gd", 17),  # GroupDebate, table 2
        ("groups", "mad", 25),
        ("groups", "mad+forget", 25),
        ("groups", "mad+group", 17),
        ("groups", "cot", 1),
        ("groups", "reflection", 4),
        ("groups", "cot-sc", 40),
        ("single-agents", "matched", 4),  # as many as reflection
        ("baselines", "chateval-both", 17),  # n (D + 1) + D
        ("baselines", "peer-review", 30),
    ],
)
def test_calls_that_the_records_hold(results: Path, name: str, cell: str, calls: int) -> None:
    assert mean(results, name, cell, "calls") == calls


@pytest.mark.workflow
@pytest.mark.timeout(1200)
def test_judges_with_a_fault_are_known_by_it(results: Path) -> None:
    """The script that always prefers the first reply, and the one that prefers the longer; 40 pairs in both orders."""
    assert mean(results, "pairs", "first", "position_bias") == 1
    assert mean(results, "pairs", "first", "consistency") == mean(results, "pairs", "longer", "position_bias") == 0
    assert mean(results, "pairs", "longer", "longer_chosen") == mean(results, "pairs", "longer", "consistency") == 1
    assert mean(results, "pairs", "first", "kappa") == pytest.approx(0, abs=0.02)
    assert mean(results, "pairs", "debate", "kappa") > mean(results, "pairs", "alone", "kappa") > 0.3
    assert len(rows(results / "pairs" / "scores.csv")) == 4 * 80


@pytest.mark.workflow
@pytest.mark.timeout(1200)
def test_a_tournament_finds_the_weakest_method_without_golds(results: Path) -> None:
    last = [row["cell"] for row in rows(results / "tournament" / "tournament.csv") if row["rank"] == "4"]
    assert last == ["weak"] * 3
    judges = {row["judge"]: row for row in rows(results / "tournament" / "judges.csv")}
    assert int(judges["strict"]["unread"]) == 0 < int(judges["careless"]["unread"])


@pytest.mark.workflow
@pytest.mark.timeout(1200)
def test_samples_are_matched_question_by_question(results: Path) -> None:
    """A budget in calls is met exactly on every question, though debates end early on some."""
    calls = {(row["cell"], row["question_id"]): row["calls"] for row in rows(results / "baselines" / "scores.csv")}
    questions = {question for _, question in calls}
    assert all(calls["as-many-calls", q] == calls["sparse", q] for q in questions)
    assert len({calls["sparse", q] for q in questions}) > 1


@pytest.mark.workflow
@pytest.mark.timeout(1200)
def test_pools_are_built_once_and_chosen_from(results: Path) -> None:
    """BM25 finds the passage that was written for its question; debaters choose some and not all of the pool."""
    pools = jsonl(results / "madke/pools/pond-questions/wiki.jsonl")
    assert {pool["question_id"]: pool["passages"][0]["id"] for pool in pools}["p10"] == "sluice"
    records = jsonl(results / "madke/debates/pond-questions/madke/r1-s01.jsonl")
    chosen = {turn["answer"] for record in records for turn in record["turns"] if turn["reads"] == "selection"}
    assert len(chosen) > 1


@pytest.mark.workflow
@pytest.mark.timeout(1200)
def test_words_that_were_missing_do_what_they_say(results: Path) -> None:
    """Medians by the standard library; votes on turns; two agents that end a debate."""

    def debates(cell: str) -> list[dict[str, Any]]:
        (folder,) = (results / "ten/debates").iterdir()
        return [record for path in sorted((folder / cell).glob("*.jsonl")) for record in jsonl(path)]

    for record in debates("delphi"):
        last = [float(turn["answer"]) for turn in record["turns"][-4:] if turn["answer"] is not None]
        assert float(record["answer"]) == statistics.median(last)
        assert all(len(turn["heard"]) == 3 for turn in record["turns"][-4:] if len(last) == 4)
    picks = [turn["answer"] for record in debates("arguments") for turn in record["turns"] if turn["step"] == "rank"]
    assert any(str(pick).startswith("turn ") for pick in picks)
    for record in debates("hcp"):
        opening = [turn["answer"] for turn in record["turns"][:2]]
        assert (len(record["turns"]) == 2) == (opening[0] == opening[1] is not None)
    assert debates("weights")[0]["agents"][0]["given"] == {"weight": 1.0}

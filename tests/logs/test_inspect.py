"""Logs that Inspect itself wrote are compared, and the numbers are those of Inspect."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main

WEAK, STRONG = "mockllm/weak", "mockllm/strong"


@pytest.fixture(scope="module")
def logs(with_inspect: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models by Inspect's mock: two epochs of 40 questions as `.eval`, one of 10 as JSON."""
    folder = tmp_path_factory.mktemp("inspect")
    script = Path(__file__).with_name("inspect_task.py")
    subprocess.run([with_inspect, script, folder], check=True, capture_output=True, timeout=300, cwd=folder)
    return folder


def compare(python: Path, *arguments: str | Path, code: int = 0) -> str:
    command = [python, "-m", "cortexdsl", "compare", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return " ".join((done.stdout if code == 0 else done.stderr).split())


def rows(python: Path, *arguments: str | Path) -> list[dict[str, Any]]:
    command = [python, "-m", "cortexdsl", "compare", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def accuracies(python: Path, folder: Path) -> dict[str, float]:
    """What Inspect itself computed, by model."""
    script = (
        "import glob, json, sys; from inspect_ai.log import read_eval_log;"
        "heads = [read_eval_log(path, header_only=True) for path in glob.glob(sys.argv[1])];"
        "print(json.dumps({h.eval.model: h.results.scores[0].metrics['accuracy'].value for h in heads}))"
    )
    done = subprocess.run([python, "-c", script, f"{folder}/*"], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("form", ["zip", "json"])
def test_the_difference_is_that_of_inspects_own_accuracies(logs: Path, with_inspect: Path, form: str) -> None:
    known = accuracies(with_inspect, logs / form)
    (row,) = rows(with_inspect, logs / form, "--to", WEAK, "--score", "match")
    assert row["cell"] == STRONG
    assert row["difference"] == pytest.approx(known[STRONG] - known[WEAK], abs=1e-12)
    assert row["n_questions"] == (40 if form == "zip" else 10)


def test_claims_clusters_and_a_score_out_of_a_dictionary(logs: Path, with_inspect: Path) -> None:
    claim = f"accuracy({STRONG}) > accuracy({WEAK})"
    said = compare(with_inspect, logs / "zip", "--to", WEAK, "--claim", claim, "--score", "match")
    assert "sums: 40 questions are in all 2 logs." in said
    assert "(exploratory) SUPPORTED" in said  # nothing was declared before
    said = compare(with_inspect, logs / "zip", "--to", WEAK, "--score", "parts/near", "--cluster", "topic")
    assert "2 clusters" in said or "cluster" in said


def test_several_scores_are_asked_for(logs: Path, with_inspect: Path) -> None:
    said = compare(with_inspect, logs / "zip", code=2)
    assert "several scores choose one: --score match | parts/near | parts/short" in said


def test_logs_of_different_length_are_compared_where_both_have_questions(logs: Path, with_inspect: Path) -> None:
    (weak,) = (path for path in sorted((logs / "json").iterdir()) if '"mockllm/weak"' in path.read_text())
    (strong,) = (path for path in sorted((logs / "zip").iterdir()) if STRONG in _head(with_inspect, path))
    said = compare(with_inspect, weak, strong, "--score", "match")
    assert "10 questions are in all 2 logs" in said
    assert "30 questions (q10, q11, q12, q13, q14 and 25 more)" in said


def _head(python: Path, path: Path) -> str:
    script = "import sys; from inspect_ai.log import read_eval_log as read; print(read(sys.argv[1], True).eval.model)"
    return subprocess.run([python, "-c", script, path], capture_output=True, text=True, check=True).stdout


def test_a_cut_log_and_one_of_a_newer_inspect_are_one_sentence(logs: Path, with_inspect: Path, tmp_path: Path) -> None:
    whole = next(iter(sorted((logs / "zip").iterdir())))
    cut = tmp_path / "cut.eval"
    cut.write_bytes(whole.read_bytes()[:-2000])
    assert "cut.eval" in compare(with_inspect, cut, code=2)
    newer = tmp_path / "newer.json"
    text = next(iter(sorted((logs / "json").iterdir()))).read_text()
    newer.write_text(json.dumps(json.loads(text) | {"version": 999}))
    assert "Inspect cannot read it" in compare(with_inspect, newer, code=2)


def test_a_run_that_did_not_finish_names_the_remedy(logs: Path, with_inspect: Path, tmp_path: Path) -> None:
    text = next(iter(sorted((logs / "json").iterdir()))).read_text()
    stopped = tmp_path / "stopped.json"
    stopped.write_text(json.dumps(json.loads(text) | {"status": "cancelled"}))
    said = compare(with_inspect, stopped, code=2)
    assert "this run did not finish (cancelled, 10 samples) finish it: inspect eval-retry stopped.json" in said


def test_without_inspect_the_command_that_installs_it_is_named(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pinned environment, in which this test runs, does not have it."""
    assert main(["compare", str(logs / "zip")]) == 2
    assert "pip install 'cortexdsl[logs]'" in capsys.readouterr().err

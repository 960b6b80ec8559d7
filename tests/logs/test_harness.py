"""Logs that lm-evaluation-harness itself wrote are compared, and the numbers are those of the tool."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from cortexdsl.cli.main import main


@pytest.fixture(scope="module")
def logs(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs over 40 questions, and one over 10 of them, each in a folder of its own."""
    python = repository / "build" / "harness" / "bin" / "python"
    if not python.is_file():
        pytest.skip("lm-eval is not installed: `make logs` puts it into build/harness")
    folder = tmp_path_factory.mktemp("harness")
    script = Path(__file__).with_name("harness_task.py")
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home")}
    subprocess.run([python, script], check=True, capture_output=True, timeout=500, cwd=folder, env=offline)
    return folder / "out"


def test_the_difference_is_that_of_the_tools_own_means(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Models without a name of their own, such as this tool's `dummy`, are called by their kind."""
    means = {}
    for name in ("weak", "strong"):
        (path,) = (logs / name).rglob("results_*.json")
        means[name] = json.loads(path.read_text())["results"]["sums"]["exact_match,none"]
    assert main(["compare", str(logs / "weak"), str(logs / "strong"), "--to", "weak", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["cell"], row["n_questions"]) == ("strong", 40)
    assert row["difference"] == pytest.approx(means["strong"] - means["weak"], abs=1e-12)
    assert row["difference"] > 0.2


def test_a_run_over_some_of_the_questions_is_compared_on_them(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(logs / "weak"), str(logs / "short")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "sums: 10 questions are in all 2 logs." in text
    assert "because not all logs have them: 30 questions (10, 11, 12, 13, 14 and 25 more)" in text

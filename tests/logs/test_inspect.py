"""Logs that Inspect itself wrote are compared, and the numbers are those of Inspect."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main

WEAK, STRONG = "mockllm/weak", "mockllm/strong"
RUN = """
import contextlib, io, json, sys
from cortexdsl.cli.main import main
said = []
for command in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["compare", *command])
    said.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(said))
"""
HEADS = """
import json, pathlib, sys
from inspect_ai.log import read_eval_log
heads = {path: read_eval_log(path, header_only=True) for path in sys.argv[1:]}
print(json.dumps({path: (h.eval.model, h.results.scores[0].metrics["accuracy"].value) for path, h in heads.items()}))
"""


@pytest.fixture(scope="module")
def said(with_inspect: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """What `compare` says of logs that Inspect wrote: two epochs of 40 questions as `.eval`, one of 10 as JSON.

    All commands share one process, because importing Inspect takes seconds.
    """
    folder = tmp_path_factory.mktemp("inspect")
    script = Path(__file__).with_name("inspect_task.py")
    subprocess.run([with_inspect, script, folder], check=True, capture_output=True, timeout=300, cwd=folder)
    files = [*sorted((folder / "zip").iterdir()), *sorted((folder / "json").iterdir())]
    done = subprocess.run([with_inspect, "-c", HEADS, *files], check=True, capture_output=True, text=True)
    heads: dict[str, tuple[str, float]] = json.loads(done.stdout)
    own = {(Path(path).suffix, model): (path, accuracy) for path, (model, accuracy) in heads.items()}
    text = json.loads(files[-1].read_text())
    for name, changed in (("newer", {"version": 999}), ("stopped", {"status": "cancelled"})):
        (folder / f"{name}.json").write_text(json.dumps(text | changed))
    (folder / "cut.eval").write_bytes(files[0].read_bytes()[:-2000])
    zipped, match = str(folder / "zip"), ["--score", "match"]
    claim = ["--claim", f"accuracy({STRONG}) > accuracy({WEAK})"]
    commands = {
        "zip": [zipped, "--to", WEAK, *match, "--json"],
        "json": [str(folder / "json"), "--to", WEAK, *match, "--json"],
        "claim": [zipped, "--to", WEAK, *match, *claim],
        "clusters": [zipped, "--to", WEAK, "--score", "parts/near", "--cluster", "topic", "--json"],
        "no cluster": [zipped, "--score", "match", "--cluster", "colour"],
        "no score": [zipped],
        "one log": [own[".json", WEAK][0], *match],
        "lengths": [own[".json", WEAK][0], own[".eval", STRONG][0], *match],
        **{name: [str(folder / name)] for name in ("cut.eval", "newer.json", "stopped.json")},
    }
    done = subprocess.run([with_inspect, "-c", RUN], input=json.dumps(list(commands.values())), check=True,
                          capture_output=True, text=True, timeout=300)  # fmt: skip
    found = dict(zip(commands, map(tuple, json.loads(done.stdout.splitlines()[-1])), strict=True))
    accuracies = {f"{suffix} {model}": accuracy for (suffix, model), (_, accuracy) in own.items()}
    return {**found, "accuracies": (0, json.dumps(accuracies), ""), "folder": (0, zipped, "")}


Said = dict[str, tuple[int, str, str]]


def row(said: Said, name: str) -> dict[str, Any]:
    (only,) = said[name][1].splitlines()
    found: dict[str, Any] = json.loads(only)
    return found


@pytest.mark.parametrize(("name", "suffix", "questions"), [("zip", ".eval", 40), ("json", ".json", 10)])
def test_the_difference_is_that_of_inspects_own_accuracies(said: Said, name: str, suffix: str, questions: int) -> None:
    known, found = json.loads(said["accuracies"][1]), row(said, name)
    assert found["cell"] == STRONG
    assert found["difference"] == pytest.approx(known[f"{suffix} {STRONG}"] - known[f"{suffix} {WEAK}"], abs=1e-12)
    assert found["n_questions"] == questions


def test_a_claim_is_marked_as_nothing_was_declared_before(said: Said) -> None:
    text = " ".join(said["claim"][1].split())
    assert "sums: 40 questions are in all 2 logs." in text
    assert "(exploratory) SUPPORTED" in text


def test_clusters_are_facts_of_samples(said: Said) -> None:
    """Two topics, so that there are two independent units."""
    assert said["clusters"][0] == 0
    assert row(said, "clusters")["p"] > row(said, "zip")["p"]
    assert said["no cluster"][0] == 2
    assert "samples have: topic" in said["no cluster"][2]


def test_logs_of_different_length_are_compared_where_both_have_questions(said: Said) -> None:
    text = " ".join(said["lengths"][1].split())
    assert "10 questions are in all 2 logs" in text
    assert "30 questions (q10, q11, q12, q13, q14 and 25 more)" in text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("no score", "several scores choose one: --score match | parts/near | parts/short"),
        ("one log", "mockllm/weak is the only cell give another log or table to compare it with"),
        ("cut.eval", "cut.eval: it is an archive without its end; is the file cut?"),
        ("newer.json", "Inspect cannot read it: Unable to read version 999 of log format."),
        ("stopped.json", "did not finish (cancelled) finish it: inspect eval-retry "),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(said: Said, name: str, expected: str) -> None:
    code, out, error = said[name]
    assert (code, out) == (2, "")
    assert expected in " ".join(error.split())


def test_without_inspect_the_command_that_installs_it_is_named(said: Said, capsys: pytest.CaptureFixture[str]) -> None:
    """The pinned environment, in which this test runs, does not have it."""
    assert main(["compare", said["folder"][1]]) == 2
    assert "pip install 'cortexdsl[logs]'" in capsys.readouterr().err

"""A finished experiment as an RO-Crate: what is in it, and what `verify` finds when somebody changed it."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.export.crate import METADATA
from tests.workflow.bench import Bench

pytestmark = pytest.mark.workflow
Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], original: Bench) -> Said:
    """Run a command in the folder of the finished experiment, or in another one."""

    def run(*arguments: str, folder: Path = original.folder) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        code = main([str(argument) for argument in arguments])
        out, error = capsys.readouterr()
        return code, " ".join(out.split()), " ".join(error.split())

    return run


@pytest.fixture
def crate(said: Said, tmp_path: Path) -> Path:
    assert said("export", "small", "--to", "ro-crate", "--out", str(tmp_path / "crate"))[0] == 0
    return tmp_path / "crate"


def graph(crate: Path) -> dict[str, dict[str, Any]]:
    return {one["@id"]: one for one in json.loads((crate / METADATA).read_text())["@graph"]}


def test_a_crate_has_the_spec_its_prompts_the_results_and_the_workflow(crate: Path, original: Bench) -> None:
    entities = graph(crate)
    named = {name for name, one in entities.items() if "File" in one["@type"]}
    assert {"specs/small.yaml", "prompts/own/answer.j2", "workflow/Snakefile", "results/small/report.html",
            "results/small/scores.csv", "results/small/ledger.jsonl", "results/small/plan.json"} <= named  # fmt: skip
    assert any(name.startswith("results/small/debates/") for name in named)
    assert any(name.startswith("results/small/calls/") for name in named)
    assert not any("/logs/" in name or "/." in name for name in named)
    run = entities["#run"]
    assert run["instrument"] == {"@id": "workflow/Snakefile"} == entities["./"]["mainEntity"]
    assert {"@id": "specs/small.yaml"} in run["object"]
    assert {"@id": "results/small/hypotheses.csv"} in run["result"]
    assert all(entities[one["@id"]] for one in (*run["object"], *run["result"]))
    assert entities["#spent-calls"]["value"] > 0
    assert entities["#dataset-arithmetic"]["value"]
    for name in ("specs/small.yaml", "results/small/scores.csv"):
        assert entities[name]["sha256"] == sha256((crate / name).read_bytes()).hexdigest()
        assert (crate / name).read_bytes() == (original.folder / name).read_bytes()


def test_the_same_results_give_the_same_archive(said: Said, tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        assert said("export", "small", "--to", "ro-crate", "--out", str(tmp_path / name))[0] == 0
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.parametrize("name", ["crate", "crate.zip"])
def test_verify_says_in_one_sentence_that_a_crate_is_whole(said: Said, tmp_path: Path, name: str) -> None:
    """Somewhere else, where neither the spec nor the results are."""
    assert said("export", "small", "--to", "ro-crate", "--out", str(tmp_path / name))[0] == 0
    code, out, error = said("verify", name, folder=tmp_path)
    assert (code, error) == (0, "")
    assert out.startswith(f"{name}: ")
    assert out.endswith("files, each as the crate says, and results/small as its experiment wrote it.")
    code, out, _ = said("verify", name, "--json", folder=tmp_path)
    assert (code, json.loads(out)["is_whole"]) == (0, True)


def test_verify_finds_what_was_changed_added_and_removed(said: Said, crate: Path) -> None:
    (crate / "specs" / "small.yaml").write_text("changed: true\n")
    (crate / "results" / "small" / "report.html").unlink()
    (crate / "notes.txt").write_text("mine")
    code, out, _ = said("verify", str(crate))
    assert code == 1
    assert "specs/small.yaml changed: its sha256 is not that of the crate" in out
    assert "results/small/report.html missing" in out
    assert "notes.txt the crate does not name it" in out
    assert "not in order" in out


def test_a_table_that_was_edited_together_with_the_crate_is_found_by_the_ledger(said: Said, crate: Path) -> None:
    """The digests of the crate alone could be replaced, so the results are checked by their own."""
    table = crate / "results" / "small" / "scores.csv"
    table.write_text(table.read_text().replace("arithmetic", "arithmetik"))
    text = (crate / METADATA).read_text()
    old = graph(crate)["results/small/scores.csv"]["sha256"]
    (crate / METADATA).write_text(text.replace(old, sha256(table.read_bytes()).hexdigest()))
    code, out, _ = said("verify", str(crate))
    assert code == 1
    assert "results/small/scores.csv" in out
    assert "its sha256 is not that of the crate" not in out


def test_an_unpacked_archive_is_in_order_and_is_replayed_without_a_model(said: Said, tmp_path: Path) -> None:
    """The spec, its prompts and the call logs lie where `replay` looks for them."""
    said("export", "small", "--to", "ro-crate", "--out", str(tmp_path / "crate.zip"))
    with zipfile.ZipFile(tmp_path / "crate.zip") as archive:
        archive.extractall(tmp_path / "unpacked")
    unpacked = Bench(tmp_path / "unpacked")
    assert said("verify", "small", folder=unpacked.folder)[0] == 0
    run = unpacked.cortexdsl("replay", "small", timeout=240)
    assert run.status == 0, run.text
    assert "replayed from their call logs byte for byte; no model was called" in run.text


@pytest.mark.parametrize("kind", ["changed", "key", "spec", "used"])
def test_what_is_not_exported(said: Said, bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Results that are not in order, a file with a key of the environment, an edited spec, and a folder in use."""
    expected = {
        "changed": "not in order see which: cortexdsl verify",
        "key": "this line holds a key of your environment",
        "spec": "its spec has changed since the run (cell changed: near; prompt changed: own/answer.j2)",
        "used": "a crate is written to an empty folder",
    }
    if kind == "changed":
        (bench.results("small") / "metrics.csv").write_text("edited\n")
    elif kind == "key":
        monkeypatch.setenv("MY_API_KEY", "builtin/solver")
    elif kind == "spec":
        with (bench.folder / "prompts" / "own" / "answer.j2").open("a") as prompt:
            prompt.write("Be brief.\n")
    else:
        (bench.folder / "crate").mkdir()
        shutil.copy(bench.folder / "specs" / "small.yaml", bench.folder / "crate")
    code, _, error = said("export", "small", "--to", "ro-crate", "--out", "crate", folder=bench.folder)
    assert code == 2
    assert expected[kind] in error
    assert not (bench.folder / "crate" / METADATA).exists()

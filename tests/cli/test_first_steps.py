"""What a new user meets first: a name for the experiment, and servers whose addresses are not set yet."""

from __future__ import annotations

from pathlib import Path

import pytest
from snakemake.cli import parse_args

from cortexdsl.cli.main import main

SPEC = """\
title: Over HTTP
dataset: {name: arithmetic, size: 3}
models:
  one: {model: openai/one, api_base: env:ONE_URL, api_key_env: ONE_KEY}
agents: [{name: first, model: one}, {name: second, model: one}]
methods:
  vote: {protocol: voting}
"""


def test_check_names_the_variables_that_a_run_still_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither is set, then one, then both."""
    spec = tmp_path / "x.yaml"
    spec.write_text(SPEC)
    monkeypatch.delenv("ONE_URL", raising=False)
    monkeypatch.delenv("ONE_KEY", raising=False)
    assert main(["check", str(spec)]) == 0
    assert capsys.readouterr().out.endswith("it can run once the environment has ONE_KEY, ONE_URL\n")
    monkeypatch.setenv("ONE_URL", "http://127.0.0.1:9/v1")
    assert main(["check", str(spec)]) == 0
    assert capsys.readouterr().out.endswith("it can run once the environment has ONE_KEY\n")
    monkeypatch.setenv("ONE_KEY", "none")
    assert main(["check", str(spec)]) == 0
    assert capsys.readouterr().out.endswith("it can run\n")


def test_new_writes_no_spec_that_could_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A space cannot stand in the name of a results folder."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "a b"]) == 2
    assert "cannot name an experiment" in capsys.readouterr().err
    assert not (tmp_path / "specs").exists()


def test_in_a_checkout_new_advises_what_a_checkout_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the Snakefile that is run, plain Snakemake does it, and the schema is the one in docs/."""
    (tmp_path / "Snakefile").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cortexdsl.cli.new.workflow_folder", lambda: tmp_path)
    assert main(["new", "groups/mine"]) == 0
    assert capsys.readouterr().out.endswith("then snakemake --cores 2 --config spec=groups/mine\n")
    assert "$schema=../../docs/schema/spec.json\n" in (tmp_path / "specs/groups/mine.yaml").read_text()
    assert not (tmp_path / "specs/spec.schema.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nothing"], "there is no spec 'nothing'"),
        (["run", "x.yaml", "--cores", "few"], "--cores few: is no number of jobs"),
        (["run", "x.yaml", "--profile", "slurn"], "--profile slurn: there is no folder slurn with a config.yaml"),
        (["status", "nothing"], "results/nothing: nothing has begun there"),
    ],
)
def test_what_cannot_be_run_or_watched_is_one_clear_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    """Before Snakemake is started."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(SPEC)
    assert main(arguments) in (1, 2)
    error = capsys.readouterr().err
    assert error.startswith(f"error: {said}")
    assert "\n    " in error


@pytest.mark.parametrize(
    ("given", "config"),
    [
        ([], ['spec="x.yaml"']),
        (["--errors-again"], ['spec="x.yaml"', "errors_again=true"]),
        (["--", "-n", "results/x/scores.csv"], ['spec="x.yaml"']),
        (["--errors-again", "--", "--config", "worker=false"], ['spec="x.yaml"', "errors_again=true", "worker=false"]),
        (["--", "-C", "worker=false", "-n"], ['spec="x.yaml"', "worker=false"]),
        (["--", "--config=worker=false"], ['spec="x.yaml"', "worker=false"]),
    ],
)
def test_run_hands_its_settings_to_the_workflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], config: list[str]
) -> None:
    """As Snakemake's own parser reads the command: a second `--config` would replace the first, and run every spec."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(SPEC)
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda program, command: started.append(command))
    monkeypatch.setattr("cortexdsl.cli.run.remember", lambda arguments: None)
    main(["run", "x.yaml", *given])
    (command,) = started
    assert command[1:3] == ["-m", "snakemake"]
    _, read = parse_args(command[3:])
    assert read.config == config
    assert set(read.targets or ()) == {word for word in given if word.endswith(".csv")}

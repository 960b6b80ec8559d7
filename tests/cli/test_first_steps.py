"""What a new user meets first: a name for the experiment, and servers whose addresses are not set yet."""

from __future__ import annotations

from pathlib import Path

import pytest

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

"""`cortexdsl status` says whether an experiment is finished, and whether a run is at work, by its files alone."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.plan.persistence.run_record import is_locked
from cortexdsl.worker.run import lock_experiment
from tests.display.made import said, write

PLAN = {
    "schema_version": 1,
    "experiment": "e",
    "cells": [{"cell": "a", "slug": "a"}, {"cell": "b", "slug": "b"}],
    "shards": {"d": [{"label": "r1-s01", "replicate": 1, "first": 0, "end": 10, "number": 1}]},
}
DONE = {"done": 10, "total": 10}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the results of `e`, with its spec, in which nothing has begun."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "e.yaml").write_text("")
    return tmp_path / "results" / "e"


def begun(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(PLAN))
    return folder


def test_a_run_that_ended_between_two_jobs_is_not_finished(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As SIGTERM leaves it: cell a is done, no job of cell b has begun, and none has failed."""
    write(begun(folder) / "spent", said(state="done", debates=DONE))
    assert main(["status", "e"]) == 1
    assert "not finished, and no run is in progress\n    continue: cortexdsl run e" in capsys.readouterr().out
    write(folder / "spent", said("b", state="done", debates=DONE))
    assert main(["status", "e"]) == 1
    assert "there is no report, and no run is in progress\n    continue: cortexdsl run e" in capsys.readouterr().out
    (folder / "report.html").write_text("")
    assert main(["status", "e"]) == 0
    assert "at work" not in capsys.readouterr().out


def test_a_run_that_plans_is_at_work(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It holds its lock before any job has begun; without it nothing has begun, and status says how to begin."""
    lock = lock_experiment(folder)
    assert lock is not None
    assert is_locked(folder)
    assert main(["status", "e"]) == 0
    assert "results/e: a run is at work, no job has started yet" in capsys.readouterr().out
    os.close(lock)
    assert not is_locked(folder)
    assert main(["status", "e"]) == 1
    assert "no run has started there" in capsys.readouterr().err


def test_a_silent_job_is_not_called_dead_while_a_run_is_at_work(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lock would refuse a second run: no command to start one is shown."""
    write(begun(folder) / "spent", said(updated=time.time() - 3600))
    lock = lock_experiment(folder)
    assert lock is not None
    assert main(["status", "e"]) == 0
    out = capsys.readouterr().out
    assert "probably of an earlier run" in out
    assert "go on" not in out
    os.close(lock)
    assert main(["status", "e"]) == 1
    assert "probably killed" in capsys.readouterr().out

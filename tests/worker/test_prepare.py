"""What a worker does before it forks a job."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
from jinja2 import Environment

from cortexdsl.cli import worker
from cortexdsl.plan.compiled import read_compiled, write_compiled
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.digests import templates_of
from cortexdsl.plan.layout import Layout

SPEC = """\
seed: 1
dataset: {name: arithmetic, size: 2}
models: {m: {model: builtin/solver, parameters: 1.0e9, tokens: 1.0e12}}
agents: [{name: a, model: m}, {name: b, model: m}]
methods: {one: {protocol: cortexdebate}}
"""
JOB = ["debate", "kept", "--dataset", "arithmetic", "--cell", "one", "--shard", "r1-s01", "--out", "x"]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "kept.yaml").write_text(SPEC, encoding="utf-8")
    plan = compile_spec("kept")
    Path(plan.layout.root).mkdir(parents=True)
    write_compiled(plan)
    return plan.layout


def test_templates_are_compiled_before_the_fork(kept: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is forked afterwards parses and compiles none of those that its cell renders."""
    worker.prepare(JOB)
    plan = read_compiled(kept)
    compiled: list[object] = []
    for name in ("compile", "_parse"):
        monkeypatch.setattr(Environment, name, lambda *given, **options: compiled.append(given))
    plan.templates.prepare(templates_of(plan.cell("one").debate))
    assert not compiled


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("arguments", [[], ["nothing"], ["debate"], ["debate", "--help"], ["debate", "absent.yaml"]])
def test_an_invalid_job_is_left_to_itself(arguments: Sequence[str], capfd: pytest.CaptureFixture[str]) -> None:
    """Its fork says what is wrong; the worker goes on and says nothing."""
    worker.prepare(arguments)
    assert capfd.readouterr() == ("", "")


def test_the_version_of_the_code_is_that_at_the_start_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forks run the code that the worker has imported, whatever is written to its files until then."""
    steps: list[str] = []

    class Server:
        def __init__(self, listener: socket.socket, *given: object) -> None:
            listener.close()
            steps.append("serve")

        def serve(self, warming: object) -> None:
            return None

    monkeypatch.setattr(worker, "note_program", lambda: steps.append("note"))
    monkeypatch.setattr(worker, "collect_garbage_rarely", lambda: None)
    monkeypatch.setattr(worker.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(worker, "ForkServer", Server)
    listener, lifeline = socket.socketpair()
    with lifeline:
        monkeypatch.setattr("sys.argv", ["worker", str(listener.detach()), str(lifeline.fileno())])
        assert worker.main() == 0
    assert steps == ["note", "serve"]

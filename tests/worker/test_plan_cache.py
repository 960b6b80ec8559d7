"""Compiled specs that a worker keeps: the same for every job, until a file of the spec has changed."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
from jinja2 import Environment

from cortexdsl.cli import worker
from cortexdsl.plan import compile_spec
from cortexdsl.plan.cells import templates_of
from cortexdsl.worker.job_server import PlanCache

SPEC = """\
seed: 1
dataset: {name: arithmetic, size: 2}
models: {m: {model: builtin/solver, parameters: 1.0e9, tokens: 1.0e12}}
agents: [{name: a, model: m}, {name: b, model: m}]
methods: {one: {protocol: cortexdebate}}
"""
VIEW = {"agent": {"name": "a", "number": 1, "persona": ""}, "part": "part.j2", "answer_format": "it"}


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlanCache:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    (tmp_path / "prompts").mkdir()
    (tmp_path / "specs" / "kept.yaml").write_text(SPEC, encoding="utf-8")
    for name, text in {"whole": "{% include part %}", "part": "before"}.items():
        (tmp_path / "prompts" / f"{name}.j2").write_text(text, encoding="utf-8")
    return PlanCache(compile_spec)


def said(plans: PlanCache, prompt: str) -> str:
    return plans("kept", None).templates.render(prompt, VIEW)[-1]["content"]


def test_a_spec_is_compiled_once_while_nothing_changes(plans: PlanCache) -> None:
    """Two jobs of one spec get the very same plan, its templates included."""
    assert plans("kept", None) is plans("kept", None)


def test_a_prompt_that_is_edited_between_two_jobs_is_seen(plans: PlanCache, tmp_path: Path) -> None:
    """An edit in place changes no folder, and what a template includes by a variable is not known to its digest."""
    assert said(plans, "whole.j2") == "before"
    (tmp_path / "prompts" / "part.j2").write_text("afterwards", encoding="utf-8")
    assert said(plans, "whole.j2") == "afterwards"


def test_a_prompt_that_comes_to_stand_before_a_shipped_one_is_seen(plans: PlanCache, tmp_path: Path) -> None:
    """A file of one's own with a shipped name replaces it, also when it is made while a run goes on."""
    before = plans("kept", None).cells[0].digest
    (tmp_path / "prompts" / "common").mkdir()
    (tmp_path / "prompts" / "common" / "answer.j2").write_text("mine {{ answer_format }}", encoding="utf-8")
    assert plans("kept", None).cells[0].digest != before
    assert said(plans, "common/answer.j2") == "mine it"


@pytest.mark.parametrize(
    "arguments",
    [
        ["debate", "kept", "--dataset", "arithmetic", "--cell", "one", "--shard", "r1-s01", "--out", "x"],
        ["plan", "kept"],
    ],
    ids=["debate", "plan"],
)
def test_templates_are_compiled_before_the_fork(
    arguments: Sequence[str], plans: PlanCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that is forked afterwards parses and compiles none of those that its cell renders."""
    worker.prepare(plans, arguments)
    plan = plans("kept", None)
    compiled: list[object] = []
    for name in ("compile", "_parse"):
        monkeypatch.setattr(Environment, name, lambda *given, **options: compiled.append(given))
    plan.templates.prepare(templates_of(plan.cell("one").debate))
    assert not compiled


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["debate"], ["debate", "--help"], ["plan", "absent.yaml"]])
def test_an_invalid_job_is_left_to_itself(
    arguments: Sequence[str], plans: PlanCache, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its fork says what is wrong; the worker goes on and says nothing."""
    worker.prepare(plans, arguments)
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

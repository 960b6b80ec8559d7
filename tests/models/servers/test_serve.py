"""Servers that specs declare: started once, asked whether they keep seeds, refused where they cannot do."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.errors import InputError, ModelError
from cortexdsl.jobs.serve import Running, refuse_paid, start_servers, stop_servers, unset_variables
from cortexdsl.models.servers.addresses import read_addresses
from cortexdsl.models.servers.pages import is_ready
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan

STUB = Path(__file__).resolve().parents[2] / "workflow" / "stub.py"
SPEC = """\
title: x
dataset: {name: arithmetic, size: 2}
models: {one: {model: openai/small, api_base: env:A_SERVER, temperature: 0.3}}
agents: [{name: a, model: one}, {name: b, model: one}]
methods: {v: {protocol: voting}}
"""


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Running]]:
    """What a test has started is stopped; its folder is the one of results."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("A_SERVER", raising=False)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    running: list[Running] = []
    yield running
    stop_servers(running)


def plan(name: str = "x", flags: str = "", **entry: Any) -> Plan:
    """A plan with a server, by default the stub."""
    command = shlex.join([sys.executable, str(STUB), "--port", "{port}"]) + f" {flags}"
    server = {"command": command, "env": "A_SERVER", **entry}
    said = {key: value for key, value in server.items() if value is not None}
    Path(f"{name}.yaml").write_text(f"{SPEC}servers: {{own: {json.dumps(said)}}}\n")
    return compile_spec(f"{name}.yaml", experiment=name)


def test_two_experiments_that_declare_one_server_share_it(started: list[Running]) -> None:
    """One process for both; each model of both is asked."""
    started += start_servers([plan("x"), plan("y")])
    assert len(started) == 1
    address = started[0].address
    assert is_ready(f"{address}/models")
    files = [Path("results", name, ".addresses.json") for name in "xy"]
    assert [read_addresses(file) for file in files] == [{"A_SERVER": address}] * 2
    stop_servers(started)
    assert [read_addresses(file) for file in files] == [{}, {}]
    assert not is_ready(f"{address}/models")


def test_two_servers_for_one_variable_are_refused(started: list[Running]) -> None:
    """The jobs of one experiment would ask the server of the other."""
    with pytest.raises(InputError, match=r"servers.own and servers.own of x.yaml are both called A_SERVER"):
        start_servers([plan("x"), plan("y", "--latency 0.1")])


def test_a_server_that_lacks_a_model_ends_the_run_before_the_first_job(started: list[Running]) -> None:
    """One message, with what it has in place of it; and it is stopped."""
    with pytest.raises(
        ModelError, match=r"server own: model one \(direct/small\): not found(.|\n)*the server has: tall"
    ):
        start_servers([plan(flags="--model tall")])
    assert not Path("results/x/.addresses.json").exists()


def test_a_server_that_runs_elsewhere_is_waited_for_and_left_alone(
    started: list[Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its address is the user's; without one the run does not begin."""
    started += start_servers([plan("x")])
    elsewhere = plan("y", command=None)
    assert unset_variables(elsewhere) == ["A_SERVER"]
    monkeypatch.setenv("A_SERVER", started[0].address)
    assert unset_variables(elsewhere) == []
    second = start_servers([elsewhere])
    stop_servers(second)
    assert is_ready(f"{started[0].address}/models")
    monkeypatch.delenv("A_SERVER")
    assert unset_variables(elsewhere) == ["A_SERVER"]
    assert unset_variables(plan("x")) == []


def test_a_server_elsewhere_that_is_not_there_is_told(started: list[Running], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens at port 9 of loopback."""
    monkeypatch.setattr("cortexdsl.jobs.serve.ELSEWHERE_WITHIN", 0.1)
    os.environ["A_SERVER"] = "http://127.0.0.1:9/v1"
    with pytest.raises(ModelError, match=r"nothing answers at http://127.0.0.1:9/v1/models after 0 s"):
        start_servers([plan(command=None)])


HARMFUL = ("BASH_ENV", "PYTHONPATH", "LD_PRELOAD", "OPENAI_BASE_URL", "HTTPS_PROXY", "PATH", "CORTEXDSL_WORKER")


@pytest.mark.parametrize("name", HARMFUL)
def test_the_name_of_a_server_becomes_no_variable(
    started: list[Running], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A shell runs what BASH_ENV names, and a client sends its key to OPENAI_BASE_URL: a spec may set neither."""
    before = dict(os.environ)
    started += start_servers([plan("x", env=name)])
    assert dict(os.environ) == before
    assert read_addresses(Path("results/x/.addresses.json")) == {name: started[0].address}


PAID = SPEC + "limits: {calls: 10}\n"


@pytest.mark.parametrize(
    ("model", "is_paid"),
    [
        ("{model: builtin/solver}", False),
        ("{model: openai/small, api_base: env:A_SERVER}", False),
        ("{model: openai/small, api_base: env:A_SERVER, price: {input: 0, output: 0}}", False),
        ("{model: openai/small, api_base: env:A_SERVER, price: {input: 1, output: 2}}", True),
        ("{model: openai/gpt-4o-mini}", True),
    ],
)
def test_specs_that_nobody_named_run_if_no_model_may_cost_money(
    model: str, is_paid: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hosted model, or one with a price; the message names the spec, the model and the command for this spec."""
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    for name, entry in (("free", "{model: builtin/solver}"), ("other", model)):
        text = PAID.replace("{model: openai/small, api_base: env:A_SERVER, temperature: 0.3}", entry)
        Path("specs", f"{name}.yaml").write_text(text)
    plans = [compile_spec("free"), compile_spec("other")]
    if not is_paid:
        refuse_paid(plans)
        return
    with pytest.raises(InputError) as refused:
        refuse_paid(plans)
    assert "    other: one\n" in str(refused.value)
    assert "free" not in str(refused.value)
    assert "cortexdsl run other" in str(refused.value)

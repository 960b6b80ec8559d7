"""A trained adapter and a server of one's own: loaded by the run, or its command is said before a call is sent."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp import web

from cortexdsl.cli.main import main
from cortexdsl.errors import ModelError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.training import serve_adapters

SPEC = """\
title: Trained
seed: 3
dataset: {name: arithmetic, size: 4}
models:
  base:  {model: openai/Llama, api_base: env:BASE}
  actor: {model: trained/acc/actor}
agents:
  - {name: actor, model: base}
  - {name: critic, model: base}
  - {name: actor+, model: actor}
methods:
  untrained: {protocol: acc, rounds: 1, agents: [actor, critic]}
  trained: {extends: untrained, agents: [actor+, critic]}
train:
  acc: {method: untrained, roles: [actor], questions: {size: 6}, validation: 2, weights: ../base, optimiser: {rank: 4}}
limits: {calls: 1000}
"""


class Engine:
    """A server like vLLM's, which loads adapters at run time if it was started so."""

    def __init__(self, *, may_load: bool, lists: bool = True) -> None:
        self.may_load, self.lists = may_load, lists
        self.models = ["Llama"]
        self.paths: dict[str, str] = {}
        self.loads = self.calls = 0

    async def listed(self, _: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": name} for name in self.models]} if self.lists else {}, status=200)

    async def load(self, request: web.Request) -> web.Response:
        self.loads += 1
        if not self.may_load:
            return web.json_response({"detail": "Not Found"}, status=404)
        body = await request.json()
        if body["lora_name"] in self.models:
            return web.json_response({"message": "it has already been loaded"}, status=400)
        self.models.append(body["lora_name"])
        self.paths[body["lora_name"]] = body["lora_path"]
        return web.Response(text="Success")

    async def chat(self, _: web.Request) -> web.Response:
        self.calls += 1
        return web.json_response({}, status=404)


def planned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Plan, str]:
    (folder / "specs").mkdir()
    (folder / "base").mkdir()
    (folder / "specs" / "x.yaml").write_text(SPEC)
    monkeypatch.chdir(folder)
    plan = compile_spec("x")
    trained = plan.training("acc").phases[0].trained
    assert trained is not None
    return plan, trained.model.removeprefix("openai/")


def served(engine: Engine, plan: Plan, monkeypatch: pytest.MonkeyPatch, times: int = 1) -> None:
    """Let jobs that debate with the trained model look whether its server has it, all at once."""

    async def scene() -> None:
        app = web.Application()
        app.add_routes([web.get("/v1/models", engine.listed), web.post("/v1/load_lora_adapter", engine.load)])
        app.add_routes([web.post("/v1/chat/completions", engine.chat)])
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        monkeypatch.setenv("BASE", f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        models = plan.cell("trained").debate.models
        try:
            await asyncio.gather(*(serve_adapters(plan, models) for _ in range(times)))
        finally:
            await runner.cleanup()

    asyncio.run(scene())


def test_a_server_that_allows_it_is_given_the_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name that calls have, from the folder of the phase; jobs that ask at once do not trip over each other."""
    plan, name = planned(tmp_path, monkeypatch)
    engine = Engine(may_load=True)
    served(engine, plan, monkeypatch, times=3)
    assert engine.models == ["Llama", name]
    assert engine.paths == {name: str(tmp_path / "results/x/train/acc/1-actor/adapter")}
    before = engine.loads
    served(engine, plan, monkeypatch)
    assert engine.loads == before


def test_a_server_that_does_not_is_told_before_a_call_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, name = planned(tmp_path, monkeypatch)
    engine = Engine(may_load=False)
    with pytest.raises(ModelError) as caught:
        served(engine, plan, monkeypatch)
    said = str(caught.value)
    adapter = tmp_path / "results/x/train/acc/1-actor/adapter"
    command = f"vllm serve {tmp_path / 'base'} --enable-lora --max-lora-rank 8 --lora-modules {name}={adapter}"
    assert command in said
    assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True" in said
    assert "HTTP 404" in said
    assert engine.calls == 0


def test_a_server_that_lists_nothing_is_left_to_the_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = planned(tmp_path, monkeypatch)
    engine = Engine(may_load=False, lists=False)
    served(engine, plan, monkeypatch)
    assert engine.loads == 0


def test_the_job_of_a_debate_looks_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    planned(tmp_path, monkeypatch)
    seen: list[str] = []

    async def refuse(plan: Plan, models: object) -> None:
        seen.append(plan.experiment)
        raise ModelError("the server does not have it")

    monkeypatch.setattr("cortexdsl.jobs.debate.serve_adapters", refuse)
    job = ["debate", "x", "--dataset", "arithmetic", "--cell", "trained", "--shard", "r1-s01", "--out", "out.jsonl"]
    assert main(job) == 1
    assert seen == ["x"]
    assert "the server does not have it" in capsys.readouterr().err
    assert not [line for log in Path().rglob("calls/**/*.jsonl") for line in json.loads(log.read_text() or "[]")]

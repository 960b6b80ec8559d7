"""Asking models a few small questions before a run: what is found is what the server does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cortexdsl.cli.main import main
from cortexdsl.core import Model, Price
from cortexdsl.models.probe import FEW_TOKENS, Probe, probe
from tests.models.stub import Stub


class Served(Stub):
    """A stub that lists its models, and may ignore seeds."""

    def __init__(self, *, holds_to_seeds: bool = True, **stub: Any) -> None:
        super().__init__(**stub)
        self.holds_to_seeds = holds_to_seeds

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "small"}, {"id": "other"}]})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.reply = None if self.holds_to_seeds else f"said {self.calls}"
        return await super().chat(request)


def asked(stub: Served, model: str = "direct/small", **entry: Any) -> Probe:
    """Probe one model of a stub."""

    async def ask() -> Probe:
        app = web.Application()
        app.add_routes([web.get("/v1/models", stub.models), web.post("/v1/chat/completions", stub.chat)])
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            base = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
            (found,) = await probe([Model("one", model, **{"api_base": base, **entry})])
        finally:
            await runner.cleanup()
        return found

    return asyncio.run(ask())


WAYS = ("direct/small", "openai/small", "hosted_vllm/small")
"""Straight, and through two of litellm's clients."""


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_is_there(way: str) -> None:
    """Four requests of few tokens are sent, one of them as the entry says."""
    stub = Served()
    found = asked(stub, way, options={"max_tokens": 4000, "temperature": 0.2}, price=Price(1e-6, 2e-6))
    assert (found.problem, found.seed, found.is_priced) == ("", "honoured", True)
    assert [body["max_tokens"] for body in stub.bodies] == [FEW_TOKENS] * 4
    assert [body["temperature"] for body in stub.bodies] == [0.2, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_does_not_hold_to_seeds(way: str) -> None:
    """Each reply is another one, though two requests are the same."""
    assert asked(Served(holds_to_seeds=False), way).seed == "ignored"


def test_a_server_that_refuses_seeds() -> None:
    """It is asked again without one."""
    assert asked(Served(orders=["seed"])).seed == "refused"


def test_whether_a_model_gives_its_tokens_is_known_where_its_entry_asks() -> None:
    """One that gives them, one that says nothing of them, one that refuses, one that is not asked."""
    wants = {"options": {"logprobs": True}}
    assert asked(Served(), **wants).logprobs == "given"
    assert asked(Served(orders=["silent tokens"]), **wants).logprobs == "none"
    assert "logprobs are not supported" in asked(Served(orders=["no tokens"]), **wants).problem
    assert asked(Served()).logprobs == ""


def test_a_wrong_key_is_told_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server repeats the key in its complaint."""
    monkeypatch.setenv("A_KEY", "sk-wrong-0123456789abcdef")
    found = asked(Served(key="right"), api_key_env="A_KEY")
    assert found.problem.startswith("authentication failed")
    assert "api_key_env" in found.remedy
    assert "0123456789" not in repr(found)


def test_a_variable_that_is_not_set_is_told_without_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is asked without the key."""
    monkeypatch.delenv("A_KEY", raising=False)
    stub = Served()
    assert "A_KEY, which is not set" in asked(stub, api_key_env="A_KEY").problem
    assert stub.calls == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_dead_address_is_told_with_its_class(way: str) -> None:
    """Nobody listens at port 9 of loopback."""
    (found,) = asyncio.run(probe([Model("one", way, api_base="http://127.0.0.1:9/v1")]))
    assert found.problem.startswith("the server failed or could not be reached")


def test_check_online_prints_what_it_found_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dead server is an error, status 1, in a table and as JSON; results/ is not touched."""
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(
        "title: x\ndataset: {name: arithmetic, size: 2}\n"
        "models: {one: {model: direct/small, api_base: 'http://127.0.0.1:9/v1'}}\n"
        "agents: [{name: a, model: one}, {name: b, model: one}]\nmethods: {v: {protocol: voting}}\n"
    )
    assert main(["check", "x.yaml", "--online"]) == 1
    said = capsys.readouterr()
    assert "one    direct/small  no" in said.out
    assert "error: x.yaml: model one (direct/small): the server failed or could not be reached" in said.err
    assert main(["check", "x.yaml", "--online", "--json"]) == 1
    dataset, row = map(json.loads, capsys.readouterr().out.splitlines())
    assert dataset["level"] == "dataset"
    assert (row["level"], row["entry"], row["seed"]) == ("error", "one", "unclear")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.yaml"]


@pytest.mark.parametrize("way", WAYS)
def test_a_model_without_a_system_role_answers(way: str) -> None:
    """The first request is refused as the chat template of Gemma does; the persona then begins the user's message."""

    class Gemma(Served):
        async def chat(self, request: web.Request) -> web.StreamResponse:
            body = await request.json()
            if body["messages"][0]["role"] == "system":
                self.refusals = getattr(self, "refusals", 0) + 1
                return web.json_response({"error": {"message": "System role not supported"}}, status=400)
            return await super().chat(request)

    stub = Gemma()
    found = asked(stub, way)
    assert (found.problem, found.has_system_role, found.seed) == ("", False, "honoured")
    assert stub.refusals == 1
    assert asked(Served(), way).has_system_role

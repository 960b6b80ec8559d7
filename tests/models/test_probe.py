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
from cortexdsl.errors import ModelError
from cortexdsl.jobs.serve import refuse_unseeded
from cortexdsl.models.probe import FEW_TOKENS, Probe, probe
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.forecast.warnings import prompts_too_long
from cortexdsl.records.seed_probes import read_seed_probes
from cortexdsl.report.tables.spending import seed_sentences
from tests.models.stub import Stub


class Served(Stub):
    """A stub that lists its models, and may ignore seeds."""

    def __init__(self, *, holds_to_seeds: bool = True, loses_under_load: bool = False, **stub: Any) -> None:
        super().__init__(**stub)
        self.holds_to_seeds, self.loses_under_load, self.busy = holds_to_seeds, loses_under_load, 0

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "small", "max_model_len": 512}, {"id": "other"}]})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.reply = None if self.holds_to_seeds else f"said {self.calls}"
        self.busy += 1
        try:
            await asyncio.sleep(0)
            if self.loses_under_load and self.busy > 1:
                self.reply = f"said {self.calls}"
            return await super().chat(request)
        finally:
            self.busy -= 1


def asked(stub: Served, model: str = "direct/small", *, connections: int = 1, **entry: Any) -> Probe:
    """Probe one model of a stub."""

    async def ask() -> Probe:
        app = web.Application()
        app.add_routes([web.get("/v1/models", stub.models), web.post("/v1/chat/completions", stub.chat)])
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            base = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
            (found,) = await probe([Model("one", model, **{"api_base": base, **entry})], connections=connections)
        finally:
            await runner.cleanup()
        return found

    return asyncio.run(ask())


WAYS = ("direct/small", "openai/small", "hosted_vllm/small")
"""Straight, and through two of litellm's clients."""


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_is_there(way: str) -> None:
    """Its context is what the server lists; four requests of few tokens are sent, one of them as the entry says."""
    stub = Served()
    found = asked(stub, way, options={"max_tokens": 4000, "temperature": 0.2}, price=Price(1e-6, 2e-6))
    assert (found.problem, found.context, found.seed, found.is_priced) == ("", 512, "honoured", True)
    assert [body["max_tokens"] for body in stub.bodies] == [FEW_TOKENS] * 4
    assert [body["temperature"] for body in stub.bodies] == [0.2, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_does_not_hold_to_seeds(way: str) -> None:
    """Each reply is another one, though two requests are the same."""
    assert asked(Served(holds_to_seeds=False), way).seed == "ignored"


def test_seeds_are_also_probed_with_as_many_calls_at_once_as_the_experiment_sends() -> None:
    """Four calls one after another, then twelve with two seeds; a server that batches calls loses seeds only then."""
    steady, batching = Served(), Served(loses_under_load=True)
    kept, lost = asked(steady, connections=12), asked(batching, connections=12)
    assert (kept.seed, kept.at_once, steady.calls) == ("honoured", 12, 16)
    assert (lost.seed, lost.at_once) == ("lost", 12)
    assert asked(Served(loses_under_load=True)).seed == "honoured"
    assert asked(Served(), connections=10_000).at_once == 64


def test_a_refusal_under_load_shows_nothing_of_seeds() -> None:
    assert asked(Served(orders=["ok"] * 6 + ["429"]), connections=4).seed == "unclear"


def test_a_model_that_must_keep_seeds_and_does_not_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `check --online` and at the start of a run; where it keeps them, the run notes it for its report."""
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(
        "title: x\ndataset: {name: arithmetic, size: 2}\n"
        "models: {one: {model: direct/small, api_base: 'http://127.0.0.1:9/v1', deterministic: true}}\n"
        "agents: [{name: a, model: one}, {name: b, model: one}]\nmethods: {v: {protocol: voting}}\n"
    )
    plan = compile_spec("x.yaml")
    results = {"kept": "honoured", "lost": "lost"}

    async def found(models: list[Model], shared: object = None, connections: int = 1) -> list[Probe]:
        return [Probe("one", "direct/small", "", seed=results[which], at_once=connections)]  # type: ignore[arg-type]

    monkeypatch.setattr("cortexdsl.cli.check.probe", found)  # first: importing it must find the real one
    monkeypatch.setattr("cortexdsl.models.probe.probe", found)
    which = "lost"
    with pytest.raises(ModelError, match="is to be deterministic, and one seed gives one reply alone, and other"):
        refuse_unseeded([plan])
    assert main(["check", "x.yaml", "--online"]) == 1
    said = capsys.readouterr()
    assert "lost with 16 at once" in said.out
    assert "error: x.yaml: model one (direct/small) is to be deterministic" in said.err
    assert read_seed_probes(Path(plan.layout.root)) == ()
    which = "kept"
    refuse_unseeded([plan])
    assert main(["check", "x.yaml", "--online"]) == 0
    assert "honoured, also 16 at once" in capsys.readouterr().out
    (line,) = seed_sentences(read_seed_probes(Path(plan.layout.root)))
    assert line == (
        "Before the run the model one (direct/small) gave one reply to one seed, asked alone and with 16 calls at once."
    )


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
    assert found.context is None


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


def test_prompts_that_a_context_cannot_hold_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five agents that say 200 tokens each do not fit 512; one that answers alone does."""
    monkeypatch.chdir(tmp_path)
    agents = ", ".join(f"{{name: {name}, model: one}}" for name in "abcde")
    Path("x.yaml").write_text(
        "title: x\ndataset: {name: arithmetic, size: 2}\n"
        "models: {one: {model: direct/small, api_base: 'http://127.0.0.1:9/v1'}}\n"
        f"agents: [{agents}]\nmethods: {{v: {{protocol: voting}}, f: {{protocol: multi-llm, rounds: 2}}}}\n"
    )
    (warning,) = prompts_too_long(compile_spec("x.yaml"), {"one": 512})
    assert warning.startswith("f: a prompt of about")
    assert "do not fit the 512 of model one" in warning


def test_a_plan_warns_of_what_an_entry_says_without_asking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`context: 512` on the entry; the digest of a cell, and with it what is finished, does not depend on it."""
    monkeypatch.chdir(tmp_path)
    agents = ", ".join(f"{{name: {name}, model: one}}" for name in "abcde")
    text = (
        "title: x\ndataset: {name: arithmetic, size: 2}\n"
        "models: {one: {model: direct/small, api_base: 'http://127.0.0.1:9/v1'}}\n"
        f"agents: [{agents}]\nmethods: {{v: {{protocol: voting}}, f: {{protocol: multi-llm, rounds: 2}}}}\n"
    )
    Path("x.yaml").write_text(text)
    before = [cell.digest for cell in compile_spec("x.yaml").cells]
    assert main(["plan", "x.yaml"]) == 0
    assert capsys.readouterr().err == ""
    Path("x.yaml").write_text(text.replace("{model: direct/small,", "{model: direct/small, context: 512,"))
    assert [cell.digest for cell in compile_spec("x.yaml").cells] == before
    assert main(["plan", "x.yaml"]) == 0
    assert "warning: f: a prompt of about" in capsys.readouterr().err


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

"""Debates that a provider's batches answer, from spec to records: equal to those of single calls."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from cortexdsl.models.call_log.append_log import parse, whole_lines
from cortexdsl.models.spending import spent_so_far
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.rounds import rounds_of
from cortexdsl.plan.job_files import answered_logs, debate_files, round_parts
from tests.jobs.experiment import call, write_spec
from tests.jobs.test_rounds_of_files import ask, finish, records, trusted
from tests.models.batch_stub import BatchStub

SPEC = """\
seed: 5
dataset: {name: arithmetic, size: 3}
models: {small: {model: MODEL, engine: batches, temperature: 0.5, max_tokens: 50}}
engines: {batches: {command: "cortexdsl batch PROVIDER {requests} {replies}"}}
agents: [{name: a, model: small}, {name: b, model: small}, {name: c, model: small}]
limits: {calls: 1000}
methods:
  full: {protocol: multi-llm, rounds: 1}
  vote: {protocol: voting}
"""
MODELS = {"openai": "openai/gpt-4o-mini", "anthropic": "anthropic/claude-sonnet-4-5"}
CALLS = 3 * 3 * 2
KEYS = {"OPENAI_API_KEY": "sk-openai-key-of-tests", "ANTHROPIC_API_KEY": "sk-anthropic-key-of-tests"}


class Provider(ThreadingHTTPServer):
    """The stub at an address on this machine; `made` is set when it has made a batch."""

    daemon_threads = True

    def __init__(self, delay: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.made = threading.Event()
        self.stub = BatchStub(now=time.time, delay=delay, moment=self._moment)
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def _moment(self, name: str) -> None:
        if name == "after create":
            self.made.set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name: value for name, value in self.headers.items() if name.lower() != "content-length"}
        request = httpx.Request(self.command, f"{self.server.address}{self.path}", headers=headers, content=content)
        with self.server.lock:
            response = self.server.stub.answer(request)
        self.send_response(response.status_code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(response.content)))
        self.end_headers()
        self.wfile.write(response.content)

    do_GET = do_POST = _answer  # noqa: N815 (as the class above it calls them)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A provider that the variables of addresses lead to, and the command `cortexdsl`."""
    monkeypatch.chdir(tmp_path)
    server = Provider()
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.address)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    yield server
    server.shutdown()
    server.server_close()


def declared(name: str, monkeypatch: pytest.MonkeyPatch, text: str = SPEC) -> tuple[str, Plan]:
    spec = write_spec(text.replace("MODEL", MODELS[name]).replace("PROVIDER", name))
    plan = trusted(spec, monkeypatch)
    call("plan", spec, "--declare")
    return spec, plan


def logged(plan: Plan) -> list[dict[str, Any]]:
    """Return the lines of the call logs, in the order of their keys, without what depends on time and price."""
    lines = []
    for path in answered_logs(plan, "arithmetic", "r1-s01") or sorted(Path("results").rglob("calls/*/*/*.jsonl")):
        lines += [parse(line) or {} for _, line in whole_lines(Path(path))]
    for line in lines:
        for name in ("seconds", "checksum", "dollars"):
            line.pop(name, None)
    return sorted(lines, key=lambda line: str(line["key"]))


@pytest.mark.parametrize("name", MODELS)
def test_records_are_those_of_single_calls_and_each_call_is_paid_once_even_after_a_kill(
    tmp_path: Path, provider: Provider, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first round's job is killed when the provider has made the batch; the next one takes it up."""
    spec, plan = declared(name, monkeypatch)
    provider.stub._delay = 4.0
    call("advance", spec, "--round", "1")
    ((engine, part),) = round_parts(plan)
    requests, replies = plan.layout.requests(1, engine, part), plan.layout.replies(1, engine, part)
    words = ["answer", spec, "--engine", engine, "--requests", requests, "--out", replies]
    killed = subprocess.Popen([sys.executable, "-m", "cortexdsl", *words], start_new_session=True)
    assert provider.made.wait(60)
    time.sleep(0.5)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not Path(replies).exists()
    call(*words)
    provider.stub._delay = 0.0
    for number in range(2, rounds_of(plan) + 1):
        ask(spec, plan, number, ())
    finish(spec, plan, ())
    assert (provider.stub.most_paid, provider.stub.sizes()) == (1, [CALLS // 2] * 2)
    made, lines, spent = records(plan), logged(plan), spent_so_far(Path(plan.layout.spent))
    assert spent.tokens == 60 * CALLS

    (tmp_path / "alone").mkdir()
    monkeypatch.chdir(tmp_path / "alone")
    plain = SPEC.replace(", engine: batches", "").replace(SPEC.splitlines()[3] + "\n", "")
    spec, plan = declared(name, monkeypatch, plain)
    for cell in plan.cells:
        (out,) = debate_files(plan, "arithmetic", cell.slug)
        call("debate", spec, "--dataset", "arithmetic", "--cell", cell.slug, "--shard", "r1-s01", "--out", out)
    assert records(plan) == made
    assert logged(plan) == lines
    alone = spent_so_far(Path(plan.layout.spent))
    assert (alone.tokens, alone.calls) == (spent.tokens, spent.calls)


def test_a_provider_of_another_model_and_a_wrong_key_are_one_sentence(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(SPEC.replace("MODEL", MODELS["openai"]).replace("PROVIDER", "anthropic"))
    with pytest.raises(Exception, match="the engine batches asks anthropic, and openai/gpt-4o-mini is of another"):
        compile_spec(spec)
    spec, plan = declared("openai", monkeypatch)
    provider.stub.failing = {"file": [401]}
    with pytest.raises(AssertionError):
        ask(spec, plan, 1, ())
    said = capfd.readouterr().err
    assert "engine batches: it answered no request" in said
    assert "authentication failed: HTTP 401" in said
    assert json.dumps(KEYS) not in said

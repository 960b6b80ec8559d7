"""Real servers with a small model of random weights: started, asked, looked at, stopped; skipped where none is there.

`CORTEXDSL_VLLM` and `CORTEXDSL_LLAMA_SERVER` may hold a command with `{model}` and `{port}` in place of the usual one.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.models.servers.processes import is_ready, start, stop
from cortexdsl.models.tiny.folder import Folder
from cortexdsl.plan import compile_spec
from cortexdsl.serve import free_port, start_servers, stop_servers
from tests.models.tiny.made import made

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]

VLLM = (
    "vllm serve {model} --served-model-name small --host 127.0.0.1 --port {port} --dtype float32 --max-model-len 1024"
)
LLAMA = (
    "llama-server --model {model} --alias small --host 127.0.0.1 --port {port} --ctx-size 4096 --parallel 4 --metrics"
)
SPEC = """\
title: A real server
shard_size: 2
dataset: {name: arithmetic, size: 2}
models: {one: {model: openai/small, transport: direct, api_base: env:A_SERVER, max_tokens: 12}}
agents: [{name: a, model: one}, {name: b, model: one}]
methods: {full: {protocol: multi-llm, rounds: 1, until: never}}
limits: {failed: 100%}
"""


def command(variable: str, usual: str) -> str:
    """The command of an engine; the test is skipped where its program is not there."""
    found = os.environ.get(variable) or usual
    program = shlex.split(found)[0]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed, and {variable} names no other command")
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with an environment of its own and the folder of a model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    made(tmp_path / "small", window=1024, spread=3.0, width=96, hidden=192, head=32)
    return tmp_path


def debated(servers: str) -> dict[str, Any]:
    """Debate two questions with a server, and return what was written down of it."""
    Path("x.yaml").write_text(f"{SPEC}servers: {{own: {servers}}}\n")
    running = start_servers([compile_spec("x.yaml", experiment="x")])
    try:
        arguments = ["--dataset", "arithmetic", "--cell", "full", "--shard", "r1-s01", "--out", "debates.jsonl"]
        assert main(["debate", "x.yaml", "--experiment", "x", *arguments]) == 0
    finally:
        stop_servers(running)
    (path,) = Path("results/x/servers").glob("own~*.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def sent() -> list[dict[str, Any]]:
    """The lines of the call log."""
    logs = Path("results/x/calls").rglob("*.jsonl")
    return [json.loads(line) for path in logs for line in path.read_text().splitlines()]


def usage(name: str) -> int:
    """What the log says that all replies had of these tokens."""
    return sum((line["usage"] or {}).get(name) or 0 for line in sent())


def test_vllm_counts_what_the_log_has(here: Path) -> None:
    """Its counters between the first look and the last are those of the calls, prompt by prompt and token by token."""
    serve = command("CORTEXDSL_VLLM", VLLM).replace("{model}", str(here / "small"))
    did = debated(json.dumps({"command": serve, "env": "A_SERVER", "seconds": 1500}))
    assert did["engine"].startswith("vLLM ")
    assert did["models"][0]["seed"] in ("honoured", "unclear")
    assert did["counted"]["requests"] == len(sent()) == 8
    assert did["counted"]["prompt_tokens"] == usage("prompt_tokens")
    assert did["counted"]["completion_tokens"] == usage("completion_tokens")
    assert 0 <= did["counted"]["cached_tokens"] <= did["counted"]["looked_up_tokens"]


def test_llama_cpp_counts_what_the_log_has(here: Path) -> None:
    """The same weights as one file; tokens of prompts are those worked out and those found in its cache."""
    pytest.importorskip("gguf", reason="the package gguf (extra [gguf]) is not installed")
    from cortexdsl.zoo.gguf_file import write_gguf

    serve = command("CORTEXDSL_LLAMA_SERVER", LLAMA).replace("{model}", str(here / "small.gguf"))
    write_gguf(Folder(here / "small"), here / "small.gguf")
    did = debated(json.dumps({"command": serve, "env": "A_SERVER"}))
    assert did["engine"].startswith("llama.cpp ")
    assert did["counted"]["requests"] is None
    assert did["counted"]["prompt_tokens"] == usage("prompt_tokens") > 0
    assert did["counted"]["completion_tokens"] == usage("completion_tokens")


def test_ollama_serves_the_same_file(here: Path) -> None:
    """A server that runs already, as Ollama does: waited for, asked, left alone."""
    if shutil.which("ollama") is None:
        pytest.skip("ollama is not installed")
    pytest.importorskip("gguf", reason="the package gguf (extra [gguf]) is not installed")
    from cortexdsl.zoo.gguf_file import write_gguf

    write_gguf(Folder(here / "small"), here / "small.gguf")
    (here / "Modelfile").write_text("FROM ./small.gguf\n")
    address = f"127.0.0.1:{free_port()}"
    own = {"OLLAMA_HOST": address, "OLLAMA_MODELS": str(here / "models"), "HOME": str(here)}
    process = start(["ollama", "serve"], f"http://{address}/v1/models", env=own, log=here / "ollama.log")
    try:
        subprocess.run(["ollama", "create", "small", "-f", "Modelfile"], check=True, env={**os.environ, **own})
        os.environ["A_SERVER"] = f"http://{address}/v1"
        did = debated(json.dumps({"env": "A_SERVER"}))
        assert is_ready(f"http://{address}/v1/models")
    finally:
        stop(process)
    assert did["engine"].startswith("Ollama ")
    assert (did["counted"], did["is_own"], len(sent())) == (None, False, 8)

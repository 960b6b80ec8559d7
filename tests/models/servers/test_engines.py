"""Real servers with small models, of random weights and one that ships: started, asked, looked at, stopped.

They are skipped where no such server is installed.

`CORTEXDSL_VLLM` and `CORTEXDSL_LLAMA_SERVER` may hold a command with `{model}` and `{port}` in place of the usual one.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.jobs.serve import free_port, start_servers, stop_servers
from cortexdsl.models.servers.pages import is_ready
from cortexdsl.models.servers.processes import start, stop
from cortexdsl.plan.compiler import compile_spec
from cortexdsl_tiny.folder import Folder, find
from tests.tiny.made import made

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]

VLLM = (
    "vllm serve {model} --served-model-name small --host 127.0.0.1 --port {port} --dtype float32 --max-model-len 1024"
)
LLAMA = "llama-server --model {model} --alias small --host 127.0.0.1 --port {port} --ctx-size 4096 --parallel 4"
SPEC = """\
title: A real server
shard_size: 2
dataset: {name: arithmetic, size: 2}
models: {one: {model: direct/small, api_base: env:A_SERVER, max_tokens: 12}}
agents: [{name: a, model: one}, {name: b, model: one}]
methods: {full: {protocol: multi-llm, rounds: 1, until: never}}
limits: {failed: 100%}
"""


SHIPPED = """\
title: A model that ships, in this process and at a server
dataset: {file: sums.jsonl, kind: number, size: 8}
models:
  served: {model: direct/small, api_base: env:A_SERVER, temperature: 0, max_tokens: 100}
  inside: {model: tiny/raven, temperature: 0, max_tokens: 100}
agents: [{name: served, model: served}, {name: inside, model: inside}]
methods:
  served: {protocol: cot, agents: [served], confidence: logprob}
  inside: {protocol: cot, agents: [inside], confidence: logprob}
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


def debated(servers: str, spec: str = SPEC, dataset: str = "arithmetic", cells: Sequence[str] = ("full",)) -> None:
    """Debate a few questions with a server, whose records are CELL.jsonl."""
    Path("x.yaml").write_text(f"{spec}servers: {{own: {servers}}}\n")
    running = start_servers([compile_spec("x.yaml", experiment="x")])
    try:
        for cell in cells:
            arguments = ["--dataset", dataset, "--cell", cell, "--shard", "r1-s01", "--out", f"{cell}.jsonl"]
            assert main(["debate", "x.yaml", "--experiment", "x", *arguments]) == 0
    finally:
        stop_servers(running)


def is_the_same_served(servers: str) -> None:
    """A model that ships says the same at a server as in this process, but where sums are added up in another order."""
    rows = (Path(__file__).parents[3] / "specs/data/sums.jsonl").read_text().splitlines()[:8]
    Path("sums.jsonl").write_text("\n".join(rows) + "\n")
    debated(servers, SHIPPED, "sums", ("served", "inside"))
    served, inside = (
        [json.loads(line) for line in Path(f"{cell}.jsonl").read_text().splitlines()] for cell in ("served", "inside")
    )
    turns = [(one["turns"][0], other["turns"][0]) for one, other in zip(served, inside, strict=True)]
    alike = [(one, other) for one, other in turns if one["text"] == other["text"]]
    assert len(alike) >= 6
    for one, other in alike:
        assert one["prompt_tokens"] == other["prompt_tokens"]
        assert one["confidence"] == pytest.approx(other["confidence"], abs=0.01)
        assert 0 < one["confidence"] <= 1
    gold = {json.loads(row)["id"]: json.loads(row)["answer"] for row in rows}
    assert sum(one["answer"] == gold[one["question_id"]] for one in served) >= 6


def sent() -> list[dict[str, Any]]:
    """The lines of the call log."""
    logs = Path("results/x/calls").rglob("*.jsonl")
    return [json.loads(line) for path in logs for line in path.read_text().splitlines()]


def test_vllm_answers(here: Path) -> None:
    """Each call has a reply with counted tokens."""
    serve = command("CORTEXDSL_VLLM", VLLM).replace("{model}", str(here / "small"))
    debated(json.dumps({"command": serve, "env": "A_SERVER"}))
    assert len(sent()) == 8
    assert all(line["usage"]["prompt_tokens"] and line["usage"]["completion_tokens"] for line in sent())


def test_llama_cpp_answers(here: Path) -> None:
    """The same weights as one file."""
    from tests.zoo.gguf_file import write_gguf  # skips if the package gguf is missing

    serve = command("CORTEXDSL_LLAMA_SERVER", LLAMA).replace("{model}", str(here / "small.gguf"))
    write_gguf(Folder(here / "small"), here / "small.gguf")
    debated(json.dumps({"command": serve, "env": "A_SERVER"}))
    assert all(line["usage"]["prompt_tokens"] for line in sent())


def test_vllm_serves_a_model_that_ships(here: Path) -> None:
    serve = command("CORTEXDSL_VLLM", VLLM).replace("{model}", str(find("tiny/raven").path))
    is_the_same_served(json.dumps({"command": serve, "env": "A_SERVER", "seconds": 1500}))


def test_llama_cpp_serves_a_model_that_ships(here: Path) -> None:
    from tests.zoo.gguf_file import write_gguf  # skips if the package gguf is missing

    serve = command("CORTEXDSL_LLAMA_SERVER", LLAMA).replace("{model}", str(here / "raven.gguf"))
    write_gguf(find("tiny/raven"), here / "raven.gguf")
    is_the_same_served(json.dumps({"command": serve, "env": "A_SERVER"}))


def test_ollama_serves_the_same_file(here: Path) -> None:
    """A server that runs already, as Ollama does: waited for, asked, left alone."""
    if shutil.which("ollama") is None:
        pytest.skip("ollama is not installed")
    from tests.zoo.gguf_file import write_gguf  # skips if the package gguf is missing

    write_gguf(Folder(here / "small"), here / "small.gguf")
    (here / "Modelfile").write_text("FROM ./small.gguf\n")
    address = f"127.0.0.1:{free_port()}"
    own = {"OLLAMA_HOST": address, "OLLAMA_MODELS": str(here / "models"), "HOME": str(here)}
    process = start(["ollama", "serve"], f"http://{address}/v1/models", env=own, log=here / "ollama.log")
    try:
        subprocess.run(["ollama", "create", "small", "-f", "Modelfile"], check=True, env={**os.environ, **own})
        os.environ["A_SERVER"] = f"http://{address}/v1"
        debated(json.dumps({"env": "A_SERVER"}))
        assert is_ready(f"http://{address}/v1/models")
    finally:
        stop(process)
    assert len(sent()) == 8

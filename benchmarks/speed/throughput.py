"""How near a run comes to its server: busy time and wall time over calls / slots x latency, by cores and way.

A stub server of its own (64 slots, each taken for the latency) counts what it is asked, and from when to when. Cases:
one cell of 100 questions, 5 agents and 5 rounds; a grid of 24 cells over 50 questions; 500 shards of one question; one
cell of 1,000 questions at 1,000 slots. Beside litellm's runs stand the
same calls by bare litellm, 64 in flight in one process. With `--apart` each case is run a second time with asking apart
from computing: one process asks for all cells and keeps the call logs alone, and the jobs replay them. Run from the
repository: PYTHONPATH=. python benchmarks/speed/throughput.py
[--case one grid shards slots] [--way direct litellm] [--cores 1 2 4] [--latency 0.2] [--apart]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from benchmarks.chat_server import CHAT, ChatServer, completion, serving
from cortexdsl.models.transports.litellm import load
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.job_files import debate_files

REPOSITORY = Path(__file__).resolve().parents[2]
SPEC = """\
seed: 1
dataset: {{name: arithmetic, size: {size}}}
models: {{m: {{model: {way}/m, api_base: env:STUB_URL, parameters: 1.0e9, tokens: 1.0e12}}}}
agents: [{agents}]
methods: {{sparse: {{protocol: cortexdebate, rounds: {rounds}}}}}
limits: {{connections: {slots}}}
"""
GRID = """\
grid:
  sparse:
    keep: [mean, median, {top: 1}, {top: 2}, {drop_bottom: 1}, {drop_bottom: 2}]
    recalibration: [cortexdebate, none]
    weight: [reliability * intimacy, reliability * intimacy / (self_orientation + 1)]
"""
AGENTS = ", ".join(f"{{name: {name}, model: m}}" for name in "abcde")


@dataclass(frozen=True, slots=True)
class Case:
    """Questions, rounds, the rest of the spec, and the slots of the server."""

    size: int
    rounds: int
    rest: str = ""
    slots: int = 64


CASES = {
    "one": Case(100, 5),
    "grid": Case(50, 3, GRID),
    "shards": Case(500, 1, "shard_size: 1\n"),
    "slots": Case(1000, 2, slots=1000),
}


def answering(latency: float, at_once: int) -> list[web.RouteDef]:
    slots = asyncio.Semaphore(at_once)
    seen: dict[str, Any] = {}

    def forget() -> None:
        seen.update(calls=0, bodies=set(), began=None, ended=None)

    async def chat(request: web.Request) -> web.Response:
        raw = await request.read()
        seen["began"] = seen["began"] or time.time()
        async with slots:
            await asyncio.sleep(latency)
        said = json.loads(raw)
        name = hashlib.sha256(json.dumps([said["messages"], said.get("seed")]).encode()).digest()
        seen["calls"] += 1
        seen["bodies"].add(name)
        seen["ended"] = time.time()
        found = name[0] % 3
        text = f"Working step by step, it comes to {found}.\nAnswer: {found}\nConfidence: 0.{10 + name[1] % 90}"
        return web.Response(text=json.dumps(completion(text, said["model"])), content_type="application/json")

    async def stats(_: web.Request) -> web.Response:
        found = {**seen, "bodies": len(seen["bodies"])}
        forget()
        return web.json_response(found)

    forget()
    return [web.post(CHAT, chat), web.get("/stats", stats)]


def stats(server: ChatServer) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/stats") as answer:
        return dict(json.load(answer))


def run(folder: Path, base: str, way: str, case: str, cores: int, more: list[str], *, apart: bool) -> list[float]:
    """Run a case's debates under Snakemake; return the wall seconds: of all, and of asking where it is apart."""
    made = CASES[case]
    (folder / "specs").mkdir(parents=True)
    name = {"direct": "direct", "litellm": "openai"}[way]
    spec = SPEC.format(size=made.size, rounds=made.rounds, way=name, agents=AGENTS, slots=made.slots) + made.rest
    (folder / "specs" / "bench.yaml").write_text(spec, encoding="utf-8")
    here = Path.cwd()
    os.chdir(folder)
    plan = compile_spec("bench")
    targets = [path for dataset in plan.tasks for cell in plan.cells for path in debate_files(plan, dataset, cell.slug)]
    os.chdir(here)
    snakefile = str(REPOSITORY / "Snakefile")
    command = [sys.executable, "-m", "snakemake", "--snakefile", snakefile, "--cores", str(cores), *targets, *more]
    inside = [sys.executable, str(Path(__file__).with_name("one_job.py")), "--spec", "specs/bench.yaml", "--inside"]
    begun = time.perf_counter()
    with (folder / "said.txt").open("w") as said:
        start = partial(subprocess.run, cwd=folder, stdout=said, stderr=said, check=True)
        environment = {**os.environ, "STUB_URL": base, "PYTHONPATH": str(REPOSITORY)}
        if apart:
            start(inside, env=environment)
            shutil.rmtree(folder / "results" / "bench" / "debates")
        asked = time.perf_counter() - begun
        start(command, env=environment)
    return [time.perf_counter() - begun, *([asked] if apart else [])]


async def bare(folder: Path, base: str, slots: int) -> None:
    """Ask by bare litellm what a run has asked."""
    litellm, gate = load(), asyncio.Semaphore(slots)
    logs = sorted((folder / "results" / "bench" / "calls").rglob("*.jsonl"))
    calls = [json.loads(line) for log in logs for line in log.read_text().splitlines()]

    async def one(call: dict[str, Any]) -> None:
        async with gate:
            await litellm.acompletion(model=call["model"], messages=call["messages"], seed=call["seed"] % 2**31,
                                      api_base=base, api_key="none", max_retries=0)  # fmt: skip

    await asyncio.gather(*map(one, calls))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs="+", default=["one", "grid"], choices=list(CASES))
    parser.add_argument("--way", nargs="+", default=["direct", "litellm"], choices=["direct", "litellm"])
    parser.add_argument("--cores", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--latency", type=float, default=0.2, help="seconds that the server takes")
    parser.add_argument("--apart", action="store_true", help="once more with asking apart from computing")
    parser.add_argument("more", nargs="*", help="handed on to Snakemake: --config worker=false")
    args = parser.parse_args()
    print(f"{args.latency} s a call; seconds, and times the limit\n")
    print("| case | way | cores | calls | twice | limit | busy | of limit | wall | of limit | asking ", end="")
    print("| bare litellm | of bare |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    separations = (False, True) if args.apart else (False,)
    for case, way, cores, apart in itertools.product(args.case, args.way, args.cores, separations):
        slots = CASES[case].slots
        with serving(partial(answering, args.latency, slots)) as server, tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            wall, *asking = run(folder, server.base, way, case, cores, args.more, apart=apart)
            seen = stats(server)
            limit, busy = seen["calls"] / slots * args.latency, seen["ended"] - seen["began"]
            row = [case, way, cores, seen["calls"], seen["calls"] - seen["bodies"], f"{limit:.1f}",
                   f"{busy:.1f}", f"{busy / limit:.2f}", f"{wall:.1f}", f"{wall / limit:.2f}",
                   f"{asking[0]:.1f}" if asking else ""]  # fmt: skip
            if way == "litellm":
                asyncio.run(bare(folder, server.base, slots))
                again = stats(server)
                alone = again["ended"] - again["began"]
                row += [f"{alone:.1f}", f"{busy / alone:.2f}"]
            else:
                row += ["", ""]
            print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()

"""A debate job against its server's own limit: the seconds that it takes, and those that its calls take sent at once.

A spec with one server and one shard is debated with a server that was just started; then the very same requests are
sent to another that was just started, by bare aiohttp, as many at once as `limits: connections` and none waiting for
another's reply. What the debate takes longer is what its rounds wait for, and this program. Wall seconds hold for a
quiet machine alone: processor seconds of the server and of this process, and the load, are printed beside them.

Run: python benchmarks/speed/serving.py SPEC [--repeat 3]     (docs/servers/ has specs)
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from cortexdsl.cli.main import main as cortexdsl
from cortexdsl.core import Call, Model
from cortexdsl.jobs.serve import start_servers, stop_servers
from cortexdsl.models.transports.direct import body_of
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.warnings import models_of

Took = tuple[float, float, float]
"""Seconds by the clock, processor seconds of the server, processor seconds of this process."""


def timed(plan: Plan, work: Callable[[], None]) -> Took:
    """Do something with a server that was just started, and stop it."""
    (server,) = running = start_servers([plan])
    assert server.process is not None
    try:
        tree = [psutil.Process(server.process.pid), *psutil.Process(server.process.pid).children(recursive=True)]
        before, own, began = _cpu(tree), time.process_time(), time.perf_counter()
        work()
        return time.perf_counter() - began, _cpu(tree) - before, time.process_time() - own
    finally:
        stop_servers(running)


def _cpu(tree: Sequence[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in tree)


def debate(spec: str, plan: Plan) -> None:
    """Debate the one shard of the one cell."""
    (cell,), (dataset,) = plan.cells, plan.tasks
    where = ["--experiment", plan.experiment, "--dataset", dataset, "--cell", cell.slug, "--shard", "r1-s01"]
    if cortexdsl(["debate", spec, *where, "--out", f"{plan.layout.root}/out.jsonl"]):
        sys.exit("the debates failed")


def bodies(plan: Plan) -> list[dict[str, Any]]:
    """What was sent, in the order in which replies came."""
    models: dict[str, Model] = {model.model: model for model in models_of(plan)}
    found = []
    for path in Path(plan.layout.root, "calls").rglob("*.jsonl"):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            call = Call(models[line["model"]], tuple(line["messages"]), line["seed"])
            found.append(body_of(call))
    return found


async def bare(address: str, asked: Sequence[dict[str, Any]], at_once: int) -> None:
    """Send everything, so many at once."""
    import aiohttp

    gate = asyncio.Semaphore(at_once)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def one(body: dict[str, Any]) -> None:
            async with gate, session.post(f"{address}/chat/completions", json=body) as response:
                response.raise_for_status()
                await response.read()

        await asyncio.gather(*map(one, asked))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("spec")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    plan = compile_spec(args.spec, experiment=f"serving-{os.getpid()}")
    (entry,) = plan.servers.values()
    debated: list[Took] = []
    sent: list[Took] = []
    asked: list[dict[str, Any]] = []

    def ask() -> None:
        asyncio.run(bare(os.environ[entry.env], asked, plan.limits.connections))

    for _ in range(args.repeat):
        shutil.rmtree(plan.layout.root, ignore_errors=True)
        debated.append(timed(plan, lambda: debate(args.spec, plan)))
        asked[:] = bodies(plan)
        sent.append(timed(plan, ask))
    print(f"{len(asked)} calls, {plan.limits.connections} at once; load {os.getloadavg()[0]:.1f}")
    print("| | seconds | of the server's processor | of this process |\n|---|---|---|---|")
    for name, took in (("debated", debated), ("the same calls at once", sent)):
        clock, theirs, ours = (statistics.median(each) for each in zip(*took, strict=True))
        print(f"| {name} | {clock:.1f} | {theirs:.1f} | {ours:.2f} |")
    shutil.rmtree(plan.layout.root, ignore_errors=True)


if __name__ == "__main__":
    main()

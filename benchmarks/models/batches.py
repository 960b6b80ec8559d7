"""An experiment of a thousand debates in batches, killed again and again: paid once, and the records of the direct way.

A server on loopback speaks OpenAI's batch protocol and answers by a function of what is asked; a batch takes a few
seconds there. The experiment runs the direct way first, then in batches with kills: at moments drawn evenly over a
part of the time that the direct way took, all processes of the run are killed (SIGKILL), and the same command is run
again, until the experiment is finished; further ones follow until as many kills have hit as asked. Records, scores and
metrics are compared byte by byte with those of the direct way; the server counts how often it answered each request.

    python benchmarks/models/batches.py [--kills 10] [--debates 1000] [--seed 1]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psutil
from aiohttp import web

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "models"))

from batch_stub import BatchStub  # noqa: E402

from cortexdsl.jobs.serve import free_port  # noqa: E402 (below the path of the tests)
from cortexdsl.models.servers import processes as servers  # noqa: E402

DELAY = 10.0
HANGS = 900.0
SPEC = """\
title: A thousand debates in batches
seed: 5
shard_size: {size}
dataset: {{name: arithmetic, size: {size}}}
models:
  one: {{model: openai/one, api_base: env:STUB_URL, transport: {way}, max_tokens: 40, price: {{input: 1, output: 2}}}}
agents:
  - {{name: one, model: one}}
  - {{name: two, model: one}}
methods:
  debate: {{protocol: multi-llm, rounds: 2}}
limits: {{dollars: 50}}
"""
COMPARED = ("debates/**/*.jsonl", "scores.csv", "metrics.csv")


async def serve(port: int) -> None:
    """Serve the stub on loopback; a POST to /forget empties it, /known shows what it knows."""
    stub = BatchStub(now=time.time, delay=DELAY)

    async def answer(request: web.Request) -> web.Response:
        nonlocal stub
        if request.path == "/forget":
            stub = BatchStub(now=time.time, delay=DELAY)
            return web.Response()
        if request.path == "/known":
            known = stub.known
            counts = {"paid": sum(known.paid.values()), "different": len(known.paid), "batches": stub.sizes()}
            return web.json_response(counts | {"requests": dict(stub.counts())})
        body = await request.read()
        said = stub.answer(httpx.Request(request.method, str(request.url), headers=dict(request.headers), content=body))
        return web.Response(status=said.status_code, body=said.content, content_type="application/json")

    app = web.Application(client_max_size=2**30)
    app.add_routes([web.route("*", "/{path:.*}", answer)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


def ask(url: str, *, is_post: bool = False) -> Any:
    """Ask the server what it knows, or tell it to forget."""
    with urllib.request.urlopen(urllib.request.Request(url, method="POST" if is_post else "GET")) as response:
        content = response.read()
    return json.loads(content) if content else None


def start(folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the run in a folder, or go on with it."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile"), "--cores", "2"]
    command += ["--config", "spec=batched"]
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen(
            command, cwd=folder, env={**os.environ, **environment, "CI": "true"}, stdin=subprocess.DEVNULL,
            stdout=said, stderr=said, start_new_session=True,
        )  # fmt: skip


def whole_run(folder: Path, environment: Mapping[str, str]) -> float:
    """Run without a kill and return the seconds."""
    began = time.monotonic()
    if start(folder, environment).wait(HANGS):
        raise SystemExit((folder / "said.txt").read_text()[-3000:])
    return time.monotonic() - began


def killed_run(folder: Path, environment: Mapping[str, str], wall: float, kills: int, chance: random.Random) -> int:
    """Run with kills until the experiment is finished; return how many hit."""
    hit = 0
    while True:
        process = start(folder, environment)
        try:
            if process.wait(chance.uniform(0.15, 0.6) * wall if hit < kills else HANGS):
                raise SystemExit((folder / "said.txt").read_text()[-3000:])
            return hit
        except subprocess.TimeoutExpired:
            if hit >= kills:
                raise SystemExit("the run hangs") from None
            run = psutil.Process(process.pid)
            for victim in (run, *run.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    victim.send_signal(signal.SIGKILL)
            process.wait()
            hit += 1
            print(f"{hit} kills", file=sys.stderr, flush=True)


def records(folder: Path) -> dict[str, bytes]:
    """Return what a finished run wrote, by path."""
    root = folder / "results" / "batched"
    paths = [path for pattern in COMPARED for path in sorted(root.glob(pattern))]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def folder_of(folder: Path, name: str, transport: str, size: int) -> Path:
    """Make a folder with the spec and return it."""
    path = folder / name
    (path / "specs").mkdir(parents=True)
    (path / "specs" / "batched.yaml").write_text(SPEC.format(way=transport, size=size))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--debates", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(args.serve))
        return
    with tempfile.TemporaryDirectory() as name:
        port = free_port()
        root = f"http://127.0.0.1:{port}"
        environment = {"STUB_URL": f"{root}/v1"}
        server = servers.start([sys.executable, __file__, "--serve", str(port)], f"{root}/known")
        try:
            direct = folder_of(Path(name), "direct", "direct", args.debates)
            seconds = whole_run(direct, environment)
            expected, known = records(direct), ask(f"{root}/known")
            print("| way | requests answered | different ones | batches | byte-equal to the direct way |")
            print("|---|---|---|---|---|")
            print(f"| one by one | {known['paid']:,} | {known['different']:,} | none | |", flush=True)
            chance, hit, number = random.Random(args.seed), 0, count()
            while hit < args.kills:
                ask(f"{root}/forget", is_post=True)
                folder = folder_of(Path(name), f"killed{next(number)}", "batch", args.debates)
                kills = killed_run(folder, environment, seconds, args.kills - hit, chance)
                hit += kills
                known, is_equal = ask(f"{root}/known"), records(folder) == expected
                sizes = ", ".join(f"{size:,}" for size in known["batches"])
                counts = f"{known['paid']:,} | {known['different']:,} | {sizes}"
                print(f"| in batches, {kills} kills | {counts} | {'yes' if is_equal else 'NO'} |", flush=True)
        finally:
            servers.stop(server)


if __name__ == "__main__":
    main()

"""What survives `kill -9`: whole runs killed at random moments, each gone on with by the same command.

Whole runs (Snakemake, its worker, its jobs, up to the report) ask a stub server; at a moment drawn evenly over the
time that an undisturbed run takes, one process of a run, or all at once, is killed; the same command is then run
again, until the run is finished. The records of every finished run are compared, byte by byte, with those of one that
nothing disturbed; the server notes which replies it delivered, so that what was asked again is counted.

    python benchmarks/house/kills.py [--kills 100] [--seed 1] [--declared | --files]

With `--files` an engine answers rounds of files, and no server is asked; it notes a reply when its line is on disk.
With `--declared` the spec declares the server, so that each run starts its own (and that one may be killed, too). A run
that has not ended `HANGS` seconds after a kill is counted as hanging, and what its threads wait for is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from aiohttp import web

from cortexdsl.jobs.serve import free_port
from cortexdsl.models.probe import PROMPT
from cortexdsl.models.servers import processes as servers

REPOSITORY = Path(__file__).resolve().parents[2]
HANGS = 300.0
LATENCY = 0.15
SPEC = """\
title: Killed
seed: 5
replicates: 1
shard_size: 4
dataset: {name: arithmetic, size: 8}
models:
  one: {model: direct/one, api_base: env:STUB_URL, parameters: 1.0e9, tokens: 2.0e12}
  two: {model: direct/two, api_base: env:STUB_URL, parameters: 7.0e9, tokens: 15e12}
agents:
  - {name: one, model: one}
  - {name: two, model: one}
  - {name: three, model: two}
methods:
  sparse: {protocol: cortexdebate, rounds: 2}
  full: {protocol: multi-llm, rounds: 2}
grid:
  sparse:
    keep: [mean, {top: 1}]
hypotheses:
  - accuracy(sparse) >= accuracy(full)
limits: {connections: 8}
"""
SERVER = """\
servers:
  stub: {{command: "{python} {script} --serve {{port}} --noted {noted}", env: STUB_URL}}
"""
ENGINE = """\
engines:
  stub: {{command: "{python} {script} --noted {noted} --answer {{requests}} {{replies}}", parts: 2}}
"""
COMPARED = ("debates/**/*.jsonl", "scores.csv", "metrics.csv")


def completion(raw: bytes) -> tuple[str, dict[str, Any]]:
    """Return the name of what is asked, and a reply that depends on it alone."""
    name = hashlib.sha256(raw).hexdigest()[:16]
    number = int(name[:6], 16)
    text = f"Answer: {number % 3}\nConfidence: 0.{number % 90 + 10}"
    usage = {"prompt_tokens": 50, "completion_tokens": 10}
    return name, {"choices": [{"finish_reason": "stop", "message": {"content": text}}], "usage": usage}


def answer(requests: Path, replies: Path, noted: Path) -> None:
    """Answer a file of requests line by line, and note each reply when it is written."""
    with replies.open("w", buffering=1) as out, noted.open("a", buffering=1) as notes:
        for line in requests.read_text().splitlines():
            request = json.loads(line)
            time.sleep(LATENCY / 10)
            name, said = completion(json.dumps(request["body"]).encode())
            reply = {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": said}, "error": None}
            out.write(f"{json.dumps(reply)}\n")
            notes.write(f"{name} arrived\n")


async def serve(port: int, noted: Path) -> None:
    """Answer chat completions by a function of what is asked, and note each reply: its name, and whether it arrived."""
    out = noted.open("a", buffering=1)

    async def chat(request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        await asyncio.sleep(LATENCY)
        name, said = completion(raw)
        response = web.Response(text=json.dumps(said), content_type="application/json")
        try:
            await response.prepare(request)
            await response.write_eof()
            arrived = request.transport is not None and not request.transport.is_closing()
        except ConnectionError:
            arrived = False
        if PROMPT.encode() not in raw:  # what a run asks before its first job is no call of a debate
            out.write(f"{name} {'arrived' if arrived else 'gone'}\n")
        return response

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "one"}]})

    app = web.Application(client_max_size=2**24)
    app.add_routes([web.post("/v1/chat/completions", chat), web.get("/v1/models", models)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


@dataclass(slots=True)
class Found:
    """What the kills came to."""

    victims: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    finished: int = 0
    unequal: int = 0
    hung: int = 0
    left: int = 0
    calls: int = 0
    again: int = 0
    again_after_arrival: int = 0


class Bench:
    """One folder with the spec, and runs in it."""

    def __init__(self, folder: Path, environment: Mapping[str, str], answers: str) -> None:
        self.folder = folder
        self.noted = folder / "noted.txt"
        self._environment = {**os.environ, **environment, "CI": "true"}
        (folder / "specs").mkdir(parents=True)
        here = answers.format(python=sys.executable, script=Path(__file__).resolve(), noted=self.noted)
        models = "openai/\\1, engine: stub" if answers == ENGINE else "direct/\\1, api_base: env:STUB_URL"
        (folder / "specs" / "killed.yaml").write_text(
            re.sub(r"direct/(\w+), api_base: env:STUB_URL", models, SPEC) + here
        )
        if answers == ENGINE:
            command = [sys.executable, "-m", "cortexdsl", "trust", "killed"]
            subprocess.run(command, cwd=folder, env=self._environment, stdout=subprocess.DEVNULL, check=True)

    def start(self) -> subprocess.Popen[bytes]:
        """Start the run, or go on with it."""
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "snakemake",
            "--snakefile",
            str(REPOSITORY / "Snakefile"),
        ]
        with (self.folder / "said.txt").open("ab") as said:
            return subprocess.Popen(
                [*command, "--cores", "2"], cwd=self.folder, env=self._environment, stdin=subprocess.DEVNULL,
                stdout=said, stderr=said, start_new_session=True,
            )  # fmt: skip

    def records(self) -> dict[str, bytes]:
        """What a finished run wrote, by path."""
        root = self.folder / "results" / "killed"
        paths = [path for pattern in COMPARED for path in sorted(root.glob(pattern))]
        return {str(path.relative_to(root)): path.read_bytes() for path in paths}

    def count(self, found: Found, noted: Path) -> None:
        """Add up what the server noted."""
        seen: dict[str, bool] = {}
        for line in noted.read_text().splitlines():
            name, said = line.split()
            found.calls += 1
            found.again += name in seen
            found.again_after_arrival += seen.get(name, False)
            seen[name] = seen.get(name, False) or said == "arrived"


def roles(run: psutil.Process) -> dict[str, list[psutil.Process]]:
    """Return the processes of a run by what they are."""
    below = run.children(recursive=True)
    found: dict[str, list[psutil.Process]] = {"Snakemake": [run], "all of it": [run, *below]}
    for one in below:
        try:
            said, parent = " ".join(one.cmdline()), one.ppid()
        except psutil.Error:
            continue
        if "--serve" in said:
            role = "the server"
        elif "--answer" in said:
            role = "the engine"
        elif "cortexdsl.cli.worker" in said:
            role = "the worker" if parent == run.pid else "the worker's job server or a fork of it"
        else:
            role = "a job"
        found.setdefault(role, []).append(one)
    return found


def kill(run: psutil.Process, chance: random.Random) -> str:
    """Kill something of a run; return what."""
    there = roles(run)
    role = chance.choice(sorted(there))
    victims = there[role] if role == "all of it" else [chance.choice(there[role])]
    for victim in victims:
        try:
            victim.kill()
        except psutil.NoSuchProcess:
            continue
    return role


def disturbed(bench: Bench, wall: float, chance: random.Random, found: Found) -> bool:
    """Run once, with one kill if the run lasts as long; return whether the experiment is finished."""
    process = bench.start()
    run = psutil.Process(process.pid)
    try:
        process.wait(chance.uniform(0.0, wall))
        role = ""
    except subprocess.TimeoutExpired:
        others = run.children(recursive=True)
        role = kill(run, chance)
        found.victims[role] += 1
    try:
        status = process.wait(HANGS)
    except subprocess.TimeoutExpired:
        found.hung += 1
        print(f"HANGS after the kill of {role}: {bench.folder}/said.txt", flush=True)
        process.send_signal(signal.SIGABRT)  # faulthandler says where each thread is
        process.wait()
        print((bench.folder / "said.txt").read_text(errors="replace")[-5000:], flush=True)
        return False
    if role:
        _, left = psutil.wait_procs(others, timeout=60)
        found.left += len(left)
        for one in left:
            print(f"LEFT after the kill of {role}: {one}", flush=True)
            one.kill()
        found.ends["the run ended well all the same" if status == 0 else "the run ended"] += 1
    elif status:
        raise SystemExit(f"a run failed that nobody had touched:\n{(bench.folder / 'said.txt').read_text()[-3000:]}")
    return status == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--declared", action="store_true", help="the spec declares the server")
    parser.add_argument("--files", action="store_true", help="an engine answers files")
    parser.add_argument("--answer", type=Path, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    parser.add_argument("--noted", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(args.serve, args.noted))
        return
    if args.answer:
        requests, replies = args.answer
        answer(requests, replies, args.noted)
        return
    chance, found = random.Random(args.seed), Found()
    with tempfile.TemporaryDirectory() as name:
        noted, port = Path(name) / "noted.txt", free_port()
        address = f"http://127.0.0.1:{port}/v1"
        environment = {} if args.declared or args.files else {"STUB_URL": address}
        answers = ENGINE if args.files else SERVER if args.declared else ""
        command = [sys.executable, __file__, "--serve", str(port), "--noted", str(noted)]
        server = None if answers else servers.start(command, f"{address}/models")
        try:
            calm = Bench(Path(name) / "calm", environment, answers)
            began = time.monotonic()
            if calm.start().wait():
                raise SystemExit((calm.folder / "said.txt").read_text())
            wall, expected = time.monotonic() - began, calm.records()
            experiment = 0
            while found.victims.total() < args.kills:
                experiment += 1
                noted.write_text("")
                bench = Bench(Path(name) / f"run{experiment}", environment, answers)
                while not disturbed(bench, wall, chance, found):
                    continue
                found.finished += 1
                found.unequal += bench.records() != expected
                bench.count(found, bench.noted if answers else noted)
                print(f"{found.victims.total()} kills, {found.finished} runs finished", file=sys.stderr, flush=True)
        finally:
            if server is not None:
                servers.stop(server)
    _print(found, wall)


def _print(found: Found, wall: float) -> None:
    killed = ", ".join(f"{role} {n}" for role, n in sorted(found.victims.items()))
    rows = {
        "kills": f"{found.victims.total()} ({killed})",
        "of these the run ended well all the same": found.ends["the run ended well all the same"],
        "runs that hung": found.hung,
        "processes left a minute later": found.left,
        "experiments finished by the same command": found.finished,
        "of these records, scores or metrics not byte-equal to an undisturbed run's": found.unequal,
        "replies that the server or the engine made": found.calls,
        "of these asked again": found.again,
        "of these delivered before": found.again_after_arrival,
        "seconds of the undisturbed run": f"{wall:.1f}",
    }
    print("| what | count |\n|---|---|")
    for what, count in rows.items():
        print(f"| {what} | {count} |")


if __name__ == "__main__":
    main()

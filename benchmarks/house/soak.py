"""A long run in bounded memory, files and descriptors: a million calls against a server that answers at once.

One process sends all calls, as the worker of a run does: jobs of 5,000 calls each, four at a time, with one shared
state, a limit that is never reached, and a log, an index and a tally of each job. After every 20,000 calls a line says
how much memory, how many open files and how many files on disk there are, and how many calls a second it took. The
server counts what it was asked: at the end each call was asked once.

    PYTHONPATH=. python benchmarks/house/soak.py [--calls 1000000] [--out FILE] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import hashlib
import json
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import psutil
from aiohttp import web

from benchmarks.chat_server import CHAT, ChatServer, completion, serving
from cortexdsl.core import Call, Limits, Model
from cortexdsl.models.client import open_client
from cortexdsl.models.job_tally import JobInfo
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.spending import spent_so_far
from cortexdsl.worker.process import collect_garbage_rarely

IN_JOB, AT_ONCE, IN_FLIGHT = 5_000, 4, 64
EVERY = 20_000
COLUMNS = ("calls", "calls_per_second", "memory_mb", "server_memory_mb", "descriptors", "threads", "files", "disk_mb")
PROMPT = "Question: What is the result of {}+7*3+20-4*5?\n\nThink step by step.\nAnswer: <a number>"


def counting() -> list[web.RouteDef]:
    """Return routes that answer each request, and count the ones that came before."""
    seen: set[bytes] = set()
    counts = {"requests": 0, "repeated": 0}
    answer = json.dumps(completion())

    async def chat(request: web.Request) -> web.Response:
        name = hashlib.blake2b(await request.read(), digest_size=8).digest()
        counts["requests"] += 1
        counts["repeated"] += name in seen
        seen.add(name)
        return web.Response(text=answer, content_type="application/json")

    async def count(_: web.Request) -> web.Response:
        return web.json_response(counts)

    return [web.post(CHAT, chat), web.get("/count", count)]


def counted(server: ChatServer) -> dict[str, int]:
    """Return what a server with these routes has counted."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/count") as response:
        return dict(json.load(response))


class Curve:
    """Measures this process after every 20,000 calls, and writes each measurement at once."""

    def __init__(self, folder: Path, out: Path, server: int) -> None:
        self._folder, self._out = folder, out
        self._me, self._server = psutil.Process(), psutil.Process(server)
        self._calls, self._at = 0, time.perf_counter()
        self.rows: list[Sequence[float]] = []

    def note(self, calls: int) -> None:
        """Measure, if enough calls were made since the last time."""
        if calls - self._calls < EVERY:
            return
        now = time.perf_counter()
        files = [path.stat() for path in self._folder.rglob("*") if path.is_file()]
        self.rows.append((
            calls,
            round((calls - self._calls) / (now - self._at)),
            round(self._me.memory_info().rss / 2**20),
            round(self._server.memory_info().rss / 2**20),
            self._me.num_fds(),
            self._me.num_threads(),
            len(files),
            round(sum(each.st_blocks for each in files) * 512 / 2**20),
        ))  # fmt: skip
        self._calls, self._at = calls, time.perf_counter()
        self._out.parent.mkdir(parents=True, exist_ok=True)
        with self._out.open("w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerows([COLUMNS, *self.rows])
        print(" ".join(f"{name}={value}" for name, value in zip(COLUMNS, self.rows[-1], strict=True)), flush=True)


async def soak(base: str, calls: int, folder: Path, curve: Curve) -> None:
    """Send all calls, in jobs."""
    model, limits = Model("m", "direct/m", api_base=base), Limits(calls=2 * calls, connections=IN_FLIGHT)
    done = 0

    async def job(number: int) -> None:
        nonlocal done
        log = folder / "calls" / "arithmetic" / f"r1-s{number // AT_ONCE:04d}" / f"cell{number % AT_ONCE}.jsonl"
        client = open_client(
            log, limits=limits, ledgers=folder / "spent", job=JobInfo(f"arithmetic~{number}"), shared=shared
        )
        gate = asyncio.Semaphore(IN_FLIGHT)

        async def one(question: int) -> None:
            nonlocal done
            async with gate:
                await client(Call(model, ({"role": "user", "content": PROMPT.format(question)},), 1))
            done += 1
            curve.note(done)

        async with client:
            first = number * IN_JOB
            await asyncio.gather(*(one(question) for question in range(first, min(calls, first + IN_JOB))))
            await client.sync()

    async with SharedState() as shared:
        waiting = list(range((calls + IN_JOB - 1) // IN_JOB))[::-1]

        async def lane() -> None:
            while waiting:
                await job(waiting.pop())

        await asyncio.gather(*(lane() for _ in range(AT_ONCE)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/measured/soak.csv"))
    parser.add_argument("--folder", type=Path, help="where the logs are written (removed at the end)")
    args = parser.parse_args()
    collect_garbage_rarely()  # as every job of a run
    folder = Path(tempfile.mkdtemp(prefix="soak-", dir=args.folder))
    began = time.perf_counter()
    try:
        with serving(counting) as server:
            asyncio.run(soak(server.base, args.calls, folder, Curve(folder, args.out, server.process)))
            seconds, counts = time.perf_counter() - began, counted(server)
        print(
            f"{args.calls:,} calls in {seconds:,.0f} s, {args.calls / seconds:,.0f} a second; the server had "
            f"{counts['requests']:,} requests, {counts['repeated']:,} of them repeated; "
            f"the ledger says {spent_so_far(folder / 'spent').attempts:,}"
        )
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

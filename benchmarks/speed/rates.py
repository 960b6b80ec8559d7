"""How exactly four jobs at once keep the rates of two models, against a server on loopback that refuses what is above.

    python benchmarks/speed/rates.py [--seconds 300]

Model `r` may take so many requests a minute, model `t` so many tokens. The server counts what arrives, and refuses what
would be more than the rate in any 60 seconds. Printed are requests and tokens a minute over the whole time, the most in
any 60 seconds, and how many were refused.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from bisect import bisect_left
from itertools import count
from pathlib import Path

from aiohttp import web

from cortexdsl.core import Call, Model, Rate, RateLimit
from cortexdsl.errors import ModelError
from cortexdsl.models.client import open_client

JOBS, WORKERS = 4, 24
REQUESTS, TOKENS = 600, 120_000
"""A minute: of model r, and of model t."""
WINDOW = 60.0
RATES = {"r": Rate((RateLimit(REQUESTS, WINDOW),), ()), "t": Rate((), (RateLimit(TOKENS, WINDOW),))}


class Server:
    """Answers after half a second to a second and a half, and refuses what is above the rate."""

    def __init__(self) -> None:
        self.arrived: dict[str, list[tuple[float, int]]] = {"r": [], "t": []}
        self.refused = {"r": 0, "t": 0}
        self.draws = random.Random(1)

    async def chat(self, request: web.Request) -> web.Response:
        """Answer one request."""
        body = await request.json()
        name, now = body["model"], time.monotonic()
        prompt = sum(len(message["content"]) for message in body["messages"]) // 4
        completion = self.draws.randint(100, 500)
        arrived = self.arrived[name]
        first = bisect_left(arrived, (now - WINDOW, 0))
        used = len(arrived) - first if name == "r" else sum(tokens for _, tokens in arrived[first:])
        if used >= (REQUESTS if name == "r" else TOKENS):
            self.refused[name] += 1
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "1"})
        arrived.append((now, prompt + completion))
        await asyncio.sleep(self.draws.uniform(0.5, 1.5))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        return web.json_response({"choices": [choice], "usage": usage})


async def job(base: str, folder: Path, number: int, seconds: float) -> None:
    """Send calls to both models, as many as may be sent, until the time is over."""
    end, numbers = time.monotonic() + seconds, count()
    async with open_client(folder / f"{number}.jsonl", folder=folder) as client:

        async def work(name: str) -> None:
            model = Model(name, f"direct/{name}", api_base=base, options={"max_tokens": 500}, rate=RATES[name])
            while time.monotonic() < end:
                text = f"{number} {next(numbers)} " + "word " * 120
                await client(Call(model, ({"role": "user", "content": text},), number))

        tasks = [asyncio.create_task(work(name)) for name in RATES for _ in range(WORKERS)]
        await asyncio.sleep(seconds)
        for task in tasks:  # what still waits for its turn is not sent
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        errors = {str(error) for error in ended if isinstance(error, ModelError)}
        print(*errors, sep="\n", file=sys.stderr, end="")


async def measure(seconds: float) -> dict[str, dict[str, float]]:
    """Run the jobs, and return what the server counted."""
    server = Server()
    app = web.Application()
    app.add_routes([web.post("/v1/chat/completions", server.chat)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--seconds", str(seconds), "--base", base, "--folder", folder, "--job"]
        jobs = [await asyncio.create_subprocess_exec(*command, str(k)) for k in range(JOBS)]
        await asyncio.gather(*(each.wait() for each in jobs))
    await runner.cleanup()
    return {name: _counted(server, name, seconds) for name in RATES}


def _counted(server: Server, name: str, seconds: float) -> dict[str, float]:
    arrived = server.arrived[name]
    begun = arrived[0][0]
    used = [(at, 1 if name == "r" else tokens) for at, tokens in arrived if at < begun + seconds]
    limit = REQUESTS if name == "r" else TOKENS
    most = max(sum(amount for at, amount in used if begin <= at < begin + WINDOW) for begin, _ in used)
    held = sum(amount for _, amount in used) / min(seconds, used[-1][0] - begun) * WINDOW
    return {
        "limit a minute": limit, "held a minute": round(held, 1), "share": round(held / limit, 4),
        "most in 60 s": most, "refused": server.refused[name],
    }  # fmt: skip


def main() -> None:
    """Run the benchmark, or one of its jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--base")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--job", type=int)
    args = parser.parse_args()
    if args.job is not None:
        asyncio.run(job(args.base, args.folder, args.job, args.seconds))
        return
    for name, figures in asyncio.run(measure(args.seconds)).items():
        print(json.dumps({"model": name, **figures}))


if __name__ == "__main__":
    main()

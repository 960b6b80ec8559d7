"""A small run for tests of faults: two jobs with a shared call, a failed attempt, a limit, records, plan and ledger."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cortexdsl.checksums import write_lines
from cortexdsl.core import Call, Limits, Model
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.client import open_client
from cortexdsl.models.job_tally import JobInfo
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw, TokenCounts
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.recording import declare
from tests.models.kit import Time

JOBS = {"one": (1, 2, 3, 4), "two": (4, 5, 6)}
"""The seeds of the calls of each job: call 4 is shared."""
FAILS_ONCE = 3
REQUESTS = 7
"""What the run sends: six calls, one of them twice."""
DECLARATION: dict[str, Any] = {
    "seed": 1, "replicates": 1, "alpha": 0.05, "correction": "holm", "judge": None, "metrics": ["accuracy"],
    "families": {}, "datasets": {"sums": {"name": "arithmetic", "questions": 6, "digest": "x"}},
    "cells": {"one": "1", "two": "2"}, "prompts": {}, "stopping": None, "claims": ["accuracy(one) >= accuracy(two)"],
}  # fmt: skip


def call_of(seed: int) -> Call:
    return Call(Model("entry", "fake/model"), ({"role": "user", "content": "a question " * 20},), seed)


class Server:
    """Answers calls, and counts its requests and the replies that it delivered, over all runs."""

    def __init__(self, note: Callable[[str], None] = lambda what: None) -> None:
        self.requests = 0
        self.delivered: Counter[str] = Counter()
        self._has_failed = False
        self._note = note

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        self.requests += 1
        self._note("sent")
        await asyncio.sleep(0)
        if call.seed == FAILS_ONCE and not self._has_failed:
            self._has_failed = True
            raise Failure(FailureKind.TRANSIENT, "500")
        self.delivered[call_key(call)] += 1
        return Raw(f"reply {call.seed} " * 10, "stop", TokenCounts(10, 5))

    async def close(self) -> None:
        pass


def record_of(root: Path, job: str) -> Path:
    return root / "debates" / "sums" / job / "r1-s1.jsonl"


def log_folder(root: Path) -> Path:
    return root / "calls" / "sums" / "r1-s1"


async def debate(root: Path, job: str, server: Server, limit: int, acknowledge: Callable[[str], None]) -> None:
    """Do one job: its calls two at a time, a sync amid them, its record at the end."""
    client = open_client(
        log_folder(root) / f"{job}.jsonl",
        limits=Limits(calls=limit, connections=2),
        ledgers=root / "spent",
        job=JobInfo(f"sums~{job}~r1-s1"),
        transports={"fake": server},
        runtime=Time().runtime(),
    )
    calls = [call_of(seed) for seed in JOBS[job]]
    async with client:
        replies = list(await asyncio.gather(*map(client, calls[:2])))
        await client.sync()
        for call in calls[:2]:
            acknowledge(f"reply {call_key(call)}")
        replies += await asyncio.gather(*map(client, calls[2:]))
        await client.sync()
        for call in calls[2:]:
            acknowledge(f"reply {call_key(call)}")
        write_lines(record_of(root, job), [json.dumps({"call": reply.key, "text": reply.text}) for reply in replies])
        acknowledge(f"record {job}")


def run(root: Path, server: Server, limit: int = 100, acknowledge: Callable[[str], None] = lambda what: None) -> None:
    """Run the whole, as the workflow does: what is there is not made again."""
    layout = Layout(str(root))
    declare(layout, DECLARATION)
    acknowledge("declared")
    for job in JOBS:
        if not record_of(root, job).exists():
            asyncio.run(debate(root, job, server, limit, acknowledge))
    if not Path(layout.plan).exists():
        write_lines(Path(layout.plan), ["{}"])
        acknowledge("plan")


def results(root: Path) -> dict[str, bytes]:
    """Return the files that must be equal, however the run was disturbed."""
    return {str(path.relative_to(root)): path.read_bytes() for path in (*(record_of(root, job) for job in JOBS),
            root / "plan.json")}  # fmt: skip


async def _replay(root: Path, job: str) -> None:
    client = open_client(None, folder=log_folder(root), offline=True, runtime=Time().runtime())
    async with client:
        for seed in JOBS[job]:
            await client(call_of(seed))


def replay(root: Path, job: str) -> None:
    """Answer the calls of a job from the logs alone; raises ModelError if one is missing."""
    asyncio.run(_replay(root, job))

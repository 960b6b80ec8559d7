"""A workflow in one process: the jobs of an experiment run in their order, by the rules of Snakemake.

A job runs if an output is missing, if the digest of what it depends on has changed since it ended, or if a job that it
reads from has run. What Snakemake keeps of earlier runs (digests) is kept beside the results.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from cortexdsl.cli.main import main
from cortexdsl.cli.verbs import parse
from cortexdsl.core import Call
from cortexdsl.jobs.debate import JOB
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.transports.interface import Raw, TokenCounts
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import debate_digest, score_digest
from cortexdsl.plan.layout import PARTS

SPEC = Path("specs/wild.yaml")
RESULTS = Path("results/wild")
PROMPT = Path("prompts/own/answer.j2")
DIGESTS = Path("results/digests.json")


class Killed(BaseException):
    """The run was killed: what is on disk at this moment is what a kill leaves."""


class Server:
    """Answers each call by a function of its content, counts, and may kill the run at a request.

    Attributes
    ----------
    requests : int
    sent : Counter of str
        Requests by the key of their call.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.sent: Counter[str] = Counter()
        self.kill_at: int | None = None
        self.kill: Callable[[], None] = lambda: None

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        key = call_key(call)
        self.requests += 1
        self.sent[key] += 1
        if self.kill_at is not None:
            self.kill_at -= 1
            if self.kill_at < 0:
                self.kill()
        await asyncio.sleep(0)
        if self.kill_at is not None and self.kill_at < 0:
            await asyncio.Event().wait()  # no reply comes any more
        number = int(hashlib.sha256(key.encode()).hexdigest()[:4], 16)
        asked = re.search(r"result of ([\d+*-]+)", call.messages[-1]["content"])
        right = eval(asked[1]) if asked else 0
        return Raw(f"Answer: {right + number % 3 // 2}\nConfidence: 0.{50 + number % 50}", "stop", TokenCounts(20, 10))

    async def close(self) -> None:
        pass


class Workflow:
    """Runs the experiment of the current folder."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def run(self) -> None:
        """Run every job that is due; raises the error of a job that fails, and Killed."""
        plan = compile_spec(SPEC.as_posix())
        _verb("plan", SPEC.as_posix(), "--declare")
        for dataset, shards in plan.shards.items():
            for cell in plan.cells:
                has_debated = False
                for shard in shards:
                    out = plan.layout.debates(dataset, cell.slug, shard.label)
                    digest = debate_digest(plan, dataset, cell.slug, shard.label)
                    if self._is_due([out], digest):
                        where = ("--dataset", dataset, "--cell", cell.slug, "--shard", shard.label, "--out", out)
                        asyncio.run(self._debate(plan, ["debate", SPEC.as_posix(), *where]))
                        self._note([out], digest)
                        has_debated = True
                parts = [plan.layout.part(table, dataset, cell.slug) for table in PARTS]
                digest = score_digest(plan, dataset, cell.slug)
                if has_debated or self._is_due(parts, digest):
                    _verb("score", SPEC.as_posix(), "--dataset", dataset, "--cell", cell.slug)
                    self._note(parts, digest)
        _verb("plan", SPEC.as_posix(), "--out", plan.layout.plan)
        _verb("verdict", plan.layout.root)

    async def _debate(self, plan: Plan, arguments: Sequence[str]) -> None:
        async with SharedState({"direct": self._server}) as shared:
            job = asyncio.create_task(JOB.attend(parse(arguments), shared))
            while not job.done():
                await asyncio.wait([job], timeout=0.01)
                if self._server.kill_at is not None and self._server.kill_at < 0:
                    job.cancel()
                    await asyncio.wait([job])
                    raise Killed
            await job

    def _is_due(self, outputs: Sequence[str], digest: str) -> bool:
        return not all(Path(path).exists() for path in outputs) or self._digests().get(outputs[0]) != digest

    def _note(self, outputs: Sequence[str], digest: str) -> None:
        DIGESTS.parent.mkdir(exist_ok=True)
        DIGESTS.write_text(json.dumps({**self._digests(), outputs[0]: digest}))

    @staticmethod
    def _digests() -> dict[str, str]:
        known: dict[str, str] = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
        return known


def _verb(*arguments: str) -> None:
    if main(arguments) != 0:
        raise AssertionError(arguments)


def logged_keys() -> set[str]:
    """Return the keys of all whole lines of the call logs, read without the program's reader."""
    keys = set()
    for path in RESULTS.glob("calls/**/*.jsonl"):
        for line in path.read_bytes().splitlines():
            try:
                keys.add(json.loads(line)["key"])
            except ValueError:
                continue
    return keys


def copy_results(target: Path) -> None:
    """Copy results and digests to a folder."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree("results", target)

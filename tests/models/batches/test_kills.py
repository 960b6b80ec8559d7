"""A job that is killed at any moment pays once: the same command finds what is on its way, and makes the same records.

A forked process runs the job and ends with `os._exit` at a moment, as `kill -9` ends it; another one runs it again, two
days or three seconds later. The stub keeps what it knows in a file.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Limits
from cortexdsl.jobs.debate import debate_shard, shard_work
from cortexdsl.models.call_log.folder import CallLogs
from cortexdsl.models.client import open_client
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.models.spending import spent_so_far
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from tests.models.batch_stub import BatchStub
from tests.models.batches.kit import KEYS, START, OrdinaryWay, VirtualTime

DAYS = 2 * 86_400.0
SPEC = """\
title: Killed
seed: 5
dataset: {name: arithmetic, size: 5}
models:
  one: {model: MODEL, max_tokens: 40, transport: batch}
agents:
  - {name: one, model: one}
  - {name: two, model: one}
methods:
  full: {protocol: multi-llm, rounds: 1}
limits: {dollars: 5}
"""
MODELS = {"openai": "openai/gpt-4o-mini, api_base: 'http://stub/v1'", "anthropic": "anthropic/claude-sonnet-4-5"}
CALLS = 5 * 2 * 2
KILLED = 9


@pytest.fixture(scope="module", params=MODELS)
def plan(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    path = tmp_path_factory.mktemp("specs") / f"{request.param}.yaml"
    path.write_text(SPEC.replace("MODEL", MODELS[request.param]))
    return compile_spec(path.as_posix())


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


async def run(plan: Plan, folder: Path, time: VirtualTime, stub: BatchStub, *, is_ordinary: bool = False) -> None:
    cell, shard = plan.cells[0].slug, "r1-s01"
    way = OrdinaryWay(stub)
    transports = dict.fromkeys(("direct", "openai", "anthropic"), way) if is_ordinary else None
    client = open_client(
        folder / "calls" / "cell.jsonl", limits=Limits(), ledgers=folder / "spent", runtime=time.runtime(),
        transports=transports, batch_http=stub.transport,
    )  # fmt: skip
    work = shard_work(plan, "arithmetic", cell, shard)
    async with client:
        await debate_shard(work, client, Embedder(client, plan.models), plan.templates, folder / "debates.jsonl")


def in_a_process(work: Callable[[], None]) -> int:
    """Run something in a fork and return its exit status; nothing is cleaned up at its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def job(plan: Plan, folder: Path, now: float, kill_at: tuple[str, int] | None = None) -> int:
    """Run the job in a process that ends at the given occurrence of a moment."""

    def work() -> None:
        time, seen = VirtualTime(now), Counter[str]()

        def moment(name: str) -> None:
            seen[name] += 1
            if (name, seen[name]) == kill_at:
                os._exit(KILLED)

        write = CallLogs.write

        def written(self: CallLogs, *record: Any) -> object:
            moment("before line")
            said = write(self, *record)
            moment("after line")
            return said

        CallLogs.write = written  # type: ignore[assignment, method-assign]
        stub = BatchStub(folder / "provider.json", time.clock, moment=moment, lag=30.0)
        time.run(run(plan, folder, time, stub))

    return in_a_process(work)


@pytest.fixture(scope="module")
def expected(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The records of the ordinary way."""
    folder = tmp_path_factory.mktemp("ordinary")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        entry = next(iter(plan.cells[0].debate.models))
        assert entry.is_batched
        ordinary = compile_spec(_ordinary(plan, folder))
        time = VirtualTime()
        time.run(run(ordinary, folder, time, BatchStub(), is_ordinary=True))
    return (folder / "debates.jsonl").read_bytes()


def _ordinary(plan: Plan, folder: Path) -> str:
    path = folder / Path(plan.spec_path).name
    path.write_text(Path(plan.spec_path).read_text().replace(", transport: batch", ""))
    return path.as_posix()


MOMENTS = [
    ("before file", 1),
    ("after file", 1),
    ("before create", 1),
    ("after create", 1),
    ("before status", 1),
    ("after status", 3),
    ("before results", 1),
    ("after results", 1),
    ("before line", 1),
    ("after line", 4),
    ("after create", 2),
    ("before line", 13),
]


WITHOUT_FILES = [("before create", 1), ("after create", 1), ("before results", 1), ("before line", 13)]
"""The moments that are tried of message batches, which have no file."""
LATER = [(moment, DAYS) for moment in MOMENTS] + [(("before create", 1), 3.0), (("after create", 2), 3.0)]
"""A batch may not be listed three seconds after it was made."""


@pytest.mark.parametrize(("moment", "later"), LATER, ids=str)
def test_a_kill_pays_once_and_leaves_the_records_as_they_are(
    plan: Plan, expected: bytes, tmp_path: Path, moment: tuple[str, int], later: float
) -> None:
    """Twenty requests are answered once each, in two batches; the ledger has what they cost."""
    if "anthropic" in Path(plan.spec_path).name and moment not in WITHOUT_FILES:
        return
    assert job(plan, tmp_path, START, moment) == KILLED
    assert job(plan, tmp_path, START + later) == 0
    assert (tmp_path / "debates.jsonl").read_bytes() == expected
    provider = BatchStub(tmp_path / "provider.json")
    assert (provider.most_paid, sum(provider.known.paid.values())) == (1, CALLS)
    assert provider.sizes() == [CALLS // 2] * 2
    spent = spent_so_far(tmp_path / "spent")
    # The booking of a call that was killed between its line and its settlement stays: never too little is counted.
    most = 1 if moment == ("after line", 4) else 0
    assert spent.attempts == CALLS
    assert 60 * CALLS <= spent.tokens <= 60 * CALLS + most * 200


def test_killed_again_and_again_it_still_pays_once(plan: Plan, expected: bytes, tmp_path: Path) -> None:
    """One kill after the other at every moment in turn; then the run ends."""
    now = START
    for moment in [*MOMENTS, *MOMENTS]:
        assert job(plan, tmp_path, now, (moment[0], 1)) in (KILLED, 0)
        now += 1000.0
    assert job(plan, tmp_path, now) == 0
    assert (tmp_path / "debates.jsonl").read_bytes() == expected
    provider = BatchStub(tmp_path / "provider.json")
    assert (provider.most_paid, sum(provider.known.paid.values())) == (1, CALLS)


def test_a_batch_of_another_is_not_taken_for_ones_own(plan: Plan, expected: bytes, tmp_path: Path) -> None:
    """Another program made a batch of the same size in the same minute: only its custom ids show that."""
    job(plan, tmp_path, START, ("before create", 1))
    foreign = BatchStub(tmp_path / "provider.json", lambda: START)
    line = {"custom_id": "theirs", "params": {"model": "m", "messages": []}}
    foreign.known.batches["msgbatch_theirs"] = {
        **{"lines": [f"theirs-{k}" for k in range(CALLS // 2)], "made": START, "metadata": None},
        **{"input_file_id": "theirs", "refusal": None, "is_anthropic": "anthropic" in Path(plan.spec_path).name},
        "results": [{**line, "custom_id": f"theirs-{k}", "result": {"type": "expired"}} for k in range(CALLS // 2)],
    }
    foreign.answer(_status())
    assert job(plan, tmp_path, START + DAYS) == 0
    assert (tmp_path / "debates.jsonl").read_bytes() == expected
    assert BatchStub(tmp_path / "provider.json").most_paid == 1


def _status() -> object:
    import httpx

    return httpx.Request("GET", "http://stub/v1/batches/none")


def test_closing_leaves_what_is_on_its_way(plan: Plan, tmp_path: Path) -> None:
    """Ctrl-C while a batch is waited for ends at once; the next run takes it."""
    time = VirtualTime()
    stub = BatchStub(tmp_path / "provider.json", time.clock)

    async def stopped() -> None:
        task = asyncio.create_task(run(plan, tmp_path, time, stub))
        await time.sleep(600.0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    time.run(stopped())
    assert time.now < START + 700
    assert job(plan, tmp_path, START + DAYS) == 0
    assert BatchStub(tmp_path / "provider.json").sizes() == [CALLS // 2] * 2

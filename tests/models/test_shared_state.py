"""Doors of one process share what belongs to the run: calls under way, logs, gates, budget; and nothing else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from cortexdsl.core import Limits, Reply
from cortexdsl.errors import BudgetError, ModelError
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.call_log.call_locks import CallLocks
from cortexdsl.models.client import open_client
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.spending import spent_so_far
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from tests.models.kit import Fake, Time, call_of, settle, texts


def logged(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_two_clients_ask_once_and_each_writes_its_own_log(tmp_path: Path) -> None:
    """Ten equal pairs of calls and ten more that only b makes: 20 sent, each line in the log of who asked."""

    async def scene() -> None:
        fake = Fake()
        async with SharedState(fake.transports) as shared:
            a, b = (open_client(tmp_path / f"{name}.jsonl", shared=shared) for name in "ab")
            async with a, b:
                both = await asyncio.gather(*(client(call_of(seed=k)) for k in range(10) for client in (a, b)))
                await asyncio.gather(*(b(call_of(seed=k)) for k in range(10, 20)))
                assert [reply.text for reply in both[::2]] == [reply.text for reply in both[1::2]]
                assert (await a(call_of(seed=15))).text == "ok hello 15"  # from b's log, without a look at the disk
        assert len(fake.asked) == 20
        assert (a.counts.asked, b.counts.shared, b.counts.asked, a.counts.replayed) == (10, 10, 10, 1)
        assert (logged(tmp_path / "a.jsonl"), logged(tmp_path / "b.jsonl")) == (10, 10)

    asyncio.run(scene())


def test_a_job_that_is_cancelled_leaves_its_calls_to_who_shares_them(tmp_path: Path) -> None:
    async def scene() -> None:
        fake = Fake()
        fake.gate = asyncio.Event()
        async with SharedState(fake.transports) as shared:

            async def job(name: str) -> Reply:
                async with open_client(tmp_path / f"{name}.jsonl", shared=shared) as client:
                    return await client(call_of())

            first = asyncio.create_task(job("first"))
            await settle()
            second = asyncio.create_task(job("second"))
            await settle()
            assert len(fake.asked) == 1
            first.cancel()
            await settle()
            fake.gate.set()
            assert (await second).text == "ok hello 1"
            with pytest.raises(asyncio.CancelledError):
                await first
        assert logged(tmp_path / "second.jsonl") == 1

    asyncio.run(scene())


def test_who_asks_at_the_moment_at_which_a_call_is_stopped_asks_itself(tmp_path: Path) -> None:
    """The call has ended and is not struck off yet; to look for it again and again would stop the loop for good."""

    async def scene() -> None:
        fake = Fake()
        fake.gate = asyncio.Event()
        async with SharedState(fake.transports) as shared:
            a, b = (open_client(tmp_path / f"{name}.jsonl", shared=shared) for name in "ab")
            async with a, b:
                first = asyncio.create_task(a(call_of()))
                await settle()
                [under_way] = a._tasks
                first.cancel()
                under_way.cancel()
                second = asyncio.create_task(b(call_of()))  # goes on in the pass in which the call ends
                fake.gate.set()
                assert (await second).text == "ok hello 1"

    asyncio.run(scene())


@pytest.mark.parametrize(
    "kind", [FailureKind.TRANSIENT, FailureKind.RATE_LIMIT, FailureKind.MALFORMED, FailureKind.FOREIGN]
)
def test_a_job_that_fails_takes_nobody_elses_call_with_it(tmp_path: Path, kind: FailureKind) -> None:
    """It tries nothing again on its way out; who shares the call does, and one failure is no dead server."""

    async def scene() -> None:
        fake = Fake(Failure(kind, "once"))
        fake.gate = asyncio.Event()
        spent = tmp_path / "spent"
        async with SharedState(fake.transports, Time().runtime()) as shared:

            async def job(name: str) -> Reply:
                async with open_client(tmp_path / f"{name}.jsonl", ledgers=spent, shared=shared) as client:
                    if name == "first":
                        asked.append(asyncio.create_task(client(call_of())))
                        await settle()
                        await failed.wait()
                        raise ModelError("something else")
                    return await client(call_of())

            asked, failed = list[asyncio.Task[Reply]](), asyncio.Event()
            first = asyncio.create_task(job("first"))
            await settle()
            second = asyncio.create_task(job("second"))
            await settle()
            failed.set()
            await settle()
            fake.gate.set()
            assert (await second).text == "ok hello 1"
            with pytest.raises(ModelError, match="something else"):
                await first
            with pytest.raises(ModelError, match="once"):
                await asked[0]
        assert len(fake.asked) == 2
        booked = spent_so_far(spent)
        assert (booked.attempts, booked.tokens) == (2, 15 + (1 if kind is FailureKind.MALFORMED else 0))
        assert booked.dollars == 0.0
        assert (logged(tmp_path / "first.jsonl"), logged(tmp_path / "second.jsonl")) == (0, 1)

    asyncio.run(scene())


def test_limits_and_connections_hold_over_all_clients(tmp_path: Path) -> None:
    async def scene() -> None:
        fake = Fake()
        limits = Limits(calls=30, connections=3)
        async with SharedState(fake.transports) as shared:
            clients = [
                open_client(tmp_path / "calls" / f"{k}.jsonl", limits=limits, ledgers=tmp_path / "spent", shared=shared)
                for k in range(4)
            ]
            for client in clients:
                await client.__aenter__()
            calls = (client(call_of(seed=100 * k + j)) for k, client in enumerate(clients) for j in range(10))
            found = await asyncio.gather(*calls, return_exceptions=True)
            for client in clients:
                await client.__aexit__(None, None, None)
        assert sum(isinstance(each, Reply) for each in found) == 30
        assert sum(isinstance(each, BudgetError) for each in found) == 10
        assert fake.most_in_flight == 3

    asyncio.run(scene())


def test_each_client_tallies_what_is_its_own(tmp_path: Path) -> None:
    """Three calls of 10 and 5 tokens by one client, one by the other: 30 and 15, 10 and 5."""

    async def scene() -> None:
        fake = Fake()
        spent = tmp_path / "spent"
        async with SharedState(fake.transports) as shared:
            a, b = (
                open_client(tmp_path / f"{name}.jsonl", ledgers=spent, job=f"set/{name}", shared=shared)
                for name in "ab"
            )
            async with a, b:
                assert json.loads((spent / "set~a.json").read_text())["state"] == "running"
                assert texts([await a(call_of(seed=k)) for k in range(3)]) == [f"ok hello {k}" for k in range(3)]
                await b(call_of(seed=9))
        said = [json.loads((spent / f"set~{name}.json").read_text()) for name in "ab"]
        assert [(each["state"], each["calls"]["asked"], each["tokens"]) for each in said] == [
            ("done", 3, {"input": 30, "output": 15, "cached": 0}),
            ("done", 1, {"input": 10, "output": 5, "cached": 0}),
        ]

    asyncio.run(scene())


def test_whoever_gets_a_claim_knows_whether_others_have_logged_anything(tmp_path: Path) -> None:
    """Of one's own calls there is no news, nor of what was asked about before."""
    mine, others = CallLocks(tmp_path), CallLocks(tmp_path)
    assert mine.has_news()  # it has not looked yet
    assert not mine.has_news()
    mine.tell()
    assert [mine.has_news(), others.has_news(), others.has_news()] == [False, True, False]
    others.tell()
    others.tell()
    assert [mine.has_news(), mine.has_news(), others.has_news()] == [True, False, False]


def test_what_another_process_has_logged_meanwhile_is_not_asked(tmp_path: Path) -> None:
    """Separate shared states stand for separate processes."""

    async def scene() -> None:
        fake = Fake()
        async with SharedState(fake.transports) as one, SharedState(fake.transports) as two:
            a, b = open_client(tmp_path / "a.jsonl", shared=one), open_client(tmp_path / "b.jsonl", shared=two)
            async with a, b:
                for k in range(5):
                    await a(call_of(seed=k))
                    await b(call_of(seed=k))
                    await b(call_of(seed=10 + k))
                    await a(call_of(seed=10 + k))
        assert len(fake.asked) == 10
        assert (a.counts.asked, a.counts.replayed, b.counts.asked, b.counts.replayed) == (5, 5, 5, 5)

    asyncio.run(scene())


def test_news_that_one_call_has_read_is_known_to_the_others_that_waited(tmp_path: Path) -> None:
    """Ten calls wait for claims that another process has; the first that gets its own reads what is new for all."""

    async def scene() -> None:
        fake = Fake()
        async with SharedState(fake.transports) as one, SharedState(fake.transports) as two:
            a, b = open_client(tmp_path / "a.jsonl", shared=one), open_client(tmp_path / "b.jsonl", shared=two)
            async with a, b:
                await b(call_of(seed=99))  # b has looked
                before = [b.logs.get(call_key(call_of(seed=k))) for k in range(10)]
                await asyncio.gather(*(a(call_of(seed=k)) for k in range(10)))
                await asyncio.gather(*(b(call_of(seed=k)) for k in range(10)))
        assert before == [None] * 10
        assert len(fake.asked) == 11
        assert b.counts.replayed == 10

    asyncio.run(scene())

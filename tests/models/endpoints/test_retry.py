"""Faults: every attempt is accounted for by kind; a dead server is found once a run, and waited for where asked."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Call, Limits, Reply
from cortexdsl.errors import BudgetError, ModelError
from cortexdsl.models.client import open_client
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.spending import spent_so_far
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw, TokenCounts
from tests.models.kit import Fake, Time, call_of, settle

DEAD = Failure(FailureKind.TRANSIENT, "connection refused")


def dead(_: object) -> Failure:
    return Failure(FailureKind.TRANSIENT, "connection refused")


async def job(
    name: str,
    root: Path,
    fake: Fake,
    time: Time,
    calls: int = 8,
    most: int | None = None,
    shared: SharedState | None = None,
    **limits: Any,
) -> list[Any]:
    """One job of a run, by default as a process of its own would do it; it may make `most` calls."""
    log = root / "calls" / f"{name}.jsonl"
    allowed = Limits(connections=4, calls=most, **limits)
    client = open_client(
        log, limits=allowed, ledgers=root / "spent", job=name, transports=fake.transports, runtime=time.runtime(),
        shared=shared,
    )  # fmt: skip
    async with client:
        asked = [client(call_of(name, k)) for k in range(calls)]
        return list(await asyncio.gather(*asked, return_exceptions=True))


def test_a_dead_server_is_found_by_the_first_job_and_tried_once_by_each_other(tmp_path: Path) -> None:
    """Eight jobs of one process with one call each: six attempts by the first, then seven single ones, not 48. A call
    that is answered ends this: an ordinary fault is then tried again as ever.
    """

    async def scene() -> None:
        fake, time = Fake(), Time()
        fake.answer = dead
        async with SharedState(fake.transports, time.runtime()) as shared:
            for number in range(8):
                [error] = await job(f"job{number}", tmp_path, fake, time, calls=1, shared=shared)
                assert isinstance(error, ModelError)
            assert len(fake.asked) == 6 + 7
            assert time.now < 16  # the waits of the first job alone: 0.5 + 1 + 2 + 4 + 8 s
            fake.answer = lambda call: "ok"
            assert all(isinstance(each, Reply) for each in await job("up", tmp_path, fake, time, shared=shared))
            asked = len(fake.asked)
            fake.script = [DEAD]
            [reply] = await job("last", tmp_path, fake, time, calls=1, shared=shared)
            assert isinstance(reply, Reply)
            assert len(fake.asked) == asked + 2

    asyncio.run(scene())


def test_one_unlucky_call_of_a_server_that_answers_others_is_no_outage(tmp_path: Path) -> None:
    async def scene() -> None:
        fake, time = Fake(), Time()
        fake.answer = lambda call: DEAD if call.seed == 3 else "ok"
        found = await job("first", tmp_path, fake, time)
        assert sum(isinstance(each, ModelError) for each in found) == 1
        assert len(fake.asked) == 7 + 6  # the unlucky call has all its attempts

    asyncio.run(scene())


def test_a_server_that_is_waited_for_is_tried_by_one_call_at_a_time_until_it_is_back(tmp_path: Path) -> None:
    """It is dead for two minutes: 20 calls are all answered, after six failures each at most, and one every 5 s by all
    of them together; if each tried every 5 s these were 480."""

    async def scene() -> None:
        fake, time = Fake(), Time()
        fake.answer = lambda call: DEAD if time.now < 120 else "ok"
        found = await job("first", tmp_path, fake, time, calls=20, wait=600.0)
        assert all(isinstance(each, Reply) for each in found)
        assert len(fake.asked) - 20 <= 20 * 6 + 24

    asyncio.run(scene())


def test_a_server_that_dies_while_calls_are_on_their_way_is_waited_for(tmp_path: Path) -> None:
    """One call is answered while another, sent before, is still on its way: that says nothing of what comes after."""

    async def scene() -> None:
        fake, time = Fake(), Time()
        slow = asyncio.Event()

        async def send(call: Call, *_: object) -> Raw:
            fake.asked.append(call)
            if call.seed == 0 and not slow.is_set():
                await slow.wait()
                time.now += 1
            elif call.seed == 1:
                time.now += 1
                slow.set()
                return Raw("fine", "stop", TokenCounts(1, 1))
            if time.now < 100:
                raise Failure(FailureKind.TRANSIENT, "connection refused")
            return Raw("back", "stop", TokenCounts(1, 1))

        fake.send = send  # type: ignore[assignment]
        first, second = await job("only", tmp_path, fake, time, calls=2, wait=600.0)
        assert (first.text, second.text) == ("back", "fine")

    asyncio.run(scene())


def test_patience_does_not_run_out_while_a_call_waits_for_a_place(tmp_path: Path) -> None:
    """One connection and replies of 1,000 s: what fails once after it waited so long for its place is tried again."""

    async def scene() -> None:
        fake, time = Fake(), Time()
        failed: set[int] = set()

        async def send(call: Call, *_: object) -> Raw:
            fake.asked.append(call)
            if call.seed and call.seed not in failed:
                failed.add(call.seed)
                raise Failure(FailureKind.TRANSIENT, "once")
            await settle()  # all others have come to the gate
            await time.sleep(1000)
            return Raw("fine", "stop", TokenCounts(1, 1))

        fake.send = send  # type: ignore[assignment]
        allowed = Limits(connections=1)
        async with open_client(tmp_path / "own.jsonl", limits=allowed, transports=fake.transports,
                             runtime=time.runtime()) as client:  # fmt: skip
            replies = await asyncio.gather(*(client(call_of(seed=k)) for k in range(4)))
        assert [reply.text for reply in replies] == ["fine"] * 4
        assert len(fake.asked) == 7

    asyncio.run(scene())


def test_nobody_waits_for_a_server_that_wants_to_be_left_alone_until_tomorrow(tmp_path: Path) -> None:
    """A spent daily quota says `Retry-After: 86400`: every call ends, and none waits at the gate for a day."""

    async def scene() -> None:
        fake, time = Fake(), Time()
        fake.answer = lambda call: Failure(FailureKind.RATE_LIMIT, "tomorrow", retry_after=86400)
        found = await asyncio.wait_for(job("only", tmp_path, fake, time, calls=12), 5)
        assert [type(each) for each in found] == [ModelError] * 12
        assert len(fake.asked) == 12

    asyncio.run(scene())


def test_waiting_ends(tmp_path: Path) -> None:
    async def scene() -> None:
        fake, time = Fake(), Time()
        fake.answer = dead
        found = await job("first", tmp_path, fake, time, calls=4, wait=60.0)
        assert all(isinstance(each, ModelError) for each in found)
        assert 60 <= time.now < 150
        assert len(fake.asked) < 4 * 6 + 60 / 5 + 8

    asyncio.run(scene())


def mixed(seen: Counter[str], kinds: Sequence[FailureKind]) -> Callable[[object], Failure | str]:
    """A fifth of all attempts fail, in ways drawn by a seeded generator and counted in `seen`."""
    chance = random.Random(7)

    def answer(_: object) -> Failure | str:
        if chance.random() >= 0.2:
            return "fine"
        kind = chance.choice(kinds)
        seen[kind.slug] += 1
        return Failure(kind, "made up")

    return answer


PASSING = [FailureKind.RATE_LIMIT, FailureKind.TRANSIENT, FailureKind.MALFORMED, FailureKind.FOREIGN]


def test_every_attempt_of_a_fault_mix_is_accounted_for_by_kind(tmp_path: Path) -> None:
    """What the server saw is what is kept, in the log by call, in the tally by kind, in the ledger as calls."""
    seen: Counter[str] = Counter()

    async def scene() -> None:
        fake = Fake()
        fake.answer = mixed(seen, [*PASSING, FailureKind.CONTENT_FILTER])
        found = await job("mix", tmp_path, fake, Time(), calls=500, failed=1.0)
        assert all(isinstance(each, Reply) for each in found)
        lines = [json.loads(line) for line in (tmp_path / "calls" / "mix.jsonl").read_text().splitlines()]
        assert all(line["attempts"] == 1 + sum(line["retries"].values()) for line in lines)
        assert sum(line["attempts"] for line in lines) == len(fake.asked)
        kept: Counter[str] = Counter()
        for line in lines:
            kept.update(line["retries"])
            if line["error"] is not None:
                kept["content_filter"] += line["error"] == "content filter: made up"
        assert kept == seen
        assert_all_is_told(tmp_path, fake, seen)

    asyncio.run(scene())


@pytest.mark.parametrize(
    "last", [None, Failure(FailureKind.AUTHENTICATION, "no such key")], ids=["a limit", "an error"]
)
def test_attempts_before_an_end_are_accounted_for_too(tmp_path: Path, last: Failure | None) -> None:
    """Calls that were being tried again when a limit was reached, or the key was refused, leave no line in a log."""
    seen: Counter[str] = Counter()

    async def scene() -> None:
        fake = Fake()
        answer = mixed(seen, PASSING)

        def until_the_key_expires(call: object) -> Failure | str:
            if last is None or len(fake.asked) <= 100:
                return answer(call)
            seen[last.kind.slug] += 1
            return Failure(last.kind, last.what)

        fake.answer = until_the_key_expires
        found = await job("mix", tmp_path, fake, Time(), calls=300, most=100 if last is None else None)
        assert any(isinstance(each, BudgetError if last is None else ModelError) for each in found)
        assert_all_is_told(tmp_path, fake, seen)

    asyncio.run(scene())


def assert_all_is_told(root: Path, fake: Fake, seen: Counter[str]) -> None:
    """By the tally, kind by kind, and by the ledger: every attempt that the server saw, and no other."""
    [tally] = [json.loads(path.read_bytes()) for path in (root / "spent").glob("*.json")]
    assert Counter(tally["retries"]) + Counter(tally["failures"]) == seen
    assert tally["calls"]["asked"] + tally["calls"]["retried"] == len(fake.asked)
    assert spent_so_far(root / "spent").attempts == len(fake.asked)

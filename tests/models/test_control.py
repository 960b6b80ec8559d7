"""A running experiment obeys pauses and limits that were changed beside its spec."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from cortexdsl.core import Limits, Rate, RateLimit
from cortexdsl.errors import BudgetError, RecordError
from cortexdsl.models.client import open_client
from cortexdsl.models.control import Controls, Pause, read_controls, write_controls
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from tests.models.kit import Fake, Time, call_of, settle

SLOW = Rate((RateLimit(60, 60.0),))


def test_what_is_in_force_is_read_as_it_was_written(tmp_path: Path) -> None:
    controls = Controls(
        Pause("2027-01-01T00:00:00+00:00", "ann", "why"),
        {"dollars": 3.5, "calls": 4},
    )
    write_controls(tmp_path, controls)
    assert read_controls(tmp_path) == controls
    write_controls(tmp_path, Controls())
    assert list(tmp_path.iterdir()) == []
    assert read_controls(tmp_path) == Controls()


def test_limits_of_an_earlier_version_hold(tmp_path: Path) -> None:
    limits = {"calls": {"value": 7, "before": 100}, "connections": {"value": 4, "before": 16}}
    (tmp_path / ".control").write_text(json.dumps({"schema_version": 1, "paused": None, "limits": limits}))
    assert read_controls(tmp_path).applied(Limits(calls=100)) == Limits(calls=7)


@pytest.mark.parametrize("content", ["", "[]", '{"schema_version": 1, "paused": 3, "limits": {}, "rates": {}}'])
def test_a_damaged_file_is_an_error_for_the_verbs(tmp_path: Path, content: str) -> None:
    (tmp_path / ".control").write_text(content)
    with pytest.raises(RecordError, match="cannot be read"):
        read_controls(tmp_path)


def test_a_paused_experiment_sends_nothing_finishes_what_is_on_its_way_and_goes_on(tmp_path: Path) -> None:
    """Paused for 100 s after the first call was sent; the time does not count as that of a job."""
    time, fake = Time(), Fake()
    spent = tmp_path / "spent"

    async def sleep(seconds: float) -> None:
        await Time.sleep(time, seconds)
        if time.now >= 100.0:
            write_controls(spent, Controls())

    async def scene() -> tuple[int, float]:
        fake.gate = asyncio.Event()
        runtime = replace(time.runtime(), sleep=sleep)
        limits = Limits(seconds=50.0)
        log = tmp_path / "own.jsonl"
        async with open_client(
            log, transports=fake.transports, runtime=runtime, limits=limits, ledgers=spent
        ) as client:
            first = asyncio.create_task(client(call_of("first")))
            await settle()
            write_controls(spent, Controls(Pause("t", "ann")))
            time.now += 2.0
            second = asyncio.create_task(client(call_of("second")))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            sent_while_paused = len(fake.asked)
            fake.gate.set()
            assert (await first).text == "ok first 1"
            assert (await second).text == "ok second 1"
            return sent_while_paused, client.budget.total.seconds

    sent, seconds = asyncio.run(scene())
    assert sent == 1
    assert time.now >= 100.0
    assert seconds < 10.0


def test_a_lowered_limit_stops_and_a_raised_one_goes_on(tmp_path: Path) -> None:
    time, fake = Time(), Fake()
    spent = tmp_path / "spent"

    async def scene() -> None:
        log = tmp_path / "own.jsonl"
        limits = Limits(calls=100)
        runtime = time.runtime()
        async with open_client(
            log, transports=fake.transports, runtime=runtime, limits=limits, ledgers=spent
        ) as client:
            await client(call_of("a"))
            write_controls(spent, Controls(limits={"calls": 1}))
            time.now += 2.0
            with pytest.raises(BudgetError, match=r"limit of 1 calls .* cortexdsl limit NAME --calls N and run again"):
                await client(call_of("b"))
            write_controls(spent, Controls(limits={"calls": 3}))
            time.now += 2.0
            await client(call_of("b"))

    asyncio.run(scene())


def test_a_rate_is_kept_by_all_calls_of_a_model(tmp_path: Path) -> None:
    """Ten calls to two entries at 60 a minute take nine intervals of 1.01 s."""
    time, fake = Time(), Fake()

    async def scene() -> None:
        runtime = time.runtime()
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports, runtime=runtime) as client:
            await asyncio.gather(*(client(call_of(model="fake/0", seed=k, rate=SLOW)) for k in range(10)))

    asyncio.run(scene())
    assert time.now == pytest.approx(9 * 1.01 - 0.6, abs=0.8)


def test_calls_that_wait_for_a_slow_rate_hold_no_place_of_others(tmp_path: Path) -> None:
    """Two connections to one address: nine calls of a slow model wait, and five of another one are all answered."""
    time, fake = Time(), Fake()
    slow = Rate((RateLimit(1, 3600.0),))

    async def scene() -> float:
        runtime = time.runtime()
        log = tmp_path / "own.jsonl"
        async with open_client(
            log, transports=fake.transports, runtime=runtime, limits=Limits(connections=2)
        ) as client:
            waiting = [asyncio.create_task(client(call_of(model="fake/slow", seed=k, rate=slow))) for k in range(9)]
            await settle()
            await asyncio.gather(*(client(call_of(model="fake/fast", seed=k)) for k in range(5)))
            answered_at = time.now
            for task in waiting:
                task.cancel()
            return answered_at

    assert asyncio.run(scene()) < 60.0


def test_tokens_of_failures_are_given_back_and_a_long_timeout_has_more_patience(tmp_path: Path) -> None:
    """A refusal costs none of the 1,000 tokens a minute; with a timeout of 20 min the third attempt is in time."""
    time, fake = Time(), Fake(Failure(FailureKind.RATE_LIMIT, "slow down"))
    rate = Rate((), (RateLimit(1000, 60.0),))

    async def scene() -> None:
        runtime = time.runtime()
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports, runtime=runtime) as client:
            await client(call_of(rate=rate, options={"max_tokens": 900}))
            assert time.now < 5.0
            late = Failure(FailureKind.TRANSIENT, "no reply in time")
            fake.script = [late, late]
            fake.answer = lambda call: "at last"

            async def slowly(call: object, base: str | None, key: str | None) -> object:
                time.now += 1200.0
                return await Fake.send(fake, call, base, key)  # type: ignore[arg-type]

            fake.send = slowly  # type: ignore[method-assign,assignment]
            assert (await client(call_of("long", timeout=1200.0))).text == "at last"

    asyncio.run(scene())
    assert json.loads((tmp_path / "own.jsonl").read_text().splitlines()[1])["attempts"] == 3

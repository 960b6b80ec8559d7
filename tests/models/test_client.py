"""The client: calls are sent once, logged, replayed and shared; keys cover what can change a reply."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.core import AS_WRITTEN, Call, Limits, Model, Price, Reply
from cortexdsl.errors import BudgetError, ModelError
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.call_log import call_locks
from cortexdsl.models.client import open_client
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw
from tests.models.kit import Fake, Time, call_of, settle, texts


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_call_is_asked_logged_and_then_replayed(tmp_path: Path) -> None:
    async def scene() -> None:
        fake = Fake()
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
            first = await client(call_of())
            second = await client(call_of())
        assert first == second == Reply(call_key(call_of()), "ok hello 1", "stop", 10, 5)
        assert len(fake.asked) == 1
        assert (client.counts.asked, client.counts.replayed, client.counts.shared) == (1, 1, 0)
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
            assert await client(call_of()) == first
        assert len(fake.asked) == 1

    asyncio.run(scene())


def test_equal_calls_at_once_are_one(tmp_path: Path) -> None:
    async def scene() -> None:
        fake = Fake()
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
            replies = await asyncio.gather(*(client(call_of(seed=k % 2)) for k in range(10)))
        assert len(fake.asked) == 2
        assert texts(replies) == ["ok hello 0", "ok hello 1"] * 5
        assert (client.counts.asked, client.counts.shared) == (2, 8)
        assert len(lines(tmp_path / "own.jsonl")) == 2

    asyncio.run(scene())


def test_a_call_that_brings_no_reply_was_shared_with_nobody(tmp_path: Path) -> None:
    """A key that is refused ends all ten that wait: nothing was saved by asking once."""

    async def scene() -> None:
        fake = Fake(Failure(FailureKind.AUTHENTICATION, "no"))
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
            found = await asyncio.gather(*(client(call_of()) for _ in range(10)), return_exceptions=True)
        assert all(isinstance(each, ModelError) for each in found)
        assert client.counts.shared == 0

    asyncio.run(scene())


def test_offline_replays_and_asks_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        fake = Fake()
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
            await client(call_of())
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        async with open_client(None, folder=tmp_path, offline=True, transports=fake.transports) as client:
            assert (await client(call_of())).text == "ok hello 1"
            with pytest.raises(ModelError, match=r"offline: a call to fake/model .* none of the call logs"):
                await client(call_of("other"))
        assert len(fake.asked) == 1
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before

    asyncio.run(scene())


def test_a_client_that_asks_needs_a_log_and_an_offline_one_a_folder() -> None:
    with pytest.raises(ValueError, match="log of its own"):
        open_client(None)
    with pytest.raises(ValueError, match="folder"):
        open_client(None, offline=True)


def test_what_may_pass_is_tried_again_with_growing_waits(tmp_path: Path) -> None:
    """Waits of 0.5, 1 and 2 s by doubling, but 3 s where the server asks for it."""

    async def scene() -> None:
        fake, time = Fake(), Time()
        fake.script = [
            Failure(FailureKind.TRANSIENT, "500"),
            Failure(FailureKind.RATE_LIMIT, "429", retry_after=3.0),
            Failure(FailureKind.MALFORMED, "half"),
            "at last",
        ]
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports, runtime=time.runtime()) as client:
            assert (await client(call_of())).text == "at last"
        assert time.slept == [0.5, 3.0, 2.0]
        assert lines(tmp_path / "own.jsonl")[0]["attempts"] == 4

    asyncio.run(scene())


@pytest.mark.parametrize(
    "kind", [FailureKind.QUOTA, FailureKind.AUTHENTICATION, FailureKind.BAD_REQUEST, FailureKind.NOT_FOUND]
)
def test_what_cannot_pass_ends_at_once_and_is_not_kept(tmp_path: Path, kind: FailureKind) -> None:
    async def scene() -> None:
        fake = Fake(Failure(kind, "said the server"))
        with pytest.raises(ModelError) as caught:
            async with open_client(
                tmp_path / "own.jsonl", transports=fake.transports, runtime=Time().runtime()
            ) as client:
                await client(call_of(api_base="http://user:pass@127.0.0.1:1/v1?token=x"))
        assert len(fake.asked) == 1
        said = str(caught.value)
        assert said.startswith(
            f"{kind.value}: model entry (fake/model) at http://127.0.0.1:1/v1: said the server\n    "
        )
        assert lines(tmp_path / "own.jsonl") == []

    asyncio.run(scene())


@pytest.mark.parametrize(("kind", "attempts"), [(FailureKind.TRANSIENT, 6), (FailureKind.RATE_LIMIT, 20)])
def test_patience_ends_and_the_failure_is_not_kept_as_a_reply(tmp_path: Path, kind: FailureKind, attempts: int) -> None:
    async def scene() -> None:
        fake = Fake()
        fake.answer = lambda call: Failure(kind, "again")
        with pytest.raises(ModelError, match=rf"tried {attempts} times"):
            async with open_client(
                tmp_path / "own.jsonl", transports=fake.transports, runtime=Time().runtime()
            ) as client:
                await client(call_of())
        assert lines(tmp_path / "own.jsonl") == []

    asyncio.run(scene())


def test_patience_is_bounded_in_time_too(tmp_path: Path) -> None:
    """A server that asks for an hour is not waited for: 900 s are the most."""

    async def scene() -> None:
        fake, time = Fake(Failure(FailureKind.RATE_LIMIT, "later", retry_after=3600.0)), Time()
        with pytest.raises(ModelError, match="rate limit: "):
            async with open_client(
                tmp_path / "own.jsonl", transports=fake.transports, runtime=time.runtime()
            ) as client:
                await client(call_of())
        assert time.slept == []

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("said", "attempts", "error"),
    [
        (Failure(FailureKind.CONTEXT_WINDOW, "too long"), 1, "context window exceeded: too long"),
        (Failure(FailureKind.CONTENT_FILTER, "no"), 1, "content filter: no"),
        (Failure(FailureKind.MALFORMED, "half"), 5, "malformed reply: half"),
        (Raw("", "stop"), 5, "malformed reply: empty reply"),
        (Raw("  \n", "stop"), 5, "malformed reply: empty reply"),
        (Raw("", "length"), 1, "malformed reply: empty reply, cut at its length limit: raise `max_tokens`"),
        (Raw("part", "content_filter"), 1, "content filter: the provider withheld the reply"),
    ],
)
def test_a_failure_of_one_call_is_data(tmp_path: Path, said: Raw | Failure, attempts: int, error: str) -> None:
    """It is told in the reply, logged, counted, and not asked again on replay unless that is wished."""

    async def scene() -> None:
        fake = Fake()
        fake.answer = lambda call: said
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports, runtime=Time().runtime()) as client:
            reply = await client(call_of())
        assert (reply.text, reply.error, len(fake.asked), client.counts.failed) == ("", error, attempts, 1)
        assert lines(tmp_path / "own.jsonl")[0]["reply"] is None
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
            assert await client(call_of()) == reply
        assert len(fake.asked) == attempts
        fake.answer = lambda call: "fine"
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports, errors_again=True) as client:
            assert (await client(call_of())).text == "fine"

    asyncio.run(scene())


def test_what_the_server_did_not_count_is_none(tmp_path: Path) -> None:
    async def scene() -> None:
        fake = Fake(Raw("text", None))
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
            reply = await client(call_of())
        assert (reply.prompt_tokens, reply.completion_tokens, reply.finish_reason) == (None, None, None)

    asyncio.run(scene())


def test_at_most_connections_are_in_flight(tmp_path: Path) -> None:
    async def scene() -> None:
        fake = Fake()
        limits = Limits(connections=3)
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports, limits=limits) as client:
            await asyncio.gather(*(client(call_of(seed=k)) for k in range(30)))
        assert fake.most_in_flight == 3

    asyncio.run(scene())


def test_who_stops_waiting_does_not_stop_the_call(tmp_path: Path) -> None:
    """The reply is paid for: it is logged, and another who waits for it gets it."""

    async def scene() -> None:
        fake = Fake()
        fake.gate = asyncio.Event()
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
            gone, stays = asyncio.create_task(client(call_of())), asyncio.create_task(client(call_of()))
            await settle()
            gone.cancel()
            await settle()
            fake.gate.set()
            assert (await stays).text == "ok hello 1"
        assert len(lines(tmp_path / "own.jsonl")) == 1

    asyncio.run(scene())


def test_closing_after_a_failure_keeps_replies_that_are_on_their_way(tmp_path: Path) -> None:
    async def scene() -> None:
        fake = Fake()
        gate = fake.gate = asyncio.Event()
        asked: list[asyncio.Task[Reply]] = []

        async def job() -> None:
            async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
                asked.append(asyncio.create_task(client(call_of())))
                await settle()
                asyncio.get_running_loop().call_soon(gate.set)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await job()
        assert (await asked[0]).text == "ok hello 1"
        assert len(lines(tmp_path / "own.jsonl")) == 1

    asyncio.run(scene())


def test_a_debate_that_the_failure_of_another_cancels_keeps_its_reply(tmp_path: Path) -> None:
    """The other debates of a job are cancelled when one fails: their calls are paid for, and are logged."""

    async def scene() -> None:
        fake = Fake()
        gate = fake.gate = asyncio.Event()

        async def job() -> None:
            async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
                debate = asyncio.create_task(client(call_of()))
                await settle()
                debate.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await debate
                asyncio.get_running_loop().call_soon(gate.set)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await job()
        assert len(lines(tmp_path / "own.jsonl")) == 1

    asyncio.run(scene())


def test_a_cancelled_job_leaves_the_log_whole_and_at_once(tmp_path: Path) -> None:
    async def job(fake: Fake) -> None:
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
            await client(call_of("first"))
            fake.gate = asyncio.Event()
            await client(call_of("second"))

    async def scene() -> None:
        fake = Fake()
        task = asyncio.create_task(job(fake))
        await settle(50)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(lines(tmp_path / "own.jsonl")) == 1
        async with open_client(tmp_path / "own.jsonl", transports=Fake().transports) as client:
            await client(call_of("first"))
        assert client.counts.replayed == 1

    asyncio.run(scene())


def test_a_call_that_another_process_is_asking_is_waited_for_and_taken_from_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locks bind processes, so the other one is played: its claim is refused twice, then its log has the reply."""
    tries: list[int] = []

    async def scene() -> None:
        other = Fake("theirs")
        async with open_client(tmp_path / "other.jsonl", transports=other.transports) as theirs:

            def granted(file: int, position: int) -> bool:
                tries.append(1)
                return len(tries) > 2

            fake, time = Fake(), Time()
            async with open_client(
                tmp_path / "own.jsonl", transports=fake.transports, runtime=time.runtime()
            ) as client:
                await theirs(call_of())
                monkeypatch.setattr(call_locks, "_is_granted", granted)
                assert (await client(call_of())).text == "theirs"
            assert fake.asked == []
            assert len(time.slept) == 2

    asyncio.run(scene())


def test_costs_follow_the_price_of_the_spec(tmp_path: Path) -> None:
    """10 tokens at 1e-3 dollars and 5 at 2e-3: 0.02 dollars."""

    async def scene() -> None:
        fake = Fake()
        async with open_client(tmp_path / "own.jsonl", transports=fake.transports) as client:
            await client(call_of(price=Price(1e-3, 2e-3)))
            assert client.budget.total.dollars == pytest.approx(0.02)
        assert lines(tmp_path / "own.jsonl")[0]["dollars"] == pytest.approx(0.02)

    asyncio.run(scene())


def test_what_is_said_as_it_is_written_makes_no_price_known(tmp_path: Path) -> None:
    """It costs nothing, and beside a model without a price nobody knows what the job cost."""

    async def scene() -> None:
        fake = Fake()
        async with open_client(tmp_path / "own.jsonl", transports={**fake.transports, "tool": fake}) as client:
            await client(replace(call_of(), model=AS_WRITTEN))
            await client(call_of())
            assert client.tally.value()["dollars"] is None

    asyncio.run(scene())


def test_a_limit_of_calls_is_exact_and_replayed_calls_are_not_spent_again(tmp_path: Path) -> None:
    async def scene() -> None:
        fake = Fake()
        limits = Limits(calls=5)

        async def run(allowed: Limits) -> list[object]:
            async with open_client(
                tmp_path / "own.jsonl", transports=fake.transports, limits=allowed, ledgers=tmp_path / "spent"
            ) as client:
                return list(await asyncio.gather(*(client(call_of(seed=k)) for k in range(8)), return_exceptions=True))

        first = await run(limits)
        assert sum(isinstance(each, Reply) for each in first) == 5
        errors = [each for each in first if isinstance(each, BudgetError)]
        assert len(errors) == 3
        assert "nothing finished is lost" in str(errors[0])
        assert len(fake.asked) == 5
        await run(limits)
        assert len(fake.asked) == 5
        assert all(isinstance(each, Reply) for each in await run(replace(limits, calls=8)))
        assert len(fake.asked) == 8

    asyncio.run(scene())


MODEL = Model(
    "small", "openai/qwen", "env:URL", "KEY", {"temperature": 0.7, "stop": ["a", "b"]}, 7e9, 1e12, (1e-6, 2e-6)
)
CALL = Call(MODEL, ({"role": "system", "content": "s"}, {"role": "user", "content": "u"}), 3)


def test_the_key_is_sha256_over_canonical_json() -> None:
    """Worked out by hand: the JSON text of the five fields, sorted, without spaces."""
    text = (
        '{"api_base":"env:URL","messages":[{"content":"s","role":"system"},{"content":"u","role":"user"}],'
        '"model":"openai/qwen","options":{"stop":["a","b"],"temperature":0.7},"seed":3}'
    )
    assert call_key(CALL) == hashlib.sha256(text.encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    "other",
    [
        replace(CALL, seed=4),
        replace(CALL, messages=CALL.messages[1:]),
        replace(CALL, messages=CALL.messages[::-1]),
        replace(CALL, messages=({"role": "user", "content": "s"}, CALL.messages[1])),
        replace(CALL, messages=({"role": "system", "content": "s "}, CALL.messages[1])),
        replace(CALL, model=replace(MODEL, model="openai/llama")),
        replace(CALL, model=replace(MODEL, api_base="env:OTHER")),
        replace(CALL, model=replace(MODEL, api_base=None)),
        replace(CALL, model=replace(MODEL, options={"temperature": 0.8, "stop": ["a", "b"]})),
        replace(CALL, model=replace(MODEL, options={"temperature": 0.7, "stop": ["b", "a"]})),
        replace(CALL, model=replace(MODEL, options={"temperature": 0.7})),
        replace(CALL, model=replace(MODEL, options={"temperature": "0.7", "stop": ["a", "b"]})),
    ],
)
def test_what_changes_the_reply_changes_the_key(other: Call) -> None:
    assert call_key(other) != call_key(CALL)


@pytest.mark.parametrize(
    "other",
    [
        replace(MODEL, name="renamed"),
        replace(MODEL, price=Price(9.0, 9.0)),
        replace(MODEL, api_key_env="OTHER"),
        replace(MODEL, parameters=1.0, tokens=None),
        replace(MODEL, options=MappingProxyType({"stop": ("a", "b"), "temperature": 0.7})),
    ],
)
def test_what_cannot_change_the_reply_does_not_change_the_key(other: Model) -> None:
    assert call_key(replace(CALL, model=other)) == call_key(CALL)


def test_a_whole_number_is_one_number_however_it_is_written_and_true_is_none() -> None:
    def key(value: object) -> str:
        return call_key(replace(CALL, model=replace(MODEL, options={"temperature": value})))

    assert key(1) == key(1.0)
    assert key(1) != key(True)


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        call_key(replace(CALL, model=replace(MODEL, options={"temperature": float("nan")})))


@given(st.text(), st.text())
def test_different_texts_have_different_keys(one: str, other: str) -> None:
    """Whatever the characters, lone surrogates and NUL among them."""

    def key(text: str) -> str:
        return call_key(replace(CALL, messages=({"role": "user", "content": text + "\ud800\x00"},)))

    assert (key(one) == key(other)) == (one == other)

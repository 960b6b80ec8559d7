"""Calls that wait together become one batch; what becomes of each is what it is by the ordinary way."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from cortexdsl.core import BatchSettings, Call, Limits, Price, Reply
from cortexdsl.errors import BudgetError, ModelError
from cortexdsl.models.batches.queues import LINGER
from cortexdsl.models.batches.requests import Access, BatchRequest, wording_of
from cortexdsl.models.client import Client, open_client
from cortexdsl.models.spending import spent_so_far
from cortexdsl.models.transports.interface import Raw
from tests.models.batch_stub import BatchStub
from tests.models.batches.kit import ANTHROPIC, KEYS, OPENAI, OrdinaryWay, VirtualTime, call_of, client_of, model_of
from tests.models.kit import Fake

BOTH = pytest.mark.parametrize("entry", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """litellm reads keys from the environment of the process."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def scene_of() -> tuple[VirtualTime, BatchStub]:
    """Return time, and a provider whose batches take an hour of it."""
    time = VirtualTime()
    return time, BatchStub(now=time.clock)


def lines(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return sorted(found, key=lambda record: record["key"])


async def rounds(client: Client, number: int, debates: int, **entry: Any) -> list[list[Reply]]:
    """Run debates of some rounds, each round showing the reply before it."""

    async def debate(name: int) -> list[Reply]:
        replies: list[Reply] = []
        for _ in range(number):
            told = replies[-1].text if replies else "nothing"
            replies.append(await client(call_of(f"debate {name}: {told}", **entry)))
        return replies

    return list(await asyncio.gather(*(debate(name) for name in range(debates))))


def test_a_wave_waits_for_calls_whose_requests_are_still_being_worded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of three requests takes longer than the pause after which a wave closes: still one batch of three."""
    time, stub = scene_of()
    plain = wording_of(model_of())

    class Slow:
        read = staticmethod(plain.read)

        async def request(self, call: Call, access: Access) -> BatchRequest:
            if "debate 1" in call.messages[-1]["content"]:
                await time.sleep(3 * LINGER)
            return await plain.request(call, access)

    monkeypatch.setattr("cortexdsl.models.batches.sender.wording_of", lambda _: Slow())

    async def scene() -> None:
        async with client_of(tmp_path, time, stub) as client:
            await rounds(client, 1, 3)

    time.run(scene())
    assert stub.sizes() == [3]


@BOTH
def test_each_round_is_one_batch_and_its_lines_are_those_of_the_ordinary_way(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
    """Three rounds of seven debates: three batches of seven. But for the seconds and the price, lines are equal."""
    time, stub = scene_of()

    async def by_batch() -> list[list[Reply]]:
        async with client_of(tmp_path, time, stub) as client:
            return await rounds(client, 3, 7, **entry)

    async def ordinarily() -> list[list[Reply]]:
        way, log = OrdinaryWay(BatchStub()), tmp_path / "ordinary" / "a.jsonl"
        transports = {"direct": way, "openai": way, "anthropic": way}
        async with open_client(log, transports=transports, runtime=time.runtime()) as client:
            return await rounds(client, 3, 7, **{**entry, "transport": None})

    batched = time.run(by_batch())
    assert stub.sizes() == [7, 7, 7]
    assert time.run(ordinarily()) == batched
    logs = [lines(tmp_path / folder / "a.jsonl") for folder in ("calls", "ordinary")]
    for record in (*logs[0], *logs[1]):
        for name in ("seconds", "dollars", "checksum"):
            del record[name]
    assert logs[0] == logs[1]

    async def again() -> int:
        async with client_of(tmp_path, time, stub) as client:
            assert await rounds(client, 3, 7, **{**entry, "transport": None}) == batched
            return client.counts.replayed

    assert time.run(again()) == 21
    assert stub.sizes() == [7, 7, 7]


@BOTH
@pytest.mark.parametrize(
    ("word", "attempts", "error"),
    [
        ("[expire]", 2, None),
        ("[overload]", 2, None),
        ("[busy]", 2, None),
        ("[empty]", 2, None),
        ("[always empty]", 5, "malformed reply"),
        ("[context]", 1, "context window exceeded"),
        ("[filter]", 1, "content filter"),
    ],
)
def test_single_failures_are_what_they_are_elsewhere(
    tmp_path: Path, entry: dict[str, Any], word: str, attempts: int, error: str | None
) -> None:
    """What may pass joins the next wave, alone; a fact about the call is data. The ledger has no booking left."""
    time, stub = scene_of()

    async def scene() -> list[Reply]:
        async with client_of(tmp_path, time, stub) as client:
            return list(await asyncio.gather(*(client(call_of(text, **entry)) for text in ("one", "two", word))))

    replies = time.run(scene())
    assert stub.sizes() == [3, *[1] * (attempts - 1)]
    assert [reply.error is None for reply in replies] == [True, True, error is None]
    assert (replies[2].error or "").startswith(error or "")
    spent = spent_so_far(tmp_path / "spent")
    counted = 3 if error is None else 2
    assert (spent.attempts, spent.calls, spent.failed) == (2 + attempts, 3, error is not None)
    paid = sum(stub.known.paid.values())
    assert spent.tokens == 60 * paid or (counted == 2 and spent.tokens - 60 * paid in (0, 3, 4, 5))


@BOTH
@pytest.mark.parametrize(
    ("word", "error"),
    [("[parameter]", "the request was refused"), ("[key]", "authentication failed"), ("[cancel]", "cancelled")],
)
def test_what_cannot_pass_ends_the_job_and_the_next_run_sends_it_again(
    tmp_path: Path, entry: dict[str, Any], word: str, error: str
) -> None:
    time, stub = scene_of()

    async def scene() -> Reply:
        async with client_of(tmp_path, time, stub) as client:
            return await client(call_of(word, **entry))

    with pytest.raises(ModelError, match=error):
        time.run(scene())
    assert time.run(scene()).error is None
    assert stub.sizes() == [1, 1]
    assert spent_so_far(tmp_path / "spent").tokens == 60


def test_a_model_that_refuses_a_seed_is_asked_without_one(tmp_path: Path) -> None:
    """One wave learns it; the reply says so."""
    time, stub = scene_of()

    async def scene() -> None:
        async with client_of(tmp_path, time, stub) as client:
            await asyncio.gather(*(client(call_of(f"{k} [always seed]")) for k in range(3)))
            await client(call_of("later [always seed]"))

    time.run(scene())
    assert stub.sizes() == [3, 3, 1]
    assert all(record["seed_refused"] for record in lines(tmp_path / "calls" / "a.jsonl"))


def test_a_full_queue_is_tried_again_later_and_a_refused_file_ends_the_job(tmp_path: Path) -> None:
    """Refused whole twice: sent again after 60 s and 120 s more. What is refused for another reason is not."""
    time, stub = scene_of()

    async def scene(text: str) -> Reply:
        async with client_of(tmp_path, time, stub) as client:
            return await client(call_of(text))

    stub.known.refusals = ["token_limit_exceeded"] * 2
    began = time.now
    assert time.run(scene("one")).error is None
    assert 180 <= time.now - began - 3600 < 300
    stub.known.refusals = ["invalid_url"]
    with pytest.raises(ModelError, match="the batch was refused: refused: invalid_url"):
        time.run(scene("two"))
    spent = spent_so_far(tmp_path / "spent")
    assert (spent.attempts, spent.tokens) == (1, 60)
    assert time.run(scene("two")).error is None


def test_a_wave_that_passes_a_limit_is_not_sent_at_all(tmp_path: Path) -> None:
    """Ten calls of 40 tokens each and a prompt of 4 to 5: 9 fit into 400 and 10 do not."""
    time, stub = scene_of()
    entry = {"options": {"max_tokens": 40}}

    async def scene(calls: int, limits: Limits) -> list[Reply]:
        async with client_of(tmp_path, time, stub, limits=limits) as client:
            return list(await asyncio.gather(*(client(call_of(str(k), **entry)) for k in range(calls))))

    with pytest.raises(BudgetError, match=r"a batch of 10 calls may cost 4\d0 tokens, and of the limit of 400 0 are"):
        time.run(scene(10, Limits(tokens=400)))
    assert stub.sizes() == []
    assert spent_so_far(tmp_path / "spent").attempts == 0
    with pytest.raises(BudgetError, match="a batch of 10 calls may cost 10 calls"):
        time.run(scene(10, Limits(calls=9)))
    assert len(time.run(scene(10, Limits(tokens=500)))) == 10
    assert stub.sizes() == [10]


def test_the_price_of_batches_is_half_and_the_price_of_the_spec_wins(tmp_path: Path) -> None:
    """gpt-4o-mini costs $0.15 and $0.60 a million: 50 and 10 tokens are 0.0000135 dollars, in a batch half of it."""
    time, stub = scene_of()

    async def scene() -> None:
        async with client_of(tmp_path, time, stub) as client:
            await asyncio.gather(client(call_of("a")), client(call_of("b", price=Price(1e-6, 0.0))))

    time.run(scene())
    dollars = sorted(record["dollars"] for record in lines(tmp_path / "calls" / "a.jsonl"))
    assert dollars == pytest.approx([0.00000675, 0.00005])
    assert spent_so_far(tmp_path / "spent").dollars == pytest.approx(0.00005675)


class Slow(Fake):
    """Another model, which takes five minutes a call."""

    def __init__(self, time: VirtualTime) -> None:
        super().__init__()
        self._time = time

    async def send(self, call: Any, api_base: str | None, api_key: str | None) -> Raw:
        await self._time.sleep(300.0)
        return await super().send(call, api_base, api_key)


@pytest.mark.parametrize(("wait", "sizes"), [(600.0, [5]), (60.0, [4, 1])])
def test_a_wave_waits_for_debates_that_are_busy_elsewhere_but_not_for_ever(
    tmp_path: Path, wait: float, sizes: list[int]
) -> None:
    """Another model takes 300 s: with `wait: 600` the wave has all calls, with `wait: 60` it goes without one."""
    time, stub = scene_of()

    async def debate(client: Client, k: int) -> None:
        if k == 0:
            await client(call_of("other", model="fake/model", transport=None, api_base=None))
        await client(call_of(str(k), batch=BatchSettings(wait=wait)))

    async def scene() -> None:
        client = client_of(tmp_path, time, stub)
        client.use_transport("fake", Slow(time))
        async with client:
            await asyncio.gather(*(debate(client, k) for k in range(5)))

    time.run(scene())
    assert stub.sizes() == sizes


def test_waves_are_cut_by_requests_and_by_the_tokens_that_wait_at_the_provider(tmp_path: Path) -> None:
    """Of calls with a prompt of 4 tokens each two at a time, one batch after the other."""
    time, stub = scene_of()

    async def scene(batch: BatchSettings, name: str) -> None:
        async with client_of(tmp_path, time, stub, name) as client:
            await asyncio.gather(*(client(call_of(f"{name} {k}", batch=batch)) for k in range(7)))

    began = time.now
    time.run(scene(BatchSettings(tokens=7), "b"))
    assert sorted(stub.sizes()) == [1, 2, 2, 2]
    assert time.now - began >= 4 * 3600


def test_the_tally_shows_waves_while_they_are_on_their_way(tmp_path: Path) -> None:
    time, stub = scene_of()

    async def scene() -> None:
        async with client_of(tmp_path, time, stub) as client:
            task = asyncio.create_task(client(call_of()))
            await time.sleep(100.0)
            assert [(wave.batch, wave.calls, wave.word) for wave in client.tally.waves] == [
                ("batch_0", 1, "in_progress")
            ]
            assert client.tally.value()["waves"][0]["model"] == "entry"
            await task
            assert "waves" not in client.tally.value()

    time.run(scene())


@BOTH
def test_a_batch_whose_answer_was_lost_is_found_and_not_made_again(tmp_path: Path, entry: dict[str, Any]) -> None:
    """The connection breaks after the provider has made the batch; its list shows it half a minute later."""

    def moment(name: str) -> None:
        if name == "after create" and len(stub.known.batches) == 1:
            raise httpx.ReadError("lost")

    time = VirtualTime()
    stub = BatchStub(now=time.clock, moment=moment, lag=30.0)

    async def scene() -> list[Reply]:
        async with client_of(tmp_path, time, stub) as client:
            return list(await asyncio.gather(*(client(call_of(str(k), **entry)) for k in range(3))))

    assert [reply.error for reply in time.run(scene())] == [None] * 3
    assert stub.sizes() == [3]
    assert spent_so_far(tmp_path / "spent").tokens == 180


def test_what_befalls_the_looks_at_a_batch_makes_no_second_one(tmp_path: Path) -> None:
    """Two server errors pass. After an hour of refusals the job ends, and the next run takes the replies."""
    time, stub = scene_of()

    async def scene(text: str) -> Reply:
        async with client_of(tmp_path, time, stub) as client:
            return await client(call_of(text))

    stub.failing = {"status": [503, 502], "results": [500], "file": [429], "create": [503]}
    assert time.run(scene("one")).error is None
    stub.failing = {"status": [429] * 1000}
    with pytest.raises(ModelError, match="rate limit"):
        time.run(scene("two"))
    stub.failing = {}
    assert time.run(scene("two")).error is None
    stub.failing = {"create": [401]}
    with pytest.raises(ModelError, match="authentication failed"):
        time.run(scene("three"))
    assert stub.sizes() == [1, 1]
    assert spent_so_far(tmp_path / "spent").tokens == 120


def test_a_batch_that_is_gone_is_an_error_and_not_paid_for_again(tmp_path: Path) -> None:
    """The provider has deleted it, or another key is set: nobody can tell, so nothing is sent."""
    time, stub = scene_of()

    async def scene() -> Reply:
        async with client_of(tmp_path, time, stub) as client:
            return await client(call_of())

    stub.failing = {"status": [401]}
    with pytest.raises(ModelError, match="authentication failed"):
        time.run(scene())
    kept = dict(stub.known.batches)
    stub.known.batches.clear()
    with pytest.raises(ModelError, match=r"batch batch_0, which has replies that are paid for .* has the key changed"):
        time.run(scene())
    stub.known.batches.update(kept)
    assert time.run(scene()).error is None
    assert stub.sizes() == [1]


def test_another_job_takes_the_reply_that_is_on_its_way(tmp_path: Path) -> None:
    """Job a was stopped while its batch was on its way; job b needs two of its calls and one more."""
    time, stub = scene_of()

    async def stopped() -> None:
        async def job() -> None:
            async with client_of(tmp_path, time, stub, "z") as client:
                await asyncio.gather(*(client(call_of(str(k))) for k in range(3)))

        task = asyncio.create_task(job())
        await time.sleep(60.0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def scene(name: str, calls: range) -> Client:
        async with client_of(tmp_path, time, stub, name) as client:
            await asyncio.gather(*(client(call_of(str(k))) for k in calls))
            return client

    time.run(stopped())
    assert time.run(scene("a", range(1, 4))).counts.asked == 3
    assert time.run(scene("z", range(3))).counts.asked == 1
    assert stub.sizes() == [3, 1]
    spent = spent_so_far(tmp_path / "spent")
    assert (spent.attempts, spent.tokens) == (4, 240)


def test_a_failure_that_is_data_is_sent_anew_only_if_asked_again(tmp_path: Path) -> None:
    """`errors_again` does not find the old failure in its wave."""
    time, stub = scene_of()

    async def scene(*, errors_again: bool) -> Reply:
        async with client_of(tmp_path, time, stub, errors_again=errors_again) as client:
            return await client(call_of("[filter]"))

    assert "content filter" in str(time.run(scene(errors_again=False)).error)
    assert "content filter" in str(time.run(scene(errors_again=False)).error)
    assert time.run(scene(errors_again=True)).error is None
    assert stub.sizes() == [1, 1]


def test_a_torn_line_of_the_log_of_waves_is_mended(tmp_path: Path) -> None:
    """Half a line at the end, as a kill leaves it; the batch before it is still known."""
    time, stub = scene_of()

    async def scene() -> Reply:
        async with client_of(tmp_path, time, stub) as client:
            return await client(call_of())

    stub.failing = {"results": [401]}
    with pytest.raises(ModelError):
        time.run(scene())
    with (tmp_path / "calls" / "a.waves").open("ab") as log:
        log.write(b'{"schema_version": 2, "key": "0123')
    assert time.run(scene()).error is None
    assert stub.sizes() == [1]


@BOTH
def test_results_that_end_early_are_fetched_again_and_not_paid_again(tmp_path: Path, entry: dict[str, Any]) -> None:
    """The provider counts three results, and the first download has two."""
    time, stub = scene_of()
    answer, cut = stub.answer, list[int]()

    def cut_once(request: httpx.Request) -> httpx.Response:
        response = answer(request)
        if request.url.path.endswith(("/content", "/results")) and not cut:
            cut.append(1)
            return httpx.Response(200, text="".join(response.text.splitlines(keepends=True)[:2]))
        return response

    stub.answer = cut_once  # type: ignore[method-assign]

    async def scene() -> list[Reply]:
        async with client_of(tmp_path, time, stub) as client:
            return list(await asyncio.gather(*(client(call_of(text, **entry)) for text in ("one", "two", "three"))))

    assert [reply.error for reply in time.run(scene())] == [None] * 3
    assert (stub.sizes(), stub.most_paid) == ([3], 1)

"""The program of batches: a file is paid for once, and its replies are what the provider gives single calls."""

from __future__ import annotations

import asyncio
import json
import os
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from cortexdsl.core import Call, Model
from cortexdsl.errors import InputError, RecordError
from cortexdsl.models.batches.asker import BatchAsker
from cortexdsl.models.batches.http import BatchHttp
from cortexdsl.models.batches.protocols import PROTOCOLS, AnthropicBatches, BatchProtocol, OpenAIBatches
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.rounds.lines import BatchResponse, compact, request_line
from cortexdsl.models.rounds.replies import read_replies, reply_in
from cortexdsl.models.transports.bounded_client import give_client
from cortexdsl.models.transports.completions import read_completion
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw
from cortexdsl.models.transports.litellm import LitellmTransport, load
from tests.models.batch_stub import BatchStub
from tests.models.batches.kit import KEYS, START, VirtualTime

DAYS = 2 * 86_400.0
KILLED = 9
MODELS = {"openai": "gpt-4o-mini", "anthropic": "claude-sonnet-4-5"}
BOTH = pytest.mark.parametrize("provider", MODELS)
WORDS = ("one", "two", "three")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """litellm reads keys from the environment of the process."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def key_of(word: str) -> str:
    """Return the custom id of the request with a prompt."""
    return word.encode().hex().ljust(32, "0")[:32]


def write(folder: Path, provider: str, words: Sequence[str] = WORDS) -> Path:
    """Write a file with a request for each word."""
    path = folder / "requests.jsonl"
    bodies = {
        word: {
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": word}],
            "model": MODELS[provider],
            "max_tokens": 40,
            **({"seed": 7} if provider == "openai" else {}),
        }
        for word in words
    }
    path.write_bytes(b"".join(request_line(key_of(word), body) + b"\n" for word, body in bodies.items()))
    return path


def protocol_of(provider: str, stub: BatchStub) -> BatchProtocol:
    return PROTOCOLS[provider](BatchHttp(stub.transport), None, {})


class Scene:
    """A file of requests, a provider whose batches take an hour, and starts of the program."""

    def __init__(self, folder: Path, provider: str = "openai", words: Sequence[str] = WORDS, lag: float = 0.0) -> None:
        self.folder, self.provider, self.time = folder, provider, VirtualTime()
        self.requests, self.replies = write(folder, provider, words), folder / "replies.jsonl"
        self.moments: Callable[[str], None] = lambda name: None
        self.stub = BatchStub(now=self.time.clock, moment=self._moment, lag=lag)
        self.said: list[str] = []

    def _moment(self, name: str) -> None:
        self.moments(name)

    def start(self, **more: Any) -> None:
        self.time.run(self.asked(**more))

    async def asked(self, **more: Any) -> None:
        asker = BatchAsker(
            protocol_of(self.provider, self.stub), self.replies, Secrets(KEYS), runtime=self.time.runtime(),
            say=self.said.append, **more,
        )  # fmt: skip
        try:
            await asker.answer(self.requests)
        finally:
            await asker.close()

    def texts(self) -> dict[str, str]:
        """Return the texts of the replies by the words of their requests; of errors the status."""
        found = {}
        for line in self.replies.read_bytes().splitlines():
            name, outcome = reply_in(line) or ("", None)
            assert isinstance(outcome, BatchResponse)
            word = bytes.fromhex(name).rstrip(b"\0").decode()
            is_good = outcome.status < 400
            found[word] = read_completion(outcome.body, seed_refused=False).text if is_good else str(outcome.status)
        return found


@BOTH
def test_a_file_is_one_batch_and_its_replies_are_those_of_single_calls(tmp_path: Path, provider: str) -> None:
    """What litellm or the server says of each reply alone is read from the line of the batch, in all its parts."""
    scene = Scene(tmp_path, provider)
    scene.start()
    assert scene.stub.sizes() == [3]
    assert not scene.replies.with_name("replies.jsonl.batch").exists()
    lines = dict(filter(None, map(reply_in, scene.replies.read_bytes().splitlines())))
    for request in map(json.loads, scene.requests.read_bytes().splitlines()):
        outcome = lines[request["custom_id"]]
        assert isinstance(outcome, BatchResponse)
        assert read_completion(outcome.body, seed_refused=provider == "anthropic") == asyncio.run(
            alone(provider, request["body"])
        )


def test_reasoning_and_tokens_of_the_cache_are_those_of_single_calls() -> None:
    """A message of Anthropic with thinking, and tokens that were read from the cache."""
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, {"type": "text", "text": "Four"}],
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 5, "output_tokens": 10, "cache_read_input_tokens": 40,
                  "cache_creation_input_tokens": 3},
    }  # fmt: skip
    body = {"messages": [{"role": "user", "content": "2 + 2?"}], "model": "anthropic/claude-sonnet-4-5",
            "max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}  # fmt: skip
    read = AnthropicBatches._read({"custom_id": "a", "result": {"type": "succeeded", "message": message}})
    assert isinstance(read, BatchResponse)
    reply = read_completion(read.body, seed_refused=True)
    assert reply == asyncio.run(alone("anthropic", body, BatchResponse(200, compact(message))))
    assert (reply.text, reply.reasoning, reply.usage.cached_tokens) == ("Four", "Hm.", 40)


def test_a_request_to_anthropic_says_what_that_of_a_single_call_says() -> None:
    """A persona, a stop sequence and thinking, as litellm translates them."""
    body = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}],
            "model": "anthropic/claude-sonnet-4-5", "max_tokens": 2000, "temperature": 1, "stop": ["END"],
            "thinking": {"type": "enabled", "budget_tokens": 1024}}  # fmt: skip
    sent: list[Any] = []
    with pytest.raises(Failure):
        asyncio.run(alone("anthropic", body, BatchResponse(500, b"{}"), sent))
    line = json.loads(protocol_of("anthropic", BatchStub()).line("a", body))
    assert line["params"] == sent[0]


async def alone(
    provider: str, body: dict[str, Any], said: BatchResponse | None = None, sent: list[Any] | None = None
) -> Raw:
    """Return the reply to a single call, by litellm; `sent` gets its request."""
    options = {name: value for name, value in body.items() if name not in ("messages", "model", "seed")}
    refused = () if provider == "openai" else ("seed",)
    name = str(body["model"]).removeprefix(f"{provider}/")
    model = Model("m", f"{provider}/{name}", options=options, refused=refused)

    def exchange(request: httpx.Request) -> httpx.Response:
        if sent is not None:
            sent.append(json.loads(request.content))
        return BatchStub().answer(request) if said is None else httpx.Response(said.status, content=said.body)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(give_client(load()), "_network", httpx.MockTransport(exchange))
        return await LitellmTransport().send(Call(model, tuple(body["messages"]), body.get("seed", 0)), None, None)


@BOTH
@pytest.mark.parametrize(
    ("word", "status"),
    [("[expire]", 500), ("[overload]", 529), ("[busy]", 429), ("[context]", 400), ("[filter]", 400), ("[key]", 401)],
)
def test_the_error_of_a_single_request_is_the_line_of_it(tmp_path: Path, provider: str, word: str, status: int) -> None:
    """The other replies are there; the same command then asks what has none, and nothing else."""
    scene = Scene(tmp_path, provider, ("one", "two", word))
    scene.start()
    texts = scene.texts()
    assert texts.pop(word) == str(status)
    assert all(text.startswith("Answer") for text in texts.values())
    assert len(texts) == 2
    scene.start()
    assert scene.stub.sizes() == [3]


@BOTH
def test_a_cancelled_batch_ends_the_program_and_the_next_start_asks_the_rest(tmp_path: Path, provider: str) -> None:
    scene = Scene(tmp_path, provider, ("one", "[cancel]"))
    with pytest.raises(Failure, match="cancelled at the provider"):
        scene.start()
    assert list(scene.texts()) == ["one"]
    scene.start()
    assert list(scene.texts()) == ["one", "[cancel]"]
    assert scene.stub.sizes() == [2, 1]
    assert scene.stub.most_paid == 1


def test_a_full_queue_is_tried_again_later_and_a_refused_file_ends_the_program(tmp_path: Path) -> None:
    """Refused whole twice: sent again after 60 s and 120 s more. What is refused for another reason is not."""
    scene = Scene(tmp_path)
    scene.stub.known.refusals = ["token_limit_exceeded"] * 2
    scene.start()
    assert 180 <= scene.time.now - START - 3600 < 300
    scene.replies.unlink()
    scene.stub.known.refusals = ["invalid_url"]
    with pytest.raises(Failure, match="the batch was refused: refused: invalid_url"):
        scene.start()
    assert not scene.replies.exists()
    scene.start()
    assert len(scene.texts()) == 3


def test_a_file_beyond_what_a_batch_takes_is_asked_in_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By prompts of some tokens two at a time; by number three; by bytes one. One batch after the other."""
    words = [str(number) for number in range(7)]
    for name, tokens, patched, sizes in (
        ("tokens", 50, {}, [2, 2, 2, 1]),
        ("number", None, {"most_requests": 3}, [3, 3, 1]),
        ("bytes", None, {"most_bytes": 300}, [1] * 7),
    ):
        (tmp_path / name).mkdir()
        scene = Scene(tmp_path / name, words=words)
        with monkeypatch.context() as patch:
            for limit, value in patched.items():
                patch.setattr(OpenAIBatches, limit, value)
            scene.start(tokens=tokens)
        assert scene.stub.sizes() == sizes
        assert scene.time.now - START >= len(sizes) * 3600
        assert sorted(scene.texts()) == words


@BOTH
def test_a_batch_whose_answer_was_lost_is_found_and_not_made_again(tmp_path: Path, provider: str) -> None:
    """The connection breaks after the provider has made the batch; its list shows it half a minute later."""
    scene = Scene(tmp_path, provider, lag=30.0)

    def moment(name: str) -> None:
        if name == "after create" and len(scene.stub.known.batches) == 1:
            raise httpx.ReadError("lost")

    scene.moments = moment
    scene.start()
    assert len(scene.texts()) == 3
    assert scene.stub.sizes() == [3]


def test_errors_of_requests_about_a_batch_make_no_second_one(tmp_path: Path) -> None:
    """Some server errors pass. After an hour of refusals the program ends, and the next start takes the replies."""
    scene = Scene(tmp_path)
    scene.stub.failing = {"status": [503, 502], "results": [500], "file": [429], "create": [503]}
    scene.start()
    assert len(scene.texts()) == 3
    scene.replies.unlink()
    scene.stub.failing = {"status": [429] * 1000}
    with pytest.raises(Failure, match="rate limit"):
        scene.start()
    scene.stub.failing = {}
    scene.start()
    assert scene.stub.sizes() == [3, 3]
    scene.replies.unlink()
    scene.stub.failing = {"create": [401]}
    with pytest.raises(Failure, match="authentication failed"):
        scene.start()
    assert scene.stub.sizes() == [3, 3]


def test_a_batch_that_is_gone_is_an_error_and_not_paid_for_again(tmp_path: Path) -> None:
    """The provider has deleted it, or another key is set: nobody can tell, so nothing is sent."""
    scene = Scene(tmp_path)
    scene.stub.failing = {"status": [401]}
    with pytest.raises(Failure, match="authentication failed"):
        scene.start()
    kept = dict(scene.stub.known.batches)
    scene.stub.known.batches.clear()
    with pytest.raises(
        Failure, match=r"batch batch_0, whose replies are paid for, is not there; .*delete \S+\.batch to"
    ):
        scene.start()
    scene.stub.known.batches.update(kept)
    scene.start()
    assert scene.stub.sizes() == [3]


def test_ctrl_c_leaves_the_batch_and_a_start_with_other_requests_takes_what_it_needs(tmp_path: Path) -> None:
    """A batch of three is on its way; then two of them are asked, and one more."""
    scene = Scene(tmp_path)

    async def stopped() -> None:
        task = asyncio.create_task(scene.asked())
        await scene.time.sleep(600.0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    scene.time.run(stopped())
    assert scene.time.now < START + 700
    write(tmp_path, "openai", ("two", "three", "four"))
    scene.start()
    assert sorted(scene.texts()) == ["four", "three", "two"]
    assert scene.stub.sizes() == [3, 1]


def test_a_second_start_is_refused(tmp_path: Path) -> None:
    scene = Scene(tmp_path)

    async def both() -> None:
        task = asyncio.create_task(scene.asked())
        await scene.time.sleep(600.0)
        with pytest.raises(RecordError, match="another process writes"):
            await scene.asked()
        await task

    scene.time.run(both())
    assert scene.stub.sizes() == [3]


@BOTH
def test_results_that_end_early_are_fetched_again_and_not_paid_again(tmp_path: Path, provider: str) -> None:
    """The provider counts three results, and the first download has two."""
    scene = Scene(tmp_path, provider)
    answer, cut = scene.stub.answer, list[int]()

    def cut_once(request: httpx.Request) -> httpx.Response:
        response = answer(request)
        if request.url.path.endswith(("/content", "/results")) and not cut:
            cut.append(1)
            return httpx.Response(200, text="".join(response.text.splitlines(keepends=True)[:2]))
        return response

    scene.stub.answer = cut_once  # type: ignore[method-assign]
    scene.start()
    assert len(scene.texts()) == 3
    assert (scene.stub.sizes(), scene.stub.most_paid) == ([3], 1)


def test_a_key_in_what_the_provider_says_is_not_written(tmp_path: Path) -> None:
    """An error quotes the key; neither the line of it nor the message of the program shows it."""
    scene = Scene(tmp_path, words=("one", "[always parameter]"))
    answer = scene.stub.answer

    def quoting(request: httpx.Request) -> httpx.Response:
        response = answer(request)
        text = response.text.replace("temperature: range", KEYS["OPENAI_API_KEY"])
        return httpx.Response(response.status_code, text=text)

    scene.stub.answer = quoting  # type: ignore[method-assign]
    scene.start()
    written = scene.replies.read_text()
    assert KEYS["OPENAI_API_KEY"] not in written
    assert "[key]" in written


def test_lines_that_are_no_requests_are_refused_with_their_place(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.requests.write_text('{"custom_id": "a", "body": {}}\n')
    with pytest.raises(InputError, match=r"requests\.jsonl, line 1: this is not a request"):
        scene.start()


def test_a_reply_that_was_cut_in_the_middle_is_asked_for_again(tmp_path: Path) -> None:
    """A start that was killed while it wrote left half a line; the batch is still known."""
    scene = Scene(tmp_path)
    scene.stub.failing = {"results": [401]}
    with pytest.raises(Failure):
        scene.start()
    scene.replies.write_bytes(b'{"custom_id": "6f6e')
    scene.start()
    assert len(read_replies(scene.replies, {key_of(word): None for word in WORDS})) == 3
    assert scene.stub.sizes() == [3]


# ------------------------------------------------------------ kills
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


def job(folder: Path, provider: str, now: float, kill_at: tuple[str, int] | None = None) -> int:
    """Start the program in a process that ends at the given occurrence of a moment."""

    def work() -> None:
        seen = Counter[str]()

        def moment(name: str) -> None:
            seen[name] += 1
            if (name, seen[name]) == kill_at:
                os._exit(KILLED)

        scene = Scene(folder, provider)
        scene.time.now = now
        scene.stub = BatchStub(folder / "provider.json", scene.time.clock, moment=moment, lag=30.0)
        written = BatchAsker._write

        def write(self: BatchAsker, replies: Any) -> None:
            moment("before write")
            written(self, replies)
            moment("after write")

        BatchAsker._write = write  # type: ignore[method-assign]
        scene.start()

    return in_a_process(work)


MOMENTS = [
    ("before file", 1), ("after file", 1), ("before create", 1), ("after create", 1), ("before status", 1),
    ("after status", 3), ("before results", 1), ("after results", 1), ("before write", 1), ("after write", 1),
]  # fmt: skip
LATER = [(moment, DAYS) for moment in MOMENTS] + [(("before create", 1), 3.0), (("after create", 1), 3.0)]
"""A batch may not be listed three seconds after it was made."""


@BOTH
@pytest.mark.parametrize(("moment", "later"), LATER, ids=str)
def test_a_kill_pays_once_and_leaves_the_replies_as_they_are(
    tmp_path: Path, provider: str, moment: tuple[str, int], later: float
) -> None:
    if provider == "anthropic" and moment[0].endswith("file"):
        return  # its batches have no files
    assert job(tmp_path, provider, START, moment) == KILLED
    assert job(tmp_path, provider, START + later) == 0
    stub = BatchStub(tmp_path / "provider.json")
    assert (stub.most_paid, stub.sizes()) == (1, [3])
    expected = Scene(tmp_path / "..", provider)
    expected.start()
    scene = Scene(tmp_path, provider)
    assert scene.texts() == expected.texts()
    expected.replies.unlink()


@BOTH
def test_killed_again_and_again_it_still_pays_once(tmp_path: Path, provider: str) -> None:
    """One kill after the other at every moment in turn; then the program ends."""
    now = START
    for moment in [*MOMENTS, *MOMENTS]:
        assert job(tmp_path, provider, now, (moment[0], 1)) in (KILLED, 0)
        now += 1000.0
    assert job(tmp_path, provider, now) == 0
    stub = BatchStub(tmp_path / "provider.json")
    assert (stub.most_paid, stub.sizes()) == (1, [3])
    assert len(Scene(tmp_path, provider).texts()) == 3


def test_a_batch_of_another_program_is_not_taken_for_ones_own(tmp_path: Path) -> None:
    """Another program made a batch of the same size in the same minute: only its custom ids show that."""
    job(tmp_path, "anthropic", START, ("before create", 1))
    foreign = BatchStub(tmp_path / "provider.json", lambda: START)
    names = [f"theirs-{number}" for number in range(3)]
    foreign.known.batches["msgbatch_theirs"] = {
        "lines": names, "made": START, "metadata": None, "input_file_id": None, "refusal": None, "is_anthropic": True,
        "results": [{"custom_id": name, "result": {"type": "expired"}} for name in names],
    }  # fmt: skip
    foreign.answer(httpx.Request("GET", "http://stub/v1/messages/batches/none"))
    assert job(tmp_path, "anthropic", START + DAYS) == 0
    stub = BatchStub(tmp_path / "provider.json")
    assert (stub.most_paid, stub.sizes()) == (1, [3, 3])

"""Both ways to a server, against a server that fails on order: same replies, same records, no key anywhere."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Call, Limits, Reply
from cortexdsl.errors import ModelError
from cortexdsl.models.client import open_client
from cortexdsl.models.endpoints.retry import RetryPolicy, Runtime
from cortexdsl.models.servers import processes as servers
from cortexdsl.models.transports.litellm import LitellmTransport
from tests.models.kit import Time, call_of
from tests.models.stub import Stub, serving

WAYS = ("direct", "openai")
SECRET = "sk-verysecret0123456789"


async def ask(stub: Stub, folder: Path, way: str, *calls: Call, **environment: str) -> list[Reply]:
    async with serving(stub) as base:
        runtime = Time().runtime(BASE=base, **environment)
        async with open_client(folder / f"{way}.jsonl", runtime=runtime) as client:
            return list(await asyncio.gather(*(client(call) for call in calls)))


def question(way: str, text: str = "hi", seed: int = 1, **entry: Any) -> Call:
    return call_of(text, seed, f"{way}/name", api_base="env:BASE", **entry)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_sent_and_what_comes_back(tmp_path: Path, way: str) -> None:
    stub = Stub()
    call = question(way, options={"temperature": 0.7, "max_tokens": 50})
    reply = asyncio.run(ask(stub, tmp_path, way, call))[0]
    assert (reply.text, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens) == (
        "reply to hi [1]", "stop", 7, 5,
    )  # fmt: skip
    body = stub.bodies[0]
    assert {name: body[name] for name in ("model", "messages", "seed", "temperature", "max_tokens")} == {
        "model": "name", "messages": [{"role": "user", "content": "hi"}], "seed": 1, "temperature": 0.7,
        "max_tokens": 50,
    }  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", ["429", "500", "503", "disconnect", "truncated", "badjson", "empty"])
def test_a_passing_fault_is_overcome(tmp_path: Path, way: str, fault: str) -> None:
    stub = Stub([fault, fault])
    reply = asyncio.run(ask(stub, tmp_path, way, question(way)))[0]
    assert (reply.text, reply.error, stub.calls) == ("reply to hi [1]", None, 3)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("order", "error"),
    [
        ("context", "context window exceeded"),
        ("filter", "content filter"),
        ("withheld", "content filter"),
        ("cut to nothing", "malformed reply"),
    ],
)
def test_a_failure_of_one_call_is_data(tmp_path: Path, way: str, order: str, error: str) -> None:
    stub = Stub([order] * 9)
    reply = asyncio.run(ask(stub, tmp_path, way, question(way)))[0]
    assert reply.error is not None
    assert reply.error.startswith(error)
    assert stub.calls == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_body_that_is_never_json_is_data_and_told_the_same(tmp_path: Path, way: str) -> None:
    reply = asyncio.run(ask(Stub(["badjson"] * 9), tmp_path, way, question(way)))[0]
    assert reply.error == "malformed reply: the body is not a chat completion"


@pytest.mark.parametrize("way", WAYS)
def test_odd_replies_are_replies(tmp_path: Path, way: str) -> None:
    """Cut, strange and uncounted replies are what the model said; missing counts are none, not zero."""
    stub = Stub(["cut", "garbage", "nousage"])
    cut = asyncio.run(ask(stub, tmp_path, way, question(way, "a")))[0]
    garbage = asyncio.run(ask(stub, tmp_path, way, question(way, "b")))[0]
    uncounted = asyncio.run(ask(stub, tmp_path, way, question(way, "c")))[0]
    assert (cut.text, cut.finish_reason) == ("reply to a [1]", "length")
    assert garbage.text.startswith("\u202e\x00{{ 7*7 }}<script>")
    assert (uncounted.text, uncounted.prompt_tokens, uncounted.completion_tokens) == ("reply to c [1]", None, None)


@pytest.mark.parametrize("way", WAYS)
def test_a_long_strange_reply_survives_the_log(tmp_path: Path, way: str) -> None:
    """100 kB with NUL and bidirectional marks; replayed character for character."""
    stub = Stub()
    stub.reply = "\u202e\x00{{ 7*7 }}é\n" * 9_000
    first = asyncio.run(ask(stub, tmp_path, way, question(way)))[0]
    again = asyncio.run(ask(stub, tmp_path, way, question(way)))[0]
    assert first.text == again.text == stub.reply
    assert stub.calls == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_refused_seed_is_left_out_once_and_for_all_and_the_record_says_so(tmp_path: Path, way: str) -> None:
    stub = Stub(["seed"] * 9)

    async def scene() -> list[Reply]:
        async with (
            serving(stub) as base,
            open_client(tmp_path / "own.jsonl", runtime=Time().runtime(BASE=base)) as client,
        ):
            return [await client(question(way, seed=seed)) for seed in (1, 2)]

    replies = asyncio.run(scene())
    assert [reply.text for reply in replies] == ["reply to hi [None]"] * 2
    assert ["seed" in body for body in stub.bodies] == [True, False, False]
    records = [json.loads(line) for line in (tmp_path / "own.jsonl").read_text().splitlines()]
    assert [(record["seed"], record["seed_refused"]) for record in records] == [(1, True), (2, True)]


@pytest.mark.parametrize("way", WAYS)
def test_a_refused_seed_is_a_request_that_is_counted(tmp_path: Path, way: str) -> None:
    """Of eight calls the first learns it for all: with it sent again that is nine; a limit of six is six requests."""
    stub = Stub(["seed"] * 99)

    async def scene() -> list[Reply | BaseException]:
        async with (
            serving(stub) as base,
            open_client(
                tmp_path / "calls" / "own.jsonl",
                limits=Limits(calls=6, connections=1),
                ledgers=tmp_path / "spent",
                runtime=Runtime(environment={"BASE": base}),
            ) as client,
        ):
            asked = (client(question(way, seed=seed)) for seed in range(8))
            return list(await asyncio.gather(*asked, return_exceptions=True))

    found = asyncio.run(scene())
    assert stub.calls == 6
    assert ["seed" in body for body in stub.bodies].count(True) == 1
    assert [type(each) for each in found].count(Reply) == 5
    records = [json.loads(line) for line in (tmp_path / "calls" / "own.jsonl").read_text().splitlines()]
    assert all(record["seed_refused"] for record in records)
    assert {record["attempts"] for record in records if record["retries"]} <= {2}


@pytest.mark.parametrize("way", WAYS)
def test_a_wrong_key_is_told_without_the_key(tmp_path: Path, way: str) -> None:
    """The stub repeats the key in its complaint, as real servers do."""
    stub = Stub(key="another")
    with pytest.raises(ModelError) as caught:
        asyncio.run(ask(stub, tmp_path, way, question(way, api_key_env="MY_KEY"), MY_KEY=SECRET))
    said = str(caught.value)
    assert said.startswith(f"authentication failed: model entry ({way}/name) at {stub.base}: ")
    assert "api_key_env" in said
    assert "verysecret" not in said
    assert stub.headers[0]["Authorization"] == f"Bearer {SECRET}"
    assert not any(b"verysecret" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("way", WAYS)
def test_no_key_of_another_service_goes_to_an_address(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    stub = Stub()
    asyncio.run(ask(stub, tmp_path, way, question(way)))
    assert SECRET not in json.dumps(stub.headers)


@pytest.mark.parametrize("way", WAYS)
def test_a_reply_that_repeats_the_key_is_kept_without_it(tmp_path: Path, way: str) -> None:
    stub = Stub(key=SECRET)
    stub.reply = f"your key is {SECRET}!"
    call = question(way, api_key_env="MY_KEY")
    first = asyncio.run(ask(stub, tmp_path, way, call, MY_KEY=SECRET))[0]
    again = asyncio.run(ask(stub, tmp_path, way, call, MY_KEY=SECRET))[0]
    assert first.text == again.text == "your key is [key]!"


def test_both_ways_send_the_same_and_keep_the_same(tmp_path: Path) -> None:
    """But for the model's name, which says the way, and what it enters: the key; and the clock."""
    records = []
    for way in WAYS:
        stub = Stub(["ok", "nousage", "cut"])
        for text in "abc":
            asyncio.run(ask(stub, tmp_path, way, question(way, text, options={"temperature": 0})))
        lines = [json.loads(line) for line in (tmp_path / f"{way}.jsonl").read_text().splitlines()]
        records.append(
            [{k: v for k, v in line.items() if k not in ("model", "key", "seconds", "checksum")} for line in lines]
        )
    assert records[0] == records[1]


def test_litellm_answers_others_in_the_process_as_before() -> None:
    """Bodies are bounded for all its clients; who asks it beside us is not asked for what we keep of our calls."""
    from cortexdsl.models.transports import litellm as litellm_transport

    async def beside() -> str:
        async with serving(Stub()) as base:
            said = await litellm_transport.load().acompletion(
                model="openai/name", messages=[{"role": "user", "content": "hi"}], api_base=base, api_key="none", seed=1
            )
            return str(said.choices[0].message.content)

    assert asyncio.run(beside()) == "reply to hi [1]"


def test_litellm_neither_prices_nor_logs_what_is_asked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both took more of a call's time than all that is done around it; `prices` says what a reply costs."""
    from cortexdsl.models.transports import litellm as litellm_transport

    litellm = litellm_transport.load()
    seen: list[str] = []

    async def log(*_: object, **__: object) -> None:
        seen.append("logged")

    monkeypatch.setattr(litellm.litellm_core_utils.litellm_logging.Logging, "async_success_handler", log)
    monkeypatch.setattr(litellm.cost_calculator, "completion_cost", lambda **_: seen.append("priced"))

    async def ask(*, ours: bool) -> list[str]:
        seen.clear()
        async with serving(Stub()) as base:
            if ours:
                await LitellmTransport().send(question("openai", "hi"), base, "none")
            else:
                await litellm.acompletion(
                    model="openai/name", messages=[{"role": "user", "content": "hi"}], api_base=base, api_key="none"
                )
            await asyncio.sleep(0.3)  # litellm logs after it has answered
        return sorted(set(seen))

    assert asyncio.run(ask(ours=True)) == []
    assert asyncio.run(ask(ours=False)) == ["logged", "priced"]


def test_a_provider_that_takes_no_seed_is_asked_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anthropic's interface has no seed; litellm would refuse the call."""
    from cortexdsl.models.transports import litellm as litellm_transport

    assert litellm_transport.takes_seed("openai/gpt-4o")
    assert litellm_transport.takes_seed("hosted_vllm/qwen")
    assert not litellm_transport.takes_seed("anthropic/claude-3-5-sonnet-20240620")


def test_unknown_built_in_models_and_parameters_are_clear_errors(tmp_path: Path) -> None:
    async def scene(model: str, **options: float) -> None:
        async with open_client(tmp_path / "own.jsonl") as client:
            await client(call_of("1+1", 1, model, options=options))

    with pytest.raises(ModelError, match="no built-in model 'builtin/solvr'; the only one is builtin/solver"):
        asyncio.run(scene("builtin/solvr"))
    with pytest.raises(ModelError, match="no parameter 'skil'; did you mean skill"):
        asyncio.run(scene("builtin/solver", skil=0.5))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (call_of(model="direct/x"), "needs `api_base`"),
        (call_of(model="direct/x", api_base="env:NOWHERE"), "environment variable NOWHERE, which is not set"),
        (call_of(model="direct/x", api_base="http://h/v1", api_key_env="NO_KEY"), "variable NO_KEY, which is not set"),
        (call_of(model="direct/x", api_base="h:p/v1"), "is not an http address"),
    ],
)
def test_what_the_spec_or_the_environment_lacks_is_said(tmp_path: Path, call: Call, said: str) -> None:
    async def scene() -> None:
        async with open_client(tmp_path / "own.jsonl", runtime=Time().runtime()) as client:
            await client(call)

    with pytest.raises(ModelError, match=said):
        asyncio.run(scene())


def test_nobody_at_the_address_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(Stub()) as base:
            pass
        async with open_client(tmp_path / "own.jsonl", runtime=Time().runtime(BASE=base)) as client:
            await client(question("direct"))

    with pytest.raises(ModelError, match=r"tried 6 times.*\n.*see that the server runs"):
        asyncio.run(scene())


FAULTS = ("429", "500", "503", "disconnect", "truncated", "badjson", "empty", "garbage", "nousage", "length")


@pytest.mark.parametrize("way", WAYS)
def test_a_busy_imperfect_server_is_got_through(tmp_path: Path, repository: Path, way: str) -> None:
    """The project's stub server beside the checkout, with every fault at 4 %: each call has a reply, one line each."""
    stub = repository.parent / "shared" / "tools" / "llm_stub.py"
    if not stub.is_file():
        pytest.skip("the stub server (../shared/tools/llm_stub.py) is not on this machine")
    faults = [word for fault in FAULTS for word in ("--fault", f"{fault}=0.04")]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(stub), "--port", str(port), "--latency", "0.001", *faults]
    base = f"http://127.0.0.1:{port}/v1"
    server = servers.start(command, f"{base}/models", timeout=60)

    async def scene() -> list[Reply]:
        runtime = Runtime(environment={"BASE": base}, retry_policy=RetryPolicy(first=0.01, longest=0.05))
        async with open_client(tmp_path / "own.jsonl", runtime=runtime) as client:
            return list(await asyncio.gather(*(client(question(way, seed=seed)) for seed in range(150))))

    try:
        replies = asyncio.run(scene())
    finally:
        servers.stop(server)
    assert all(reply.text and reply.error is None for reply in replies)
    assert len((tmp_path / "own.jsonl").read_text().splitlines()) == 150


JOB = """
import asyncio, sys
from pathlib import Path
from cortexdsl.models.client import open_client
from cortexdsl.core import Call, Model

async def job():
    model = Model("m", "direct/x", api_base=sys.argv[2])
    async with open_client(Path(sys.argv[1])) as client:
        calls = [Call(model, ({"role": "user", "content": "q"},), seed) for seed in range(40)]
        replies = await asyncio.gather(*(client(call) for call in calls))
        print(" ".join(reply.text for reply in replies))

asyncio.run(job())
"""


def test_two_jobs_at_the_same_time_ask_each_call_once(tmp_path: Path, repository: Path) -> None:
    """40 calls that both jobs make are 40 requests, and both jobs have all replies."""
    stub = Stub()

    async def scene() -> list[bytes]:
        async with serving(stub) as base:
            jobs = [
                await asyncio.create_subprocess_exec(
                    *(sys.executable, "-c", JOB, str(tmp_path / f"{name}.jsonl"), base),
                    stdout=asyncio.subprocess.PIPE,
                    cwd=repository,
                )
                for name in "ab"
            ]
            return [(await job.communicate())[0] for job in jobs]

    said = asyncio.run(scene())
    assert said[0] == said[1]
    assert said[0].count(b"reply to q") == 40
    assert stub.calls == 40


@pytest.mark.parametrize(("fault", "dollars"), [("", 7 * 0.15e-6 + 5 * 0.6e-6), ("nousage", None)])
def test_a_listed_model_costs_its_list_price(tmp_path: Path, fault: str, dollars: float | None) -> None:
    """7 tokens at 0.15 and 5 at 0.60 dollars a million (the list price of gpt-4o-mini); uncounted has none."""
    call = call_of("hi", 1, "openai/gpt-4o-mini", api_base="env:BASE")
    asyncio.run(ask(Stub([fault] if fault else []), tmp_path, "openai", call))
    record = json.loads((tmp_path / "openai.jsonl").read_text().splitlines()[0])
    assert record["dollars"] == (None if dollars is None else pytest.approx(dollars))


def test_a_model_without_a_list_price_has_none(tmp_path: Path) -> None:
    asyncio.run(ask(Stub(), tmp_path, "openai", question("openai")))
    assert json.loads((tmp_path / "openai.jsonl").read_text().splitlines()[0])["dollars"] is None


def test_litellm_is_told_an_option_of_its_own(tmp_path: Path) -> None:
    """A shorter timeout than the usual one; the server is sent nothing of it."""
    stub = Stub()
    reply = asyncio.run(ask(stub, tmp_path, "openai", question("openai", options={"timeout": 30})))[0]
    assert reply.text == "reply to hi [1]"
    assert "timeout" not in stub.bodies[0]

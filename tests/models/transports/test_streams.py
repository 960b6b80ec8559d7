"""Streamed replies: the same records as replies that come at once, and a stream that breaks off is no reply."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cortexdsl.core import Call, Model, Reply
from cortexdsl.models.client import open_client
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import is_streamed
from cortexdsl.models.transports.streams import merged_completion, refuse_broken
from tests.models.kit import Time, call_of
from tests.models.stub import Stub, serving

WAYS = ("direct", "openai")


def event(content: Any) -> bytes:
    return b"data: " + json.dumps(content).encode() + b"\n\n"


class Streams(Stub):
    """Streams what it would have sent at once, a word an event; an order `broken` ends it after two events."""

    async def chat(self, request: web.Request) -> web.StreamResponse:
        order = self.orders[0] if self.orders else "ok"
        whole = await super().chat(request)
        if not self.bodies[-1].get("stream") or whole.status != 200 or order == "at once":
            return whole
        assert isinstance(whole, web.Response)
        assert isinstance(whole.body, bytes)
        answer = json.loads(whole.body)
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        for part in self.events(answer)[: 2 if order == "broken" else None]:
            await stream.write(part)
        if order == "error":
            await stream.write(event({"error": {"message": "Overloaded", "code": 503}}))
        await stream.write_eof()
        return stream

    def events(self, answer: dict[str, Any]) -> list[bytes]:
        choice = answer["choices"][0]
        message = choice["message"]
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        for name in ("reasoning_content", "content"):
            deltas += [{name: letter} for letter in message.get(name) or ""]
        tokens = (choice.get("logprobs") or {}).get("content") or []
        head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": answer["model"]}
        parts = [event({**head, "choices": [{"index": 0, "delta": d, "finish_reason": None}]}) for d in deltas]
        last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
        last |= {"logprobs": {"content": tokens}} if tokens else {}
        ends = [event({**head, "choices": [last]}), event({**head, "choices": [], "usage": answer["usage"]})]
        return [b": keep-alive\n\n", *parts, *ends, b"data: [DONE]\n\n"]


def asked(stub: Stub, folder: Path, *calls: Call) -> list[Reply]:
    async def scene() -> list[Reply]:
        async with (
            serving(stub) as base,
            open_client(folder / "own.jsonl", runtime=Time().runtime(BASE=base)) as client,
        ):
            return [await client(call) for call in calls]

    return asyncio.run(scene())


def question(way: str, text: str = "hi", **entry: Any) -> Call:
    return call_of(text, 1, f"{way}/name", api_base="env:BASE", **entry)


def records(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "own.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in ("seconds", "checksum")} for line in lines]


@pytest.mark.parametrize("way", WAYS)
def test_a_streamed_reply_is_logged_like_one_that_comes_at_once(tmp_path: Path, way: str) -> None:
    """Text, reasoning, tokens with their probabilities, and counts: every field but the time."""
    logs = []
    for name, streams in (("plain", False), ("streamed", True)):
        folder = tmp_path / name
        folder.mkdir()
        stub = Streams(["ok", "thinks", "cut", "garbage"])
        options, limit = {"logprobs": True}, 900.0 if streams else 60.0
        calls = [question(way, text, timeout=limit, options=options if text == "a" else {}) for text in "abcd"]
        asked(stub, folder, *calls)
        assert [body.get("stream", False) for body in stub.bodies] == [streams] * 4
        logs.append(records(folder))
    assert logs[0] == logs[1]
    assert logs[1][0]["usage"]["completion_tokens"] == 5
    assert logs[1][1]["reasoning"] == "2+2 is 4"


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_that_breaks_off_is_a_failed_attempt(tmp_path: Path, way: str) -> None:
    """Two attempts end cleanly without the end of the reply, one with an error: the fourth reply alone is kept."""
    stub = Streams(["broken", "error", "broken"])
    (reply,) = asked(stub, tmp_path, question(way, timeout=900.0))
    assert (reply.text, reply.error, stub.calls) == ("reply to hi [1]", None, 4)
    assert records(tmp_path)[0]["retries"] == {"transient": 3}


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_does_not_stream_is_read_as_always(tmp_path: Path, way: str) -> None:
    (reply,) = asked(Streams(["at once"]), tmp_path, question(way, timeout=900.0))
    assert (reply.text, reply.completion_tokens) == ("reply to hi [1]", 5)


def test_long_timeouts_stream() -> None:
    entries = [{}, {"timeout": 300.0}, {"timeout": 301.0}]
    assert [is_streamed(Model("m", "openai/m", **entry)) for entry in entries] == [False, False, True]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        event({"choices": [{"delta": {"content": "half"}}]}),
        event({"choices": [{"delta": {"content": 'data: [DONE] "finish_reason": "stop" "message_stop"'}}]}),
        b"event: content_block_delta\n" + event({"type": "content_block_delta", "delta": {"text": "half"}}),
        event({"candidates": [{"content": {"parts": [{"text": "half"}]}}]}),
    ],
)
def test_half_a_stream_of_any_protocol_is_refused(body: bytes) -> None:
    """Also if the text of the reply holds the words that would end it."""
    with pytest.raises(Failure, match="broke off") as caught:
        refuse_broken(body)
    assert caught.value.kind is FailureKind.TRANSIENT
    assert caught.value.may_have_cost


def test_other_choices_of_a_stream_are_left_out_and_events_of_several_lines_are_one() -> None:
    body = (
        b'data: {"choices": [{"index": 1, "delta": {"content": "no"}},\r\n'
        b'data: {"index": 0, "delta": {"content": "yes"}, "finish_reason": "stop"}]}\r\n\r\n'
    )
    assert json.loads(merged_completion(body))["choices"][0]["message"]["content"] == "yes"


def anthropic(text: str) -> Sequence[tuple[str, Any]]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30, "output_tokens": 1}
    message = {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": usage}  # fmt: skip
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    return [
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        *(("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": each}}) for each in text),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": delta, "usage": {"output_tokens": 20}}),
        ("message_stop", {}),
    ]


def gemini(text: str) -> Sequence[Any]:
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120, "cachedContentTokenCount": 60}
    parts = [{"candidates": [{"content": {"role": "model", "parts": [{"text": each}]}, "index": 0}]} for each in text]
    end = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}
    return [*parts, {"candidates": [end], "usageMetadata": usage}]


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_other_protocols_stream_through_litellm(tmp_path: Path, provider: str, is_cut: bool) -> None:
    """Text and counts as without a stream; litellm would make up an end for a stream that broke off."""
    text, served = "The sum is 4.", 0

    async def chat(request: web.Request) -> web.StreamResponse:
        nonlocal served
        served += 1
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        if provider == "anthropic":
            parts = [f"event: {kind}\n".encode() + event({"type": kind, **more}) for kind, more in anthropic(text)]
        else:
            parts = [event(part) for part in gemini(text)]
        for part in parts[:5] if is_cut and served == 1 else parts:
            await stream.write(part)
        await stream.write_eof()
        return stream

    async def scene() -> Reply:
        app = web.Application()
        app.add_routes([web.post("/{path:.*}", chat)])
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        base = f"http://127.0.0.1:{runner.addresses[0][1]}" + ("/v1beta" if provider == "gemini" else "")
        model = {"anthropic": "anthropic/claude-sonnet-4-5", "gemini": "gemini/gemini-2.5-flash"}[provider]
        try:
            runtime = Time().runtime(BASE=base, A_KEY="sk-0123456789abcdef")
            async with open_client(tmp_path / "own.jsonl", runtime=runtime) as client:
                return await client(
                    call_of(
                        model=model, api_base="env:BASE", api_key_env="A_KEY", timeout=900.0, options={"max_tokens": 99}
                    )
                )
        finally:
            await runner.cleanup()

    reply = asyncio.run(scene())
    record = records(tmp_path)[0]
    assert (reply.text, reply.finish_reason, served) == (text, "stop", 1 + is_cut)
    assert (record["usage"]["prompt_tokens"], record["usage"]["completion_tokens"]) == (100, 20)
    assert record["usage"]["cached_tokens"] == 60

"""Anthropic's Messages API, straight: requests, replies, streams, failures, and debates whose agents use tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Call, Image, Message, Model
from cortexdsl.models.transports.anthropic_messages import message_body, message_url
from cortexdsl.models.transports.direct import DirectTransport, body_of
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw, TokenCounts
from cortexdsl.models.transports.registry import refused_options_of
from tests.models.transports.test_function_calls import LONG, Server, claude, debate
from tests.models.transports.test_provider_replies import FAILURES, REPLIES
from tests.models.transports.test_streams import anthropic

WAY = "direct/anthropic/claude-x"
ASKS = claude({"type": "tool_use", "id": "toolu_1", "name": "sums", "input": {"expression": "3*4+5"}})
ANSWERS = claude({"type": "text", "text": "Answer: 17"})


def send(reply: Any, call: Call | None = None, base: str = "/v1", **entry: Any) -> tuple[Raw | Failure, Server]:
    server = Server(reply)

    async def scene() -> Raw | Failure:
        transport = DirectTransport()
        async with server as address:
            try:
                return await transport.send(
                    call or Call(Model("m", WAY, **{**LONG, **entry}), ({"role": "user", "content": "hi"},), 3),
                    address + base, "a key",
                )  # fmt: skip
            except Failure as failure:
                return failure
            finally:
                await transport.close()

    return asyncio.run(scene()), server


def talk(**entry: Any) -> Call:
    """Return a call after two uses of tools, one of them with arguments that are not JSON; with an image."""
    calls = [
        {"id": key, "type": "function", "function": {"name": "sums", "arguments": arguments}}
        for key, arguments in (("a", '{"expression": "1+1"}'), ("b", '{"expr'))
    ]
    messages: tuple[Message, ...] = (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "A question. Answer it."},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "1+1 = 2"},
        {"role": "tool", "tool_call_id": "b", "content": "The arguments are not JSON."},
    )
    image = Image("0a", "image/png", "data:image/png;base64,AAAA")
    options = {"max_tokens": 900, "stop": "END", "top_k": 5}
    return Call(Model("m", WAY, options=options, **entry), messages, 1, (image,), shared=12)


def test_a_request() -> None:
    assert message_body(body_of(talk(timeout=900.0))) == {
        "model": "claude-x",
        "max_tokens": 900,
        "top_k": 5,
        "stop_sequences": ["END"],
        "stream": True,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "text", "text": "A question. Answer it."},
            ]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "sums", "input": {"expression": "1+1"}},
                {"type": "tool_use", "id": "b", "name": "sums", "input": {"INVALID_JSON": '{"expr'}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "1+1 = 2"},
                {"type": "tool_result", "tool_use_id": "b", "content": "The arguments are not JSON."},
            ]},
        ],
    }  # fmt: skip


def test_the_marks_of_a_cache_stand_behind_system_and_question() -> None:
    body = message_body(body_of(talk(cache=True)))
    marked = [block["text"] for block in (*body["system"], *body["messages"][0]["content"]) if "cache_control" in block]
    assert marked == ["Be brief.", "A question. "]


@pytest.mark.parametrize("base", ["", "/", "/v1", "/v1/"])
def test_key_version_and_address(base: str) -> None:
    raw, server = send(ANSWERS, base=base)
    assert isinstance(raw, Raw)
    assert server.headers["x-api-key"] == "a key"
    assert server.headers["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in server.headers
    assert message_url("https://gateway/anthropic") == "https://gateway/anthropic/v1/messages"


@pytest.mark.parametrize(("what", "body", "fields"), [r[1:] for r in REPLIES if r[0] == "anthropic"])
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_reply(what: str, body: Any, fields: Mapping[str, Any], is_streamed: bool) -> None:
    raw, server = send(streamed(body) if is_streamed else body, timeout=900.0 if is_streamed else 60.0)
    assert isinstance(raw, Raw), raw
    assert (raw.text, raw.usage.prompt_tokens, raw.usage.completion_tokens) == ("Answer: 4", 100, 20)
    assert {name: getattr(raw.usage if name in TokenCounts._fields else raw, name) for name in fields} == fields
    assert raw.finish_reason == fields.get("finish_reason", "stop")
    assert raw.seed_refused
    assert "seed" not in server.bodies[0]
    assert server.bodies[0].get("stream") == (True if is_streamed else None)


def streamed(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a message."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {
        **message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}}]  # fmt: skip
    for index, block in enumerate(message["content"]):
        pieces = {"text": "text_delta", "thinking": "thinking_delta", "signature": "signature_delta"}
        deltas = [{"type": pieces[name], name: block[name]} for name in pieces if name in block]
        start = {name: "" if name in pieces else value for name, value in block.items()}
        if block["type"] == "tool_use":
            written = json.dumps(block["input"])
            start["input"] = {}
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in (written[:5], written[5:])]
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": message["usage"]["output_tokens"]}
    return [*events, {"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}]


@pytest.mark.parametrize(("status", "body", "kind", "words"), [f[1:] for f in FAILURES if f[0] == "anthropic"])
def test_a_failure(status: int, body: Any, kind: FailureKind, words: str) -> None:
    failure, _ = send((status, body))
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.what) == (kind, f"HTTP {status}: {words}" if status >= 400 else words)


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (400, "invalid_request_error", FailureKind.BAD_REQUEST),
        (401, "authentication_error", FailureKind.AUTHENTICATION),
        (402, "billing_error", FailureKind.QUOTA),
        (403, "permission_error", FailureKind.AUTHENTICATION),
        (404, "not_found_error", FailureKind.NOT_FOUND),
        (413, "request_too_large", FailureKind.CONTEXT_WINDOW),
        (429, "rate_limit_error", FailureKind.RATE_LIMIT),
        (500, "api_error", FailureKind.TRANSIENT),
        (504, "timeout_error", FailureKind.TRANSIENT),
        (529, "overloaded_error", FailureKind.TRANSIENT),
    ],
)
def test_each_class_of_errors(status: int, kind: str, expected: FailureKind) -> None:
    """The list of https://docs.anthropic.com/en/api/errors."""
    failure, _ = send((status, {"type": "error", "error": {"type": kind, "message": "No."}}))
    assert isinstance(failure, Failure)
    assert failure.kind is expected


@pytest.mark.parametrize(
    "body",
    [{}, [], "x", {"content": "text"}, {"content": [1]}, {"choices": []}, {"type": "message", "content": None}],
)
def test_what_is_not_a_message_is_malformed(body: Any) -> None:
    failure, _ = send((200, body))
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.MALFORMED


@pytest.mark.parametrize("usage", [None, [], {"input_tokens": "7"}, {"input_tokens": 1e30, "output_tokens": -1}])
def test_counts_that_are_none_are_unknown(usage: Any) -> None:
    raw, _ = send({**ANSWERS, "usage": usage})
    assert isinstance(raw, Raw)
    assert (raw.text, raw.usage.prompt_tokens, raw.usage.completion_tokens) == ("Answer: 17", None, None)


def test_a_withheld_reply_says_so() -> None:
    raw, _ = send({**claude(), "stop_reason": "refusal"})
    assert isinstance(raw, Raw)
    assert raw.finish_reason == "content_filter"


@pytest.mark.parametrize("cut", [1, 3, 8])
def test_a_stream_that_breaks_off_is_no_reply(cut: int) -> None:
    events = [{"type": kind, **more} for kind, more in anthropic("The sum is 4.")]
    failure, _ = send((200, "".join(f"data: {json.dumps(event)}\n\n" for event in events[:cut])), timeout=900.0)
    assert isinstance(failure, Failure)


THOUGHT = {"type": "thinking", "thinking": "I calculate.", "signature": "signed"}


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_debate_is_logged_and_replayed(is_streamed: bool, tmp_path: Path) -> None:
    asks = {**ASKS, "content": [THOUGHT, {"type": "redacted_thinking", "data": "xyz"}, *ASKS["content"]]}
    replies = [streamed(each) if is_streamed else each for each in (asks, ANSWERS)]
    entry = {**LONG, "timeout": 900.0 if is_streamed else 60.0}
    server, silent = Server(*replies), Server()
    first = debate(server, tmp_path, WAY, **entry)
    lines = [json.loads(line) for line in (tmp_path / "own.jsonl").read_text().splitlines()]
    assert [line["model"] for line in lines] == [WAY, "tool/calculator", WAY]
    assert lines[0]["requests"] == [["toolu_1", "sums", '{"expression": "3*4+5"}']]
    assert lines[0]["reasoning"] == "I calculate."
    assert lines[0]["seed_refused"]
    assert [(use.argument, use.result) for use in first.turns[0].uses] == [("3*4+5", "3*4+5 = 17")]
    assert first.turns[0].answer == "17"
    assert server.bodies[1]["messages"][1:] == [
        {"role": "assistant", "content": asks["content"]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3*4+5 = 17"}]},
    ]
    assert debate(silent, tmp_path, WAY, **entry) == first
    assert silent.bodies == []


def test_a_call_although_the_model_was_told_to_answer(tmp_path: Path) -> None:
    (turn,) = debate(Server(ASKS), tmp_path, WAY, uses=1, **LONG).turns
    assert "although it was told to answer" in str(turn.unparsed)


@pytest.mark.parametrize(("name", "value"), [
    ("frequency_penalty", 0.5), ("logprobs", True), ("reasoning_effort", "low"), ("temperature", 1.5),
    ("max_completion_tokens", 9),
])  # fmt: skip
def test_parameters_that_the_protocol_lacks_are_refused_before_anything_is_sent(name: str, value: Any) -> None:
    assert [*refused_options_of(Model("m", WAY, options={name: value}))] == [name]
    assert not refused_options_of(Model("m", "direct/m", options={name: value}))
    assert not refused_options_of(Model("m", WAY, options={"temperature": 1, "thinking": {"type": "disabled"}}))

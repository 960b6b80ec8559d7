"""Anthropic's Messages API, translated: requests from the OpenAI protocol, replies into it.

So parameters, images, cache marks, function calls and replies have one code for both protocols. Source:
https://docs.anthropic.com/en/api/messages, version 2023-06-01.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cortexdsl.core import Model
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.request_parts import MOST_RENAMED, SEED
from cortexdsl.models.transports.streams import is_stream, merged_message
from cortexdsl.typed_json import json_at, parse_json

PREFIX = "direct/anthropic/"
"""Of models whose server speaks this protocol."""
_VERSION = "2023-06-01"
_FINISH = {
    "end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length",
    "model_context_window_exceeded": "length", "refusal": "content_filter",
}  # fmt: skip
_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic counts the tokens of a prompt in three parts."""
_THINKING = "thinking_blocks"
_NOT_TAKEN = dict.fromkeys(
    ("frequency_penalty", "logit_bias", "logprobs", "min_p", "parallel_tool_calls", "presence_penalty",
     "repetition_penalty", "response_format", "top_logprobs"), "the Messages API of Anthropic has no such parameter",
) | {
    MOST_RENAMED: "the Messages API of Anthropic calls it max_tokens",
    "reasoning_effort": "the Messages API of Anthropic has thinking: {type: enabled, budget_tokens: NUMBER}",
}  # fmt: skip


def speaks_messages(model: Model) -> bool:
    """Say whether calls to a model are worded here: to its server, or to Anthropic's batches."""
    return model.model.startswith(PREFIX) or (
        model.is_billed and model.model.startswith(PREFIX.removeprefix("direct/"))
    )


def refused_options(model: Model) -> dict[str, str]:
    """Return the options of a model entry that the Messages API does not take, each with the reason."""
    if not speaks_messages(model):
        return {}
    refused = {name: reason for name, reason in _NOT_TAKEN.items() if name in model.options}
    if isinstance(heat := model.options.get("temperature"), int | float) and heat > 1:
        refused["temperature"] = f"{heat:g} is above 1, the most that the Messages API of Anthropic takes"
    return refused


def message_url(address: str) -> str:
    """Return where messages are posted; an address may end in `/v1` or not."""
    return f"{address.rstrip('/').removesuffix('/v1')}/v1/messages"


def message_headers(key: str | None) -> dict[str, str]:
    """Return the headers of a request."""
    return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}


def message_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request of the Messages API that says what one of the OpenAI protocol does, without its seed."""
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for message in body["messages"]:
        role = {"tool": "user"}.get(message["role"], message["role"])
        content = list(_blocks(message))
        if role == "system":
            system += content
        elif turns and turns[-1]["role"] == role:  # the results of several calls are one turn
            turns[-1]["content"] += content
        else:
            turns.append({"role": role, "content": content})
    skipped = ("messages", "stream_options", SEED, "stop", "tools", "tool_choice")
    sent = {name: value for name, value in body.items() if name not in skipped}
    if "stop" in body:
        sent["stop_sequences"] = [body["stop"]] if isinstance(body["stop"], str) else body["stop"]
    if "tools" in body:
        sent["tools"] = [
            {"name": each["name"], "description": each["description"], "input_schema": each["parameters"]}
            for each in (tool["function"] for tool in body["tools"])
        ]
    if "tool_choice" in body:
        sent["tool_choice"] = {"type": body["tool_choice"]}
    return {"messages": turns, **({"system": system} if system else {}), **sent}


def _blocks(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the content of a message in blocks; signed reasoning comes first, as it came. Empty texts are refused."""
    content = message["content"]
    if message["role"] == "tool":
        yield {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content}
        return
    yield from message.get(_THINKING, ())
    for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if part["type"] == "image_url":
            kind, _, data = part["image_url"]["url"].removeprefix("data:").partition(";base64,")
            yield {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
        elif part["text"].strip():
            yield part
    for call in message.get("tool_calls", ()):
        written = parse_json(call["function"]["arguments"])
        # Anthropic's words for arguments that are not JSON, which a request cannot hold otherwise.
        given = written if isinstance(written, dict) else {"INVALID_JSON": call["function"]["arguments"]}
        yield {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": given}


def completion_of(body: bytes) -> dict[str, Any]:
    """Return the chat completion that says what a message of the Messages API does, streamed or whole.

    Raises
    ------
    Failure
        Malformed if it is not a message.
    """
    message = merged_message(body) if is_stream(body) else parse_json(body.decode("utf-8", "replace"))
    blocks, usage, reason = (json_at(message, name) for name in ("content", "usage", "stop_reason"))
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise Failure(FailureKind.MALFORMED, "the body is not a message of Anthropic's protocol")
    calls = [
        {"id": block.get("id"), "function": {"name": block.get("name"), "arguments": block.get("input")}}
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    thoughts = [block for block in blocks if block.get("type") in ("thinking", "redacted_thinking")]
    counts = [json_at(usage, name) or 0 for name in _COUNTS]
    is_counted = json_at(usage, _COUNTS[0]) is not None and all(isinstance(count, int) for count in counts)
    found = {
        "content": blocks or None,
        **({"tool_calls": calls} if calls else {}),
        **({_THINKING: thoughts} if thoughts else {}),
    }
    return {
        "choices": [{"finish_reason": _FINISH.get(f"{reason}", reason), "message": found}],
        "usage": {
            **(usage if isinstance(usage, dict) else {}),
            "prompt_tokens": sum(counts) if is_counted else None,
            "completion_tokens": json_at(usage, "output_tokens"),
        },
    }

"""Streamed replies: server-sent events merged into the body that the server would have sent at once.

A stream shows its end: `[DONE]`, or a finish reason, in the OpenAI protocol, `message_stop` in Anthropic's, a
`finishReason` in Google's. A stream without one was cut off on its way; what arrived is not a short reply, and the
attempt has failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure, error_in
from cortexdsl.models.transports.interface import LARGEST_REPLY
from cortexdsl.typed_json import json_at, parse_json

STREAMED: Mapping[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""What asks a server of the OpenAI protocol for a stream that ends with its token counts."""
ENVELOPE = 4
"""Bytes of a stream for each byte of the largest reply: every token comes with its own envelope."""
_DONE = b"[DONE]"
_ENDS = re.compile(
    rb'^data: ?\[DONE\]|"message_stop"|"(?:finishReason|finish_reason|stop_reason|done_reason)" ?: ?"[^"]', re.MULTILINE
)
_CALLS = "tool_calls"
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
BROKEN = "the stream broke off before the reply was whole"


def largest_body(headers: Mapping[str, str]) -> int:
    """Return the most bytes of a body that are read: more if it is a stream."""
    is_events = headers.get("Content-Type", "").strip().lower().startswith("text/event-stream")
    return LARGEST_REPLY * (ENVELOPE if is_events else 1)


def is_stream(body: bytes) -> bool:
    """Say whether a body is made of server-sent events; a server may answer a request for a stream at once."""
    return body.lstrip()[:6].startswith((b"data:", b"event:", b":", b"id:"))


def refuse_broken(body: bytes) -> None:
    """Refuse a stream of any protocol that reports an error, or that does not show its end.

    Raises
    ------
    Failure
        Of the kind that the error's code or text implies; transient if the stream broke off.
    """
    for event in _events(body):
        failure = error_in(event)
        if failure is not None:
            failure.may_have_cost = True
            raise failure
    if _ENDS.search(body) is None:
        raise Failure(FailureKind.TRANSIENT, BROKEN, may_have_cost=True)


def merged_completion(body: bytes) -> bytes:
    """Return the body of the chat completion that a stream of the OpenAI protocol holds.

    Raises
    ------
    Failure
        Malformed if an event cannot be read.
    """
    message: dict[str, Any] = {}
    texts: dict[str, list[str]] = {}
    parts: list[Any] = []  # of a content that is a list, as Mistral's
    finish_reason, usage, tokens, has_choice = None, None, list[Any](), False
    has_parts = False
    calls: dict[int, dict[str, Any]] = {}
    for event in _events(body):
        chunk = _chunk(event)
        usage = chunk.get("usage") or usage
        for choice in chunk.get("choices") or ():
            if not isinstance(choice, Mapping) or choice.get("index", 0) != 0:
                continue
            has_choice = True
            finish_reason = choice.get("finish_reason") or finish_reason
            delta = choice.get("delta") or choice.get("message") or {}
            for name, value in delta.items() if isinstance(delta, Mapping) else ():
                if name in _TEXTS and isinstance(value, str):
                    texts.setdefault(name, []).append(value)
                    parts += [{"type": "text", "text": value}] if name == "content" else []
                elif name == "content" and isinstance(value, list):
                    texts.setdefault(name, [])
                    parts += value
                    has_parts = True
                elif name == _CALLS and isinstance(value, list):
                    _merge_calls(calls, value)
                elif value:
                    message[name] = value
            logprobs = choice.get("logprobs")
            if isinstance(logprobs, Mapping) and isinstance(logprobs.get("content"), list):
                tokens += logprobs["content"]
    message = {"content": None, **message, **{name: "".join(pieces) for name, pieces in texts.items()}}
    if has_parts:
        message["content"] = parts
    if calls:
        message[_CALLS] = [calls[k] for k in sorted(calls)]
    choice = {"index": 0, "finish_reason": finish_reason, "message": message}
    if tokens:
        choice["logprobs"] = {"content": tokens}
    return json.dumps({"choices": [choice] if has_choice else [], "usage": usage}).encode()


def _merge_calls(calls: dict[int, dict[str, Any]], deltas: list[Any]) -> None:
    """Add parts of function calls to those that came before: arguments come in pieces, a name and an id once."""
    for place, delta in enumerate(deltas):
        if not isinstance(delta, Mapping):
            continue
        index, function = delta.get("index", place), delta.get("function")
        call = calls.setdefault(index if isinstance(index, int) else place, {"function": {"arguments": ""}})
        if isinstance(delta.get("id"), str) and delta["id"]:
            call["id"] = delta["id"]
        if isinstance(function, Mapping):
            if isinstance(function.get("name"), str) and function["name"]:
                call["function"]["name"] = function["name"]
            if isinstance(function.get("arguments"), str):
                call["function"]["arguments"] += function["arguments"]


def merged_message(body: bytes) -> dict[str, Any]:
    """Return the message that a stream of Anthropic's protocol holds; arguments of tools stay texts.

    Raises
    ------
    Failure
        Malformed if an event cannot be read.
    """
    message: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    blocks: dict[str, dict[str, Any]] = {}
    for event in map(_chunk, _events(body)):
        delta, start, index = event.get("delta"), event.get("content_block"), f"{event.get('index')}"
        whole, is_of_block = event.get("message"), index in blocks
        for part in (whole, {} if is_of_block else delta, event):
            counts = json_at(part, "usage")
            usage |= {name: count for name, count in counts.items() if count} if isinstance(counts, dict) else {}
            message |= {"stop_reason": reason} if (reason := json_at(part, "stop_reason")) else {}
        if isinstance(start, Mapping):
            blocks[index] = {**start, **({"input": ""} if "input" in start else {})}
        elif is_of_block and isinstance(delta, Mapping):
            for piece, value in delta.items():
                name = "input" if piece == "partial_json" else piece
                if name != "type" and isinstance(value, str):
                    blocks[index][name] = f"{blocks[index].get(name, '')}{value}"
    return {**message, "content": list(blocks.values()), "usage": usage}


def _chunk(event: bytes) -> Mapping[str, Any]:
    chunk: Any = parse_json(event.decode("utf-8", "replace"))
    if chunk is None:
        raise Failure(FailureKind.MALFORMED, "an event of the stream is not JSON")
    if not isinstance(chunk, Mapping):
        raise Failure(FailureKind.MALFORMED, "an event of the stream is not an object")
    return chunk


def _events(body: bytes) -> Iterator[bytes]:
    """Yield the data of each event, without the one that ends the stream."""
    data: list[bytes] = []
    for line in body.replace(b"\r\n", b"\n").split(b"\n"):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            if (event := b"\n".join(data)).strip() != _DONE:
                yield event
            data = []
    if data and (event := b"\n".join(data)).strip() != _DONE:
        yield event

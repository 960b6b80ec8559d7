"""A server on loopback that speaks the wire format of one provider after another, and counts what it is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPLY = "The sum is 4.\nAnswer: 4\nConfidence Score: 0.9"
PROMPT, COMPLETION, CACHED, WRITTEN = 100, 20, 60, 30
"""Tokens of each call: of the prompt 60 are read from the cache, and 30 written into it if the provider has such."""

Said = tuple[int, Any]
"""A status, and a body as JSON."""


@dataclass
class Wire:
    """What one provider's server does.

    Attributes
    ----------
    model, base : str
        The model's name, and the path of its `api_base`.
    path : str
        Where requests come, without the query.
    key : callable
        Of headers (in lower case) and path: the key that the request was sent with.
    answer : callable
        Of the request's body: status and body.
    cached, written : int
        What it says of its cache.
    """

    model: str
    base: str
    path: str
    key: Callable[[Mapping[str, str], str], str]
    answer: Callable[[Mapping[str, Any]], Said]
    cached: int = CACHED
    written: int = 0
    options: str = ""


def bearer(headers: Mapping[str, str], path: str) -> str:
    return headers.get("authorization", "").removeprefix("Bearer ")


def chat(usage: Mapping[str, Any], model: str = "m") -> dict[str, Any]:
    """Return a chat completion as OpenAI sends it."""
    message = {"role": "assistant", "content": REPLY}
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": PROMPT, "completion_tokens": COMPLETION, **usage},
    }  # fmt: skip


DETAILS = {"prompt_tokens_details": {"cached_tokens": CACHED}}


def reasoning(body: Mapping[str, Any]) -> Said:
    """Answer as a reasoning model does: it takes no seed and no `max_tokens`."""
    for refused in ("seed", "max_tokens", "temperature"):
        if refused in body:
            error = {"message": f"Unsupported parameter: '{refused}' is not supported with this model.",
                     "type": "invalid_request_error", "param": refused, "code": "unsupported_parameter"}  # fmt: skip
            return 400, {"error": error}
    return 200, chat({**DETAILS, "completion_tokens_details": {"reasoning_tokens": 8}})


def anthropic(body: Mapping[str, Any]) -> Said:
    usage = {"input_tokens": PROMPT - CACHED - WRITTEN, "cache_read_input_tokens": CACHED,
             "cache_creation_input_tokens": WRITTEN, "output_tokens": COMPLETION}  # fmt: skip
    return 200, {
        "id": "x", "type": "message", "role": "assistant", "model": body["model"], "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": REPLY}], "usage": usage,
    }  # fmt: skip


def gemini(body: Mapping[str, Any]) -> Said:
    usage = {"promptTokenCount": PROMPT, "candidatesTokenCount": COMPLETION, "totalTokenCount": PROMPT + COMPLETION,
             "cachedContentTokenCount": CACHED}  # fmt: skip
    candidate = {"content": {"role": "model", "parts": [{"text": REPLY}]}, "finishReason": "STOP", "index": 0}
    return 200, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}


def ollama(body: Mapping[str, Any]) -> Said:
    return 200, {
        "model": body["model"], "created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": "stop",
        "message": {"role": "assistant", "content": REPLY}, "prompt_eval_count": PROMPT, "eval_count": COMPLETION,
    }  # fmt: skip


def bedrock(body: Mapping[str, Any]) -> Said:
    usage = {"inputTokens": PROMPT - CACHED - WRITTEN, "outputTokens": COMPLETION, "totalTokens": PROMPT + COMPLETION,
             "cacheReadInputTokens": CACHED, "cacheWriteInputTokens": WRITTEN}  # fmt: skip
    message = {"role": "assistant", "content": [{"text": REPLY}]}
    return 200, {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}


WIRES: Mapping[str, Wire] = {
    "anthropic": Wire(
        "anthropic/claude-sonnet-4-5", "", "/v1/messages", lambda headers, _: headers.get("x-api-key", ""), anthropic,
        written=WRITTEN, options=", max_tokens: 200",
    ),
    "gemini": Wire(
        "gemini/gemini-2.5-flash", "/v1beta", "/v1beta/models/gemini-2.5-flash:generateContent",
        lambda headers, path: headers.get("x-goog-api-key") or path.partition("key=")[2], gemini,
    ),
    "azure": Wire(
        "azure/gpt-4o", "", "/openai/deployments/gpt-4o/chat/completions",
        lambda headers, _: headers.get("api-key", ""), lambda _: (200, chat(DETAILS)),
        options=", options: {api_version: 2024-10-21}",
    ),
    "openrouter": Wire(
        "openrouter/openai/gpt-4o", "/api/v1", "/api/v1/chat/completions", bearer, lambda _: (200, chat(DETAILS)),
    ),
    "deepseek": Wire(
        "deepseek/deepseek-chat", "/v1", "/v1/chat/completions", bearer,
        lambda _: (200, chat({"prompt_cache_hit_tokens": CACHED, "prompt_cache_miss_tokens": PROMPT - CACHED})),
    ),
    "mistral": Wire(
        "mistral/mistral-large-latest", "/v1", "/v1/chat/completions", bearer, lambda _: (200, chat({})), cached=0,
    ),
    "ollama": Wire("ollama_chat/llama3.1", "", "/api/chat", bearer, ollama, cached=0),
    "reasoning": Wire("openai/o3-mini", "/v1", "/v1/chat/completions", bearer, reasoning, options=", max_tokens: 900"),
    "bedrock": Wire(
        "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "",
        "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse", bearer, bedrock, written=WRITTEN,
    ),
}  # fmt: skip


@dataclass
class Served:
    """A running server: its address, and what it was asked.

    `before` is asked first, with the number of earlier requests: what it returns is sent in place of the answer.
    """

    wire: Wire
    base: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    before: Callable[[int], Said | None] = lambda number: None


@contextmanager
def serving(wire: Wire) -> Iterator[Served]:
    """Serve a wire format on a free port of loopback, in a thread."""
    served = Served(wire)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            with lock:
                said = served.before(len(served.bodies))
                served.bodies.append(body)
                served.paths.append(path)
                served.keys.append(wire.key({name.lower(): value for name, value in self.headers.items()}, self.path))
                wrong = (404, {"error": {"message": f"no such path: {path}"}})
                status, answer = said or (wire.answer(body) if path == wire.path else wrong)
                served.statuses.append(status)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    served.base = f"http://127.0.0.1:{server.server_address[1]}{wire.base}"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

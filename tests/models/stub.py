"""An OpenAI-compatible server on loopback that counts what it is asked and fails on order."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class Stub:
    """Answers `reply to <last message> [<seed>]`; each request first takes the next of its `orders`."""

    def __init__(self, orders: Sequence[str] = (), key: str | None = None) -> None:
        self.orders = list(orders)
        self.key = key
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.texts: list[str] = []
        self.reply: str | None = None
        self.in_flight = self.most_in_flight = 0
        self.gate: asyncio.Event | None = None
        self.base = ""

    @property
    def calls(self) -> int:
        return len(self.bodies)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            said = request.headers.get("Authorization", "").removeprefix("Bearer ")
            return _error(401, f"Incorrect API key provided: {said}", "invalid_api_key")
        order = self.orders.pop(0) if self.orders else "ok"
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.gate is not None:
                await self.gate.wait()
            return self._obey(order, request, body)
        finally:
            self.in_flight -= 1

    def _obey(self, order: str, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        text = (
            self.reply if self.reply is not None else f"reply to {body['messages'][-1]['content']} [{body.get('seed')}]"
        )
        answer: dict[str, Any] = {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
        }
        choice = answer["choices"][0]
        if body.get("logprobs") and order != "silent tokens":
            pieces = [*re.findall(r"\s*\S+", text), "<|im_end|>"]
            choice["logprobs"] = {"content": [_token(piece, -0.5) for piece in pieces]}
        match order:
            case "no tokens":
                return _error(400, "logprobs are not supported by this model", "invalid_request_error")
            case "not a number":
                choice["logprobs"]["content"][1]["logprob"] = math.nan
            case "other tokens":
                choice["logprobs"] = {"content": [_token("something else", -0.5)]}
            case "429":
                return _error(429, "slow down", "rate_limit_exceeded", {"Retry-After": "3"})
            case "quota":
                return _error(429, "You exceeded your current quota", "insufficient_quota")
            case "context":
                return _error(400, "This model's maximum context length is 8 tokens", "context_length_exceeded")
            case "filter":
                return _error(400, "flagged by our content management policy", "content_filter")
            case "seed":
                if "seed" in body:
                    return _error(400, "Unrecognized request argument supplied: seed", "invalid_request_error")
            case "disconnect":
                assert request.transport is not None
                request.transport.close()
                return web.Response()
            case "empty":
                choice["message"]["content"] = ""
            case "withheld":
                choice["finish_reason"] = "content_filter"
            case "cut":
                choice["finish_reason"] = "length"
            case "cut to nothing":
                choice["finish_reason"], choice["message"]["content"] = "length", ""
            case "garbage":
                choice["message"]["content"] = "\u202e\x00{{ 7*7 }}<script>\ud800 ÿ"
            case "thinks":
                choice["message"]["reasoning_content"] = "2+2 is 4"
                answer["usage"]["completion_tokens_details"] = {"reasoning_tokens": 3}
            case "thinks aloud":
                choice["message"]["content"] = f"<think>2+2 is 4</think>\n\n{text}"
            case "thinks too long":
                choice["finish_reason"], choice["message"]["content"] = "length", "<think>2+2 is"
            case "calls a tool":
                choice["finish_reason"] = "tool_calls"
                choice["message"] |= {"content": None, "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
                ]}  # fmt: skip
            case "nousage":
                del answer["usage"]
            case "truncated" | "badjson":
                raw = json.dumps(answer)
                broken = raw[: len(raw) // 2] if order == "truncated" else raw.replace('"choices"', '"choices')
                return web.Response(text=broken, content_type="application/json")
            case order if order.isdigit():
                return _error(int(order), f"error {order}", "server_error")
        return web.Response(text=json.dumps(answer), content_type="application/json")

    async def embed(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.texts += body["input"]
        rows = [
            {"object": "embedding", "index": k, "embedding": [len(t) + 0.1, t.count("a") + 0.3, t.count("e") + 0.7]}
            for k, t in enumerate(body["input"])
        ]
        said = {
            "object": "list",
            "data": rows,
            "model": body["model"],
            "usage": {"prompt_tokens": 4, "total_tokens": 4},
        }
        return web.json_response(said)


def _token(said: str, logprob: float) -> dict[str, Any]:
    return {"token": said, "bytes": list(said.encode()), "logprob": logprob, "top_logprobs": []}


def _error(status: int, message: str, code: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"error": {"message": message, "code": code}}, status=status, headers=headers)


@asynccontextmanager
async def serving(stub: Stub) -> AsyncIterator[str]:
    """Serve a stub on a free port of loopback; yields its address."""
    app = web.Application(client_max_size=64 * 2**20)
    app.add_routes([web.post("/v1/chat/completions", stub.chat), web.post("/v1/embeddings", stub.embed)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    stub.base = f"http://127.0.0.1:{port}/v1"
    try:
        yield stub.base
    finally:
        await runner.cleanup()

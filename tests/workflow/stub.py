"""A small OpenAI-compatible server, run as a program of its own: slow, faulty or strict on order, and it counts.

A reply is a function of (model, messages, seed). `GET /stats` says how often it was asked, and how many finished
requests were asked again.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
from collections import Counter
from typing import Any

from aiohttp import web


class Stub:
    """The server.

    Parameters
    ----------
    latency : float
        Seconds that a reply takes.
    faults : mapping of fault to share
        Which share of the requests fails and how, drawn anew for every attempt.
    key : str or None
        Refuse every other key.
    model : str or None
        Have no other model.
    """

    def __init__(self, latency: float, faults: dict[str, float], key: str | None, model: str | None = None) -> None:
        self.latency, self.faults, self.key, self.model = latency, faults, key, model
        self.calls = self.in_flight = self.most_in_flight = 0
        self.attempts: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """Answer a chat completion, or fail."""
        body = await request.json()
        self.calls += 1
        said = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.key is not None and said != self.key:
            return _error(401, f"Incorrect API key provided: {said}", "invalid_api_key")
        if self.model not in (None, body["model"]):
            return _error(404, f"The model {body['model']} does not exist.", "model_not_found")
        name = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self.attempts[name] += 1
        fault = self._fault(name)
        if fault.isdigit():
            return _error(int(fault), f"fault {fault}", "fault", {"Retry-After": "0.1"} if fault == "429" else {})
        if fault == "context":
            return _error(400, "This model's maximum context length is 8 tokens", "context_length_exceeded")
        if fault == "disconnect":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.latency)
        finally:
            self.in_flight -= 1
        return self._answer(name, body, fault)

    def _fault(self, name: str) -> str:
        drawn = int(hashlib.sha256(f"{name} {self.attempts[name]}".encode()).hexdigest()[:8], 16) / 2**32
        for fault, share in self.faults.items():
            if drawn < share:
                return fault
            drawn -= share
        return ""

    def _answer(self, name: str, body: dict[str, Any], fault: str) -> web.Response:
        number = int(name[:6], 16)
        text = f"It is {number % 3}.\nAnswer: {number % 3}\nConfidence: 0.{number % 90 + 10}"
        finish = "length" if fault == "length" else "stop"
        text = {"empty": "", "garbage": "\u202e\x00{{ 7*7 }}<script>", "length": text[:5]}.get(fault, text)
        answer: dict[str, Any] = {
            "id": name[:8],
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
        }
        if fault != "nousage":
            answer["usage"] = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
        raw = json.dumps(answer)
        if fault in ("truncated", "badjson"):
            raw = raw[: len(raw) // 2] if fault == "truncated" else raw.replace('"choices"', '"choices')
        else:
            self.answered[name] += 1
        return web.Response(text=raw, content_type="application/json")

    async def models(self, _: web.Request) -> web.Response:
        """List the models: how others see that the server is up."""
        return web.json_response({"object": "list", "data": [{"id": self.model or "stub", "object": "model"}]})

    async def version(self, _: web.Request) -> web.Response:
        """Say what this is, as vLLM does."""
        return web.json_response({"version": "0.0.stub"})

    async def stats(self, _: web.Request) -> web.Response:
        """Say what was asked."""
        repeated = sum(self.answered.values()) - len(self.answered)
        found = {"calls": self.calls, "distinct_bodies": len(self.answered), "repeated_bodies": repeated}
        found["most_in_flight"] = self.most_in_flight
        return web.json_response(found)


def _error(status: int, message: str, code: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"error": {"message": message, "code": code}}, status=status, headers=headers)


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--fault", action="append", default=[], metavar="NAME=SHARE")
    parser.add_argument("--api-key")
    parser.add_argument("--model")
    args = parser.parse_args()
    faults = {name: float(share) for name, share in (fault.split("=") for fault in args.fault)}
    stub = Stub(args.latency, faults, args.api_key, args.model)
    app = web.Application()
    app.add_routes(
        [
            web.post("/v1/chat/completions", stub.chat),
            web.get("/v1/models", stub.models),
            web.get("/version", stub.version),
            web.get("/stats", stub.stats),
        ]
    )
    web.run_app(app, host="127.0.0.1", port=args.port, print=None, access_log=None, shutdown_timeout=0.1)


if __name__ == "__main__":
    main()

"""Odd replies and errors inside status 200: the same outcome, and as many requests, straight and through litellm."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cortexdsl.errors import ModelError
from cortexdsl.models.client import open_client
from tests.models.kit import Time, call_of
from tests.models.stub import Stub, serving

WAYS = ("openai/qwen", "direct/qwen")
CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}
REPLY = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE]}
COUNTED = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
ODD = {
    "NaN": json.dumps({**REPLY, "usage": COUNTED, "system_fingerprint": float("nan")}).encode(),
    "Infinity": json.dumps({**REPLY, "usage": COUNTED, "created": float("inf")}).encode(),
    "usage is a list": json.dumps({**REPLY, "usage": [1]}).encode(),
    "counts are texts": json.dumps({**REPLY, "usage": {"prompt_tokens": "7", "completion_tokens": None}}).encode(),
    "counts are negative": json.dumps({**REPLY, "usage": {**COUNTED, "prompt_tokens": -1}}).encode(),
    "a byte that is not UTF-8": json.dumps({**REPLY, "usage": COUNTED}).encode().replace(b"hi", b"hi\xff"),
    "a cost that is a text": json.dumps({**REPLY, "usage": {**COUNTED, "cost": "free"}}).encode(),
}


class Server(Stub):
    """A server that answers every request by the next of its bodies, and by the last of them in the end."""

    def __init__(self, *bodies: bytes) -> None:
        super().__init__()
        self.replies, self.requests = bodies, 0

    async def chat(self, request: web.Request) -> web.Response:
        await request.read()
        body = self.replies[min(self.requests, len(self.replies) - 1)]
        self.requests += 1
        return web.Response(body=body, content_type="application/json")


def line_of(server: Server, folder: Path, way: str) -> dict[str, Any]:
    """Make one call, and return its line of the log; or the error that ends the run."""

    async def scene() -> str:
        async with (
            serving(server) as base,
            open_client(folder / "own.jsonl", runtime=Time().runtime(BASE=base)) as client,
        ):
            try:
                await client(call_of(model=way, api_base="env:BASE"))
            except ModelError as error:
                return str(error)
        return ""

    ended = asyncio.run(scene())
    if ended:
        return {"ended": ended.splitlines()[0].partition(" at http")[0], "words": ended.partition(": ")[2]}
    (line,) = (folder / "own.jsonl").read_text().splitlines()
    record: dict[str, Any] = json.loads(line)
    return {name: record[name] for name in ("reply", "error", "attempts", "retries", "usage", "finish_reason")}


def both(tmp_path: Path, *bodies: bytes) -> tuple[dict[str, Any], int]:
    """Return the outcome of both ways, which is one, and the requests that it took."""
    outcomes = []
    for way in WAYS:
        server, folder = Server(*bodies), tmp_path / way
        folder.mkdir(parents=True)
        found = line_of(server, folder, way)
        found.pop("words", None)
        outcomes.append((json.loads(json.dumps(found).replace(way, "WAY")), server.requests))
    assert outcomes[0] == outcomes[1]
    return outcomes[0]


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_an_odd_reply_is_a_reply_and_paid_once(body: bytes, tmp_path: Path) -> None:
    outcome, requests = both(tmp_path, body)
    assert requests == 1
    assert outcome["error"] is None
    assert outcome["reply"].startswith("hi")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "Overloaded", "code": 529}, "transient"),
        ({"message": "overloaded"}, "transient"),
        ({"message": "Rate limit exceeded", "code": 429}, "rate_limit"),
        ({"message": "Provider returned error", "code": "502"}, "transient"),
        ("the engine is overloaded", "transient"),
    ],
)
def test_an_error_inside_status_200_is_retried_and_never_an_answer(error: Any, kind: str, tmp_path: Path) -> None:
    """Twice the error, then the reply: three requests, and the log says what the first two failed of."""
    told = json.dumps({"error": error}).encode()
    good = json.dumps({**REPLY, "usage": COUNTED}).encode()
    outcome, requests = both(tmp_path, told, told, good)
    assert requests == 3
    assert (outcome["reply"], outcome["retries"]) == ("hi", {kind: 2})


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "the words of the server", "code": 400}},
        {**REPLY, "choices": [{**CHOICE, "error": {"message": "the words of the server", "code": 400}}]},
    ],
    ids=["alone", "in a choice that has a text"],
)
def test_an_error_inside_status_200_that_would_not_pass_ends_the_run_in_the_servers_words(
    body: Any, tmp_path: Path
) -> None:
    outcome, requests = both(tmp_path, json.dumps(body).encode())
    assert requests == 1
    assert outcome == {"ended": "the request was refused: model entry (WAY)"}


@pytest.mark.parametrize("way", WAYS)
def test_the_words_of_an_error_inside_status_200_are_kept(way: str, tmp_path: Path) -> None:
    body = json.dumps({"error": {"message": "overloaded: come back at noon"}}).encode()
    (tmp_path / "own").mkdir()
    found = line_of(Server(body), tmp_path / "own", way)
    assert "HTTP 200 with an error: overloaded: come back at noon" in found["words"]

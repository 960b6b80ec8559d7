"""A hostile or broken server: every answer has a defined outcome, in bounded memory, and none is taken for a reply."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import resource
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cortexdsl.core import Limits, Reply
from cortexdsl.errors import BudgetError, ModelError
from cortexdsl.models.client import open_client
from cortexdsl.models.transports.interface import LARGEST_REPLY
from tests.models.kit import Time, call_of

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
MB = 2**20


def said(**choice: Any) -> dict[str, Any]:
    """A chat completion whose choice says something odd."""
    usage = choice.pop("usage", {"prompt_tokens": 7, "completion_tokens": 5})
    told = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    message = {"role": "assistant", "content": "Answer: 4"}
    return {**told, "choices": [{"index": 0, "finish_reason": "stop", "message": message, **choice}]}


def fixed(body: str | bytes, status: int = 200, **headers: str) -> Handler:
    async def handler(_: web.Request) -> web.Response:
        raw = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=raw, status=status, headers={"Content-Type": "application/json", **named})

    return handler


async def ask(tmp_path: Path, handler: Handler, calls: int = 1, way: str = "direct", **limits: Any) -> list[Any]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        runtime = Time().runtime(BASE=base)
        log = tmp_path / "calls" / "own.jsonl"
        async with open_client(log, runtime=runtime, limits=Limits(**limits), ledgers=tmp_path / "spent") as client:
            asked = [client(call_of(seed=k, model=f"{way}/m", api_base="env:BASE")) for k in range(calls)]
            return list(await asyncio.gather(*asked, return_exceptions=True))
    finally:
        await runner.cleanup()


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    try:
        while True:
            await response.write(b" " * MB)
    except ConnectionError:
        return response


BOMB = gzip.compress(b" " * (256 * MB), 1)
NESTED = "[" * 200_000


WAYS = ("direct", "openai", "hosted_vllm")
"""Straight, by litellm's client of OpenAI, and by the one that it has for most others."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("handler", "error"),
    [
        (fixed(b" " * (LARGEST_REPLY + 1)), "malformed reply: the reply is larger than 16 MB"),
        (endless, "malformed reply: the reply is larger than 16 MB"),
        (fixed(BOMB, Content_Encoding="gzip"), "malformed reply: the reply is larger than 16 MB"),
        (fixed("xyz", Content_Encoding="gzip"), "malformed reply: the body says that it is gzip, and is not"),
        (
            fixed("xyz", Content_Encoding="br"),
            "malformed reply: the body is compressed by 'br', which was not asked for",
        ),
    ],
)
def test_a_body_without_measure_is_read_up_to_a_bound(tmp_path: Path, way: str, handler: Handler, error: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    [reply] = asyncio.run(ask(tmp_path, handler, way=way))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.error) == ("", error)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024  # KB: a bomb would take 256 MB


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("handler", "error"),
    [
        (fixed(NESTED), "malformed reply: the body is not a chat completion"),
        (fixed('{"choices": ' + NESTED), "malformed reply: the body is not a chat completion"),
        (fixed('{"status": "ok"}'), "malformed reply: the body is not a chat completion"),
        (fixed(json.dumps(said(message={"role": "assistant", "content": ["x"]}))), "malformed reply: the "),
    ],
)  # fmt: skip
def test_what_is_no_reply_is_a_failure_of_the_call(tmp_path: Path, way: str, handler: Handler, error: str) -> None:
    [reply] = asyncio.run(ask(tmp_path, handler, way=way))
    assert isinstance(reply, Reply), reply
    assert not reply.text
    assert (reply.error or "").startswith(error)  # litellm says less of a content that is no text


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_that_is_compressed_unasked_is_read(tmp_path: Path, way: str, encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    packed = fixed(pack(json.dumps(said()).encode()), Content_Encoding=encoding)
    [reply] = asyncio.run(ask(tmp_path, packed, way=way))
    assert isinstance(reply, Reply)
    assert reply.text == "Answer: 4"


@pytest.mark.parametrize(
    ("choice", "reason", "tokens"),
    [
        ({"finish_reason": 5}, None, (7, 5)),
        ({"finish_reason": "stop\n\x1b[31m; sk-abc"}, "other", (7, 5)),
        ({"finish_reason": "x" * 10_000}, "other", (7, 5)),
        ({"usage": {"prompt_tokens": 10**400, "completion_tokens": -1}}, "stop", (None, None)),
        ({"usage": {"prompt_tokens": "7", "completion_tokens": True}}, "stop", (None, None)),
        ({"usage": [5]}, "stop", (None, None)),
    ],
)
def test_odd_fields_are_unknown_and_never_kept_as_they_came(
    tmp_path: Path, choice: dict[str, Any], reason: str | None, tokens: tuple[int | None, int | None]
) -> None:
    [reply] = asyncio.run(ask(tmp_path, fixed(json.dumps(said(**choice)))))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason) == ("Answer: 4", reason)
    assert (reply.prompt_tokens, reply.completion_tokens) == tokens


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_is_not_followed_and_ends_the_run(tmp_path: Path, way: str, status: int) -> None:
    """The prompt would go to another host."""
    handler = fixed("", status, Location="http://me:secret@elsewhere.example/v1/chat/completions")
    [error] = asyncio.run(ask(tmp_path, handler, way=way))
    assert isinstance(error, ModelError)
    assert f"HTTP {status}: it redirects to http://elsewhere.example/v1/chat/completions" in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize("status", [400, 500])
def test_an_error_body_of_any_depth_is_told(tmp_path: Path, status: int) -> None:
    [error] = asyncio.run(ask(tmp_path, fixed(NESTED, status)))
    assert isinstance(error, ModelError)
    assert f"HTTP {status}" in str(error)


@pytest.mark.parametrize("way", WAYS)
def test_a_web_page_ends_the_run_and_is_never_data(tmp_path: Path, way: str) -> None:
    """A proxy's page with status 200 made 72 of 72 calls failures that were kept, and the run ended well."""
    page = fixed("\n<!DOCTYPE html><html><body>Welcome</body></html>", Content_Type="text/html")
    results = asyncio.run(ask(tmp_path, page, calls=72, way=way, connections=8))
    assert all(isinstance(each, ModelError) for each in results)
    assert "no model answers there" in str(results[0])
    assert "web page" in str(results[0])
    assert (tmp_path / "calls" / "own.jsonl").read_text() == ""


def test_failures_that_are_data_stay_few_or_end_the_run_and_are_asked_again(tmp_path: Path) -> None:
    """ "context length exceeded" to every call: a run of 120 ends after a few, and says what, where and how many."""
    context = json.dumps({"error": {"message": "maximum context length is 8 tokens"}})
    results = asyncio.run(ask(tmp_path, fixed(context, 400), calls=120, connections=4))
    stopped = [each for each in results if isinstance(each, BudgetError)]
    assert stopped
    assert re.search("calls of this (job|run) brought no reply", str(stopped[0]))  # whichever is counted first
    assert "model entry (direct/m): context window exceeded: HTTP 400: maximum context length" in str(stopped[0])
    assert "cortexdsl run NAME --errors-again" in str(stopped[0])
    allowed = asyncio.run(ask(tmp_path / "b", fixed(context, 400), calls=120, connections=4, failed=1.0))
    assert all(isinstance(each, Reply) and each.error for each in allowed)

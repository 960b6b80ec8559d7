"""Fixtures of the tests of knowledge."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import aiohttp
import pytest
from aiohttp import web

from cortexdsl.tasks.retrieval.sources import Search
from tests.tasks.retrieval.service import KEY, Service

T = TypeVar("T")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of this machine must not come between a test and its loopback service."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def with_search() -> Callable[[Service, Callable[[Search, str], Awaitable[T]]], T]:
    """Runs `use(search, address)` against a service."""

    def run(service: Service, use: Callable[[Search, str], Awaitable[T]]) -> T:
        async def serve() -> T:
            app = web.Application()
            app.router.add_post("/search", service.answer)
            runner = web.AppRunner(app)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = runner.addresses[0][1]
            address = f"http://127.0.0.1:{port}/search"
            try:
                async with aiohttp.ClientSession() as session:
                    search = Search("web", session, KEY, "SERPER_API_KEY", address, "env:SEARCH", service.sleep)
                    return await use(search, address)
            finally:
                await runner.cleanup()

        return asyncio.run(serve())

    return run

"""A search service on loopback that answers as it is told, and a clock that nobody waits for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

KEY = "k3y-of-the-tests-0123456789"


@dataclass
class Service:
    """What the search service says, in turn (the last thing again and again), and what it was asked.

    An answer is (status, body, headers); a body of None breaks the connection off.
    """

    answers: list[tuple[int, str | None, dict[str, str]]]
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        self.keys.append(request.headers.get("X-API-KEY", ""))
        status, body, headers = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if body is None:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return web.Response(status=status, text=body, headers=headers)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

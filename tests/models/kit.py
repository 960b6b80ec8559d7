"""What the tests of the client share: calls, a transport without a network, and time without waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from cortexdsl.core import Call, Model
from cortexdsl.models.endpoints.retry import Runtime
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw, TokenCounts


def call_of(text: str = "hello", seed: int = 1, model: str = "fake/model", **entry: Any) -> Call:
    return Call(Model("entry", model, **entry), ({"role": "user", "content": text},), seed)


class Time:
    """A clock that moves only when somebody sleeps by it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def runtime(self, **environment: str) -> Runtime:
        return Runtime(self.clock, self.sleep, lambda: 0.0, environment, now=lambda: 1e9 + self.now)


class Fake:
    """A transport that answers from a script: a Raw, a text, or a Failure to raise; then always `ok`."""

    def __init__(self, *script: Raw | str | Failure) -> None:
        self.script = list(script)
        self.asked: list[Call] = []
        self.in_flight = self.most_in_flight = 0
        self.gate: asyncio.Event | None = None
        self.answer: Callable[[Call], Raw | str | Failure] = lambda call: (
            f"ok {call.messages[-1]['content']} {call.seed}"
        )

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        self.asked.append(call)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await (self.gate.wait() if self.gate is not None else asyncio.sleep(0))
        finally:
            self.in_flight -= 1
        said = self.script.pop(0) if self.script else self.answer(call)
        if isinstance(said, Failure):
            raise said
        return Raw(said, "stop", TokenCounts(10, 5)) if isinstance(said, str) else said

    async def close(self) -> None:
        pass

    @property
    def transports(self) -> dict[str, Fake]:
        return {"fake": self}


async def settle(turns: int = 20) -> None:
    """Let everything that can run run."""
    for _ in range(turns):
        await asyncio.sleep(0)


def texts(replies: Sequence[Any]) -> list[str]:
    return [reply.text for reply in replies]

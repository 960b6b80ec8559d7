"""What the tests of batches share: keys, and time that moves when nothing else does."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from itertools import count
from typing import Any, TypeVar

from cortexdsl.models.endpoints.retry import RetryPolicy, Runtime

T = TypeVar("T")
START = 1.7e9
KEYS = {"OPENAI_API_KEY": "sk-openai-key-of-tests", "ANTHROPIC_API_KEY": "sk-anthropic-key-of-tests"}


class VirtualTime:
    """Time that goes on to the next sleeper when nothing else can run, in no thread either."""

    def __init__(self, now: float = START) -> None:
        self.now = now
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._number = count()
        self._in_threads = 0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        sleeper = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._number), sleeper))
        await sleeper

    def runtime(self) -> Runtime:
        return Runtime(self.clock, self.sleep, lambda: 0.0, KEYS, RetryPolicy(), self.clock)

    async def _drive(self, work: Coroutine[Any, Any, T]) -> T:
        loop = asyncio.get_running_loop()
        begin = loop.run_in_executor

        def begin_and_count(*args: Any) -> asyncio.Future[Any]:
            future = begin(*args)
            self._in_threads += 1
            future.add_done_callback(self._end_thread)
            return future

        loop.run_in_executor = begin_and_count  # type: ignore[assignment, method-assign]
        task = asyncio.create_task(work)
        while not task.done():
            for _ in range(4):  # a result may pass several tasks
                while loop._ready:  # type: ignore[attr-defined]
                    await asyncio.sleep(0)
                await asyncio.sleep(0)
            if task.done():
                break
            if self._sleepers and not self._in_threads:
                self.now, _, sleeper = heapq.heappop(self._sleepers)
                if not sleeper.done():
                    sleeper.set_result(None)
            else:
                await asyncio.sleep(0.001)
        return task.result()

    def _end_thread(self, _: asyncio.Future[Any]) -> None:
        self._in_threads -= 1

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(self._drive(work))

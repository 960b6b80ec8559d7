"""Concurrent work: waiting for several calls, and sharing the event loop between debates."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class FairQueue:
    """Tasks of one event loop that use processor time: one continues per pass of the loop.

    A reply may wake hundreds of debates at once. If all of them continued before the loop looks for further replies,
    the server would be idle although other calls could be sent.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        """Wait until this task may continue."""
        loop = asyncio.get_running_loop()
        mine = loop.create_future()
        self._waiting.append(mine)
        if len(self._waiting) == 1:
            loop.call_soon(self._release, loop)
        await mine

    def _release(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():  # a cancelled task is not waiting any more
                first.set_result(None)
                break
        if self._waiting:
            loop.call_soon(self._release, loop)


_QUEUES: WeakKeyDictionary[asyncio.AbstractEventLoop, FairQueue] = WeakKeyDictionary()


async def yield_to_others() -> None:
    """Wait until other debates of this loop have continued and the loop has handled what has arrived."""
    await _QUEUES.setdefault(asyncio.get_running_loop(), FairQueue()).wait()


async def gather_all(work: Sequence[Awaitable[T]]) -> list[T]:
    """Wait for all, even if one fails, so that no reply on its way is lost; then raise the first failure."""
    results: list[T] = []
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results


async def gather_or_cancel(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Wait for all; if one fails, cancel the others and raise the first failure."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]

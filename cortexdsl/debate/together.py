"""Work that goes on at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class Turns:
    """Work of one loop that takes a processor's time: one piece is let go each time that the loop has looked around.

    A reply may wake hundreds of debates at once; were all of them to go on before the loop looks for replies again, the
    server would wait for them with nothing to do, though other calls could be sent to it.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        """Wait for one's turn."""
        loop = asyncio.get_running_loop()
        mine = loop.create_future()
        self._waiting.append(mine)
        if len(self._waiting) == 1:
            loop.call_soon(self._let_go, loop)
        await mine

    def _let_go(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():  # whoever was cancelled does not wait any longer
                first.set_result(None)
                break
        if self._waiting:
            loop.call_soon(self._let_go, loop)


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


async def in_turn() -> None:
    """Wait until other debates of this loop have gone on, and until what has arrived meanwhile is looked at."""
    await _TURNS.setdefault(asyncio.get_running_loop(), Turns()).wait()


async def all_of(work: Sequence[Awaitable[T]]) -> list[T]:
    """Wait for all, even when one fails, so that no reply on its way is lost; then raise the first failure."""
    done: list[T] = []
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
        done.append(outcome)
    return done


async def all_or_first_failure(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Wait for all; when one fails cancel the others and raise the first failure alone."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]

"""Runs debates until each of them has ended or waits for a reply that no round has brought yet."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Elsewhere:
    """Counts what other threads and machines do for debates at this moment."""

    def __init__(self) -> None:
        self._now = 0

    def __bool__(self) -> bool:
        return self._now > 0

    async def __call__(self, work: Awaitable[Any]) -> Any:
        """Wait for such work."""
        self._now += 1
        try:
            return await work
        finally:
            self._now -= 1


class _Selector(selectors.DefaultSelector):
    """Tells when the event loop has nothing to do but to wait."""

    on_idle: Callable[[], bool] | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what has arrived; a loop with something to do at once passes a timeout of 0."""
        if timeout != 0 and self.on_idle is not None and self.on_idle():
            timeout = 0
        return super().select(timeout)


class IdleLoop(asyncio.SelectorEventLoop):
    """An event loop in which `until_stuck` is possible."""

    def __init__(self) -> None:
        self.selector = _Selector()
        super().__init__(self.selector)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run work in an event loop in which `until_stuck` is possible."""
    with asyncio.Runner(loop_factory=IdleLoop) as runner:
        return runner.run(work)


async def until_stuck(tasks: Sequence[asyncio.Task[Any]], elsewhere: Elsewhere) -> None:
    """Wait until every task is done, or none can go on: nothing is computed, neither here nor elsewhere.

    Tasks that are not done are cancelled.
    """
    loop = asyncio.get_running_loop()
    assert isinstance(loop, IdleLoop)
    stuck = loop.create_future()

    def on_idle() -> bool:
        if elsewhere or stuck.done():
            return False
        stuck.set_result(None)
        return True

    loop.selector.on_idle = on_idle
    try:
        everything = asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait({everything, stuck}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.selector.on_idle = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

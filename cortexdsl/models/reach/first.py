"""The first call to a model goes ahead of the others: what it is refused for, they need not be refused for as well."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from cortexdsl.models.reach.failures import Failure

T = TypeVar("T")


class FirstCall:
    """The first call to one model at one address, with one key and one set of options.

    The calls that come while it is in flight wait for its outcome, but at most `head_start` seconds: servers refuse
    keys, names and parameters before the model works, so that a call which takes longer was accepted. If it fails in a
    way that would end the run (a wrong key, a refused parameter), all others fail with it and are not sent.
    """

    def __init__(self, head_start: float) -> None:
        self._head_start = head_start
        self._is_over: asyncio.Event | None = None
        self._has_answered = False
        self._refusal: Failure | None = None

    async def send(self, send: Callable[[], Awaitable[T]]) -> T:
        """Return what `send` gives, once the first call is over or has its head start.

        Raises
        ------
        Failure
            As `send` does; that of the first call, marked as not sent, if no call to the model can succeed.
        """
        if self._has_answered:
            return await send()
        if self._is_over is None:
            self._is_over = asyncio.Event()
        elif not self._is_over.is_set() and self._head_start:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_over.wait(), self._head_start)
        if self._refusal is not None:
            raise self._refusal.not_sent()
        try:
            value = await send()
            self._has_answered = True
            return value
        except Failure as failure:
            if failure.kind.is_refusal and not failure.is_mended and not self._has_answered:
                self._refusal = failure
            raise
        finally:
            self._is_over.set()

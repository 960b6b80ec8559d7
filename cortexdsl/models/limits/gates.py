"""How many calls may be in flight to one endpoint: a limit that finds the server's own by trying.

The scheme is the one that works elsewhere: start low, double until the first refusal, then climb by 5 % and
fall to 80 %; refusals that belong to one burst count once; a failing server stops growth without shrinking.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

START = 20
"""Calls in flight at first: from 4 on, the 64 places of a server are filled a second after the first call of 200 ms."""
DOUBLE, CLIMB, FALL = 2.0, 1.05, 0.8
SATURATION = 0.8
COOLDOWN = 15.0


class AdaptiveLimit:
    """The controller: pure state over events, each with the time at which it happened.

    Growth is judged by windows: as many successes as the limit allows in flight, at least once 80 % of the
    limit in flight meanwhile, and no failure of the server among them. After a full window the limit doubles;
    after the first rate limit it grows by 5 % (at least by one). A rate limit cuts it to 80 % and starts a
    cooldown of 15 s, or of Retry-After if that is longer, in which neither further cuts nor growth happen. Two
    rate limits with no success in between pause everything for as long as Retry-After says: the server then
    refuses us, and not one call.

    Parameters
    ----------
    most : int
        The largest limit, 1 or more.

    Attributes
    ----------
    limit : int
        Calls that may be in flight.
    paused_until : float
        Time before which nothing should be sent.
    """

    def __init__(self, most: int) -> None:
        if most < 1:
            raise ValueError(f"at least one call must be allowed in flight, not {most}")
        self.most = most
        self.limit = min(START, most)
        self.paused_until = -math.inf
        self._cooled_at = -math.inf
        self._doubling = True
        self._successes = 0
        self._saturated = False
        self._was_refused = False

    def sent(self, in_flight: int) -> None:
        """Note that a call was sent, `in_flight` of them with it."""
        self._saturated = self._saturated or in_flight >= SATURATION * self.limit

    def succeeded(self, now: float) -> None:
        """Note a reply."""
        self._was_refused = False
        if now < self._cooled_at:
            return
        self._successes += 1
        if self._successes >= self.limit and self._saturated:
            grown = self.limit * DOUBLE if self._doubling else max(self.limit + 1, self.limit * CLIMB)
            self.limit = min(self.most, int(grown))
            self._restart()

    def rate_limited(self, now: float, retry_after: float | None) -> None:
        """Note a refusal for too many calls."""
        wait = retry_after or 0.0
        if self._was_refused:
            self.paused_until = max(self.paused_until, now + wait)
        self._was_refused = True
        self._doubling = False
        if now >= self._cooled_at:
            self.limit = max(1, int(self.limit * FALL))
            self._cooled_at = now + COOLDOWN
        self._cooled_at = max(self._cooled_at, now + wait)
        self._restart()

    def failed(self) -> None:
        """Note a failure of the server: growth starts over, nothing shrinks."""
        self._restart()

    def _restart(self) -> None:
        self._successes = 0
        self._saturated = False


class Endpoint:
    """The gate to one address with one key: lets through as many calls as its controller allows, in order.

    Attributes
    ----------
    name : str
        The address as it may be shown.
    in_flight, most_in_flight : int
    answered_at : float
        When it last answered.
    down_since : float or None
        Since when it is known to be dead.
    probing : asyncio.Lock
        Held by the call that tries whether a dead server is back.
    """

    def __init__(self, control: AdaptiveLimit, clock: Callable[[], float] = time.monotonic, name: str = "") -> None:
        self.control = control
        self.name = name
        self.answered_at = -math.inf
        self.down_since: float | None = None
        self.probing = asyncio.Lock()
        self.in_flight = self.most_in_flight = 0
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold one place in flight."""
        await self._enter()
        try:
            yield
        finally:
            self.in_flight -= 1
            self._wake()

    async def _enter(self) -> None:
        if self._waiting or not self._is_open():
            ticket = asyncio.get_running_loop().create_future()
            self._waiting.append(ticket)
            self._wake()
            try:
                await ticket
            except asyncio.CancelledError:
                if ticket.done() and not ticket.cancelled():  # it had been let in: hand the place on
                    self.in_flight -= 1
                    self._wake()
                raise
        else:
            self._let_in()

    def _is_open(self) -> bool:
        return self.in_flight < self.control.limit and self._clock() >= self.control.paused_until

    def _let_in(self) -> None:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.control.sent(self.in_flight)

    def _wake(self) -> None:
        while self._waiting and self._is_open():
            ticket = self._waiting.popleft()
            if not ticket.done():
                self._let_in()
                ticket.set_result(None)
        pause = self.control.paused_until - self._clock()
        if self._waiting and pause > 0 and self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(pause, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._wake()

"""Trying again: which failures, how often, and how long to wait in between."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from cortexdsl.models.limits.gates import Endpoint
from cortexdsl.models.reach.failures import Failure, Kind
from cortexdsl.models.reach.outages import REMEMBERED, Outages

T = TypeVar("T")
PROBE = 5.0
"""Seconds between two attempts, of all calls of a job together, to reach a server that is waited for."""
_say = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the door insists on a reply.

    Attributes
    ----------
    rate_limit, transient, malformed : int
        Attempts at most, the first included, by the kind of the last failure.
    seconds : float
        No attempt begins later than this after the first one, time in which a call waits for a place not counted.
    first, longest : float
        Seconds of the first wait, and the most that doubling it leads to.
    head_start : float
        Seconds that the first call to a model goes ahead of others, so that they learn what it is refused for.
    """

    rate_limit: int = 20
    transient: int = 6
    malformed: int = 5
    seconds: float = 900.0
    first: float = 0.5
    longest: float = 60.0
    head_start: float = 2.0

    def attempts(self, kind: Kind) -> int:
        """Return how many attempts a kind of failure gets."""
        return {
            Kind.RATE_LIMIT: self.rate_limit,
            Kind.TRANSIENT: self.transient,
            Kind.FOREIGN: self.transient,
            Kind.MALFORMED: self.malformed,
        }.get(kind, 1)

    def wait(self, attempt: int, asked: float | None, jitter: float) -> float:
        """Return the seconds to wait after attempt number `attempt` (from 1).

        The wait doubles with every attempt, is shortened by up to a half by `jitter` in [0, 1), and is at least
        what the server asked for (Retry-After), which is then lengthened by up to a tenth, so that the calls
        that were refused together do not come back together.
        """
        wait = min(self.longest, self.first * 2.0 ** (attempt - 1)) * (1.0 - jitter / 2.0)
        return wait if asked is None else max(wait, asked * (1.0 + jitter / 10.0))


class GaveUp(Exception):  # noqa: N818 (carries the failure that counts)
    """The last failure, after so many attempts; what those before it failed of, by kind."""

    def __init__(self, failure: Failure, attempts: int, retries: Mapping[str, int]) -> None:
        self.failure, self.attempts, self.retries = failure, attempts, retries
        super().__init__(str(failure))


@dataclass(frozen=True, slots=True)
class Obtained(Generic[T]):
    """What was obtained, after how many attempts, in how many seconds (waiting for a place not counted).

    `retries` says what the attempts before it failed of, by kind: they are `attempts - 1` together.
    """

    value: T
    attempts: int
    seconds: float
    retries: Mapping[str, int]


class Insistence:
    """Sends through an endpoint's gate until there is a reply or patience ends.

    Parameters
    ----------
    patience : Patience
    clock, sleep, chance
        Injected, so that tests need no time.
    """

    def __init__(
        self,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.patience = patience
        self._clock, self._sleep, self._chance = clock, sleep, chance

    async def obtain(
        self,
        endpoint: Endpoint,
        send: Callable[[], Awaitable[T]],
        outages: Outages,
        wait: float = 0.0,
        failed: Callable[[Kind], None] = lambda kind: None,
    ) -> Obtained[T]:
        """Return what `send` gives.

        Parameters
        ----------
        endpoint : Endpoint
        send : callable
            Tries once, and raises Failure.
        outages : Outages
            Of the experiment: an address that another job has just found dead is tried once, and not six times.
        wait : float
            Seconds to wait for a dead server to be back.
        failed : callable
            Told of each attempt that failed and is to be made again, as it happens: what comes after it may end
            otherwise than by a reply or by giving up (a limit is reached, the job is stopped).

        Raises
        ------
        GaveUp
            If the failure is of a kind that is not retried, or patience or the job has ended.
        """
        retries: Counter[str] = Counter()
        since_outage = 0
        begun = failed_at = waited = 0.0
        while True:
            came = self._clock()
            try:
                async with endpoint.slot():
                    sent = self._clock()
                    # Patience is with the server: waiting for a place among one's own calls is none of it.
                    begun, waited = (sent, 0.0) if since_outage == 0 else (begun, waited + sent - came)
                    value = await send()
                    self._answered(endpoint, outages)
                    return Obtained(value, retries.total() + 1, self._clock() - sent, retries)
            except Failure as failure:
                self._tell(endpoint, failure)
                if failure.is_hurried:
                    raise GaveUp(failure, retries.total() + 1, retries) from None
                if failure.is_mended:
                    retries[failure.kind.slug] += 1
                    failed(failure.kind)
                    continue
                since_outage += 1
                failed_at = self._clock() if since_outage == 1 else failed_at
                pause = self.patience.wait(since_outage, failure.retry_after, self._chance())
                is_late = self._clock() + pause - begun - waited > self.patience.seconds
                is_last = failure.is_certain or since_outage >= self.patience.attempts(failure.kind) or is_late
                silent_since = failed_at if since_outage > 1 else begun
                if failure.kind.is_outage and self._is_down(endpoint, outages, silent_since, is_last=is_last):
                    if not await self._outlast(endpoint, wait, failure):
                        raise GaveUp(failure, retries.total() + 1, retries) from None
                    since_outage, pause = 0, 0.0
                elif is_last:
                    raise GaveUp(failure, retries.total() + 1, retries) from None
                retries[failure.kind.slug] += 1
                failed(failure.kind)
            if pause:
                await self._sleep(pause)

    def _answered(self, endpoint: Endpoint, outages: Outages) -> None:
        endpoint.control.succeeded(self._clock())
        is_first = endpoint.answered_at == -math.inf
        endpoint.answered_at = self._clock()
        if endpoint.down_since is not None or (is_first and outages.is_known(endpoint.name)):
            endpoint.down_since = None
            outages.over(endpoint.name)

    def _is_down(self, endpoint: Endpoint, outages: Outages, since: float, *, is_last: bool) -> bool:
        """Say whether a server that failed is dead: it was found so, or has answered nobody since."""
        if endpoint.down_since is None:
            is_found = is_last and endpoint.answered_at < since
            is_told = endpoint.answered_at < since - REMEMBERED and outages.is_known(endpoint.name)
            if not (is_found or is_told):
                return False
            endpoint.down_since = self._clock()
        outages.met(endpoint.name)
        return True

    async def _outlast(self, endpoint: Endpoint, wait: float, failure: Failure) -> bool:
        """Wait until a call may try whether a dead server is back; False once that has been long enough.

        The calls of a job take turns at trying, one every `PROBE` seconds; when one is answered, all go on.
        """
        failed_at = self._clock()
        if wait and endpoint.down_since == failed_at:
            _say.warning("%s: %s; waiting for it to be back for up to %g s", endpoint.name, failure.kind.value, wait)
        async with endpoint.probing:
            if endpoint.answered_at > failed_at or endpoint.down_since is None:
                return True
            left = endpoint.down_since + wait - self._clock()
            if left <= 0:
                return False
            await self._sleep(min(PROBE, left))
        return True

    def _tell(self, endpoint: Endpoint, failure: Failure) -> None:
        if failure.kind is Kind.RATE_LIMIT:
            asked = failure.retry_after or 0.0
            # Who is asked to wait longer than a call is tried gives up: others should not wait for that either.
            endpoint.control.rate_limited(self._clock(), asked if asked <= self.patience.seconds else None)
        elif failure.kind.is_outage:
            endpoint.control.failed()

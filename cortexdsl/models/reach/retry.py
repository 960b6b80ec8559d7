"""Trying again: which failures, how often, and how long to wait in between."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cortexdsl.models.limits.gates import Endpoint
from cortexdsl.models.reach.failures import Failure, Kind

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the door insists on a reply.

    Attributes
    ----------
    rate_limit, transient, malformed : int
        Attempts at most, the first included, by the kind of the last failure.
    seconds : float
        No attempt begins later than this after the first one.
    first, longest : float
        Seconds of the first wait, and the most that doubling it leads to.
    """

    rate_limit: int = 20
    transient: int = 6
    malformed: int = 5
    seconds: float = 900.0
    first: float = 0.5
    longest: float = 60.0

    def attempts(self, kind: Kind) -> int:
        """Return how many attempts a kind of failure gets."""
        return {
            Kind.RATE_LIMIT: self.rate_limit,
            Kind.TRANSIENT: self.transient,
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
    """The last failure, after so many attempts."""

    def __init__(self, failure: Failure, attempts: int) -> None:
        self.failure, self.attempts = failure, attempts
        super().__init__(str(failure))


@dataclass(frozen=True, slots=True)
class Obtained(Generic[T]):
    """What was obtained, after how many attempts, in how many seconds (waiting for a place not counted)."""

    value: T
    attempts: int
    seconds: float


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

    async def obtain(self, endpoint: Endpoint, send: Callable[[], Awaitable[T]]) -> Obtained[T]:
        """Return what `send` gives.

        Raises
        ------
        GaveUp
            If the failure is of a kind that is not retried, or patience has ended.
        """
        begun = self._clock()
        attempt = 0
        while True:
            attempt += 1
            try:
                async with endpoint.slot():
                    sent = self._clock()
                    value = await send()
                    endpoint.control.succeeded(self._clock())
                    return Obtained(value, attempt, self._clock() - sent)
            except Failure as failure:
                self._tell(endpoint, failure)
                wait = self.patience.wait(attempt, failure.retry_after, self._chance())
                late = self._clock() + wait - begun > self.patience.seconds
                if failure.is_certain or attempt >= self.patience.attempts(failure.kind) or late:
                    raise GaveUp(failure, attempt) from None
            await self._sleep(wait)

    def _tell(self, endpoint: Endpoint, failure: Failure) -> None:
        if failure.kind is Kind.RATE_LIMIT:
            endpoint.control.rate_limited(self._clock(), failure.retry_after)
        elif failure.kind is Kind.TRANSIENT:
            endpoint.control.failed()

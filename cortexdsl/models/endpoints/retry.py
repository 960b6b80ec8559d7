"""Retry policy of failed requests: how often and for how long they are sent again."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Generic, TypeVar

from cortexdsl.core import NO_USAGE, Usage
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure

T = TypeVar("T")
PROBE_SECONDS = 5.0
"""Seconds between two attempts to reach a server that is down, over all calls of a job."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and for how long a request is sent again.

    Attributes
    ----------
    attempts : mapping of FailureKind to int
        Most attempts, the first included, by the kind of the last failure; one for kinds that are not listed.
    seconds : float
        No attempt begins later than this after the first one.
    first, longest : float
        Seconds before the second attempt, and the most that doubling them leads to.
    """

    attempts: Mapping[FailureKind, int] = field(default_factory=lambda: ATTEMPTS)
    seconds: float = 900.0
    first: float = 0.5
    longest: float = 60.0

    def most_attempts(self, kind: FailureKind) -> int:
        """Return how many attempts a kind of failure gets."""
        return self.attempts.get(kind, 1)

    def wait(self, attempt: int, retry_after: float | None, jitter: float) -> float:
        """Return the seconds to wait after attempt number `attempt` (from 1).

        The wait doubles with every attempt and is shortened by up to a half by `jitter` in [0, 1]. It is at least
        `retry_after`, lengthened by up to a tenth, so that calls which were refused together do not return together.
        """
        wait = min(self.longest, self.first * 2.0 ** (attempt - 1)) * (1.0 - jitter / 2.0)
        return wait if retry_after is None else max(wait, retry_after * (1.0 + jitter / 10.0))


ATTEMPTS: Mapping[FailureKind, int] = MappingProxyType({
    # A limit of requests or tokens passes by itself. The waits double up to a minute, so that 20 attempts outlast any
    # limit of a minute and end within the 15 minutes of `seconds`.
    FailureKind.RATE_LIMIT: 20,
    # Six attempts take 16 s: enough for a restart behind a load balancer. An outage that lasts longer is waited for by
    # `limits: wait`, and only one request every few seconds is sent meanwhile.
    FailureKind.TRANSIENT: 6,
    FailureKind.FOREIGN: 6,
    # Each attempt is paid for, and a model that replies nothing five times will do so again: that is data.
    FailureKind.MALFORMED: 5,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Runtime:
    """Time, sleep, random numbers and environment of the client; replaceable in tests."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    environment: Mapping[str, str] | None = None
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    now: Callable[[], float] = time.time


class Retries:
    """The attempts of one request, and whether the policy allows another one.

    Parameters
    ----------
    runtime : Runtime
    seconds : float
        No attempt begins later than this after the first one; time in our own queue does not count.
    has_most_attempts : bool
        False for requests that are few and carry the replies of many calls: time alone bounds their attempts.

    Attributes
    ----------
    by_kind : Counter
        Failures that were followed by another attempt, by kind.
    lost : Usage
        Of those of them that the provider counted tokens for: they are billed.
    """

    def __init__(self, runtime: Runtime, seconds: float = math.inf, *, has_most_attempts: bool = True) -> None:
        self._runtime, self._seconds, self._has_most_attempts = runtime, seconds, has_most_attempts
        self._began = self._failed_at = runtime.clock()
        self._queued = 0.0
        self._failures = 0  # since the first attempt, or since the server was found down
        self.by_kind = Counter[str]()
        self.lost = NO_USAGE

    @property
    def attempts(self) -> int:
        """All attempts, the one under way included."""
        return self.by_kind.total() + 1

    @property
    def silent_since(self) -> float:
        """When the request began to fail: an answer of the server to any other call after it shows that it is up."""
        return self._failed_at if self._failures > 1 else self._began

    def begin(self, queued: float = 0.0) -> None:
        """Note that an attempt is sent, after so many seconds in our own queue."""
        if self._failures:
            self._queued += queued
        else:
            self._began, self._queued = self._runtime.clock(), 0.0

    def pause_after(self, failure: Failure) -> float | None:
        """Return the seconds to wait before the next attempt; None if there is none."""
        policy, now = self._runtime.retry_policy, self._runtime.clock()
        if failure.is_mended:  # it is sent otherwise from now on (without a refused parameter), and has not failed yet
            return 0.0
        self._failures += 1
        if self._failures == 1:
            self._failed_at = now
        pause = policy.wait(self._failures, failure.retry_after, self._runtime.chance())
        is_late = now + pause - self._began - self._queued > self._seconds
        most = policy.most_attempts(failure.kind) if self._has_most_attempts else math.inf
        is_over = failure.is_certain or not failure.kind.is_retried or self._failures >= most or is_late
        return None if is_over else pause

    def restart(self) -> None:
        """Give the request all its attempts again: its server was down, which says nothing about the request."""
        self._failures = 0

    def note(self, failure: Failure, lost: Usage = NO_USAGE) -> None:
        """Note a failure that is followed by another attempt."""
        self.by_kind[failure.kind.slug] += 1
        self.lost += lost


class RetriesExhausted(Exception):  # noqa: N818 (carries the failure that counts)
    """The last failure of a request, and its attempts.

    `is_closing`: the job is ending and tries nothing again, so that what failed once says nothing of call or server.
    """

    def __init__(self, failure: Failure, retries: Retries, *, is_closing: bool = False) -> None:
        self.failure, self.retries, self.is_closing = failure, retries, is_closing
        super().__init__(str(failure))


@dataclass(frozen=True, slots=True)
class AttemptResult(Generic[T]):
    """The value that a request returned, its attempts, and the seconds of the last one without our own queue."""

    value: T
    retries: Retries
    seconds: float

"""Rates: how many requests and tokens a second, minute, hour or day the jobs of a process may send to a model.

Each limit is a generic cell rate algorithm (ITU-T I.371, annex A): its state is one time, the moment from which the
next request may be sent. A request moves that moment on by its share of the span.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cortexdsl.core import Model, Rate, RateLimit
from cortexdsl.models.transports.rate_headers import Allowance

SLACK = 0.01
"""The part of a span that may be made up for after a delay."""
SLACK_OF_A_DAY = 1.0
"""Of a daily limit one half may be used at once; the rest is spread over the day."""
LOOK_EVERY = 0.25
"""Seconds after which a request that waits looks again: others may have given tokens back."""
FIRST_REPLIES = 5
REPLY_TOKENS = 500
KINDS = ("requests", "tokens")
SPARE = 0.005
"""The part of a rate that is left unused: requests arrive later than they are sent, and tokens are estimates first."""
SPANS = (1.0, 60.0, 3600.0, 86_400.0)


@dataclass(frozen=True, slots=True)
class RateState:
    """The moments from which limits allow the next request, in seconds of the machine's clock.

    Attributes
    ----------
    due : tuple of float
        By kind (requests, tokens), then span (second, minute, hour, day).
    held_until : float
        Until when the server allows nothing, as it said.
    """

    due: tuple[float, ...] = (0.0,) * (len(KINDS) * len(SPANS))
    held_until: float = 0.0

    def wait(self, rate: Rate, now: float) -> float:
        """Return the seconds until the next request may be sent."""
        until = max((self.due[place] for place, _, _ in _limits(rate)), default=0.0) if rate.has_limits else 0.0
        return max(0.0, max(self.held_until, until) - now)

    def used(self, rate: Rate, now: float, amounts: Mapping[str, float]) -> RateState:
        """Return the state after so many requests and tokens were used, or were given back if they are negative."""
        due = list(self.due)
        for place, limit, kind in _limits(rate):
            slack = slack_of(limit)
            begins = max(due[place], now - slack) if amounts[kind] > 0 else due[place]
            due[place] = begins + amounts[kind] * interval_of(limit)
        return RateState(tuple(due), self.held_until)


def slack_of(limit: RateLimit) -> float:
    """Return the seconds that a limit may make up for; no span of the limit ever has more than its amount.

    A longer time between two requests pays for it: over many spans a rate reaches 98.5 % of its limit.
    """
    return limit.seconds * (SLACK_OF_A_DAY if limit.seconds == SPANS[-1] else SLACK)


def interval_of(limit: RateLimit) -> float:
    """Return the seconds by which one request or token moves the next one on."""
    return (limit.seconds + slack_of(limit)) * (1.0 + SPARE) / limit.amount


def _limits(rate: Rate) -> Iterator[tuple[int, RateLimit, str]]:
    """Yield the place in the state, the limit, and its kind."""
    for k, (kind, limits) in enumerate(zip(KINDS, (rate.requests, rate.tokens), strict=True)):
        for limit in limits:
            yield k * len(SPANS) + SPANS.index(limit.seconds), limit, kind


@dataclass(frozen=True, slots=True)
class RateReservation:
    """A request that was admitted: under which rate, its reserved tokens, and all that was admitted before it."""

    rate: Rate
    tokens: int
    sent: Mapping[str, float]


class RateMeter:
    """Admits the requests of one key in order, as its rate allows.

    Parameters
    ----------
    clock : callable
        Seconds.
    sleep : callable

    Attributes
    ----------
    turn : Lock
        Of the request that waits for the rate, and then for a place in flight. All others wait here, in order, so that
        none holds a place while the rate forbids it to be sent.
    """

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> None:
        self._state, self._clock, self._sleep = RateState(), clock, sleep
        self.turn = asyncio.Lock()
        self._sent = {"requests": 0.0, "tokens": 0.0}
        self._beyond, self._replies = 0, 0

    def expected_tokens(self, model: Model, prompt: int) -> int:
        """Return the tokens to reserve for a call: the estimate of its prompt, and what calls took beyond it so far.

        Before the fifth reply that is all that the reply may have (`max_tokens`), or 500 tokens and the expected
        reasoning. The mean of earlier calls comes after it: reserving every time what no reply takes would leave
        most of the rate unused.
        """
        if self._replies >= FIRST_REPLIES:
            return max(1, prompt + round(self._beyond / self._replies))
        most = model.options.get("max_tokens") or model.options.get("max_completion_tokens")
        return prompt + (int(most) if isinstance(most, int | float) else REPLY_TOKENS + model.reasoning_tokens)

    async def ready(self, rate: Rate, is_stopped: Callable[[], bool]) -> bool:
        """Wait until a request may be sent; False if `is_stopped` says so meanwhile. Nothing is reserved yet."""
        while not is_stopped():
            wait = self._state.wait(rate, self._clock())
            if wait <= 0.0:
                return True
            await self._sleep(min(wait, LOOK_EVERY))
        return False

    def take(self, rate: Rate, tokens: int) -> RateReservation | None:
        """Reserve one request with so many tokens; None if another one was faster, and it must wait again."""
        if self._state.wait(rate, self._clock()) > 0.0:
            return None
        self._use(rate, 1, tokens)
        self._sent["requests"] += 1
        self._sent["tokens"] += tokens
        return RateReservation(rate, tokens, dict(self._sent))

    async def admit(self, rate: Rate, tokens: int) -> RateReservation:
        """Wait for a request's turn, and reserve it: for those that wait for nothing else."""
        async with self.turn:
            while True:
                await self.ready(rate, lambda: False)
                if (reservation := self.take(rate, tokens)) is not None:
                    return reservation

    def settle(self, reservation: RateReservation, tokens: int, beyond: int | None = None) -> None:
        """Replace the reserved tokens of a request by those that it took.

        Parameters
        ----------
        reservation : RateReservation
        tokens : int
        beyond : int or None
            Those beyond the estimate of the prompt, if there was a reply.
        """
        if beyond is not None:
            self._beyond, self._replies = self._beyond + beyond, self._replies + 1
        self._use(reservation.rate, 0, tokens - reservation.tokens)

    def give_back(self, reservation: RateReservation) -> None:
        """Give back the place of a request that is not sent after all."""
        self._use(reservation.rate, -1, -reservation.tokens)

    def _use(self, rate: Rate, requests: int, tokens: int) -> None:
        if rate.has_limits:
            self._state = self._state.used(rate, self._clock(), {"requests": requests, "tokens": tokens})

    def listen(self, said: Sequence[Allowance], reservation: RateReservation, longest: float) -> None:
        """Send nothing until its limits are reset to a server that has no more left than is on its way.

        Parameters
        ----------
        said : sequence of Allowance
            From the headers of the response to the request with this reservation.
        reservation : RateReservation
        longest : float
            A server that asks for more seconds is sent the next call, whose refusal is then an error.
        """
        for allowance in said:
            sent_since = self._sent[allowance.kind] - reservation.sent[allowance.kind]
            if allowance.remaining - sent_since <= 0 and 0 < allowance.reset <= longest:
                self.hold(allowance.reset)

    def hold(self, seconds: float) -> None:
        """Send nothing for so many seconds."""
        self._state = RateState(self._state.due, max(self._state.held_until, self._clock() + seconds))

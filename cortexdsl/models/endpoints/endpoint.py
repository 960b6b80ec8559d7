"""The endpoint of a model: one address with one key, how many calls may be in flight to it, and whether it is down.

The limit of calls in flight adapts to the server: it starts low, doubles until the first refusal, then grows by 5 %
and falls to 80 %. Refusals that belong to one burst count once; a failing server stops growth and shrinks nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cortexdsl.core import Model, Rate
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.endpoints.rates import RateMeter
from cortexdsl.models.endpoints.retry import PROBE_SECONDS, Runtime
from cortexdsl.models.transports.addresses import mask_url, place_of
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure

START = 20
"""Calls in flight at first. From 4 on, the 64 places of a server are filled a second after the first call of 200 ms."""
DOUBLE, CLIMB, FALL = 2.0, 1.05, 0.8
SATURATION = 0.8
MOST_ROUTES = 1000
"""Models whose routes are kept; they are made again when they are needed."""
LEFT_OUT_SECONDS = 30.0
"""For so long a server of several with the same model gets no calls after it did not answer one."""
COOLDOWN = 15.0
_say = logging.getLogger(__name__)


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
    """

    def __init__(self, most: int) -> None:
        if most < 1:
            raise ValueError(f"at least one call must be allowed in flight, not {most}")
        self.most = most
        self.limit = min(START, most)
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

    def rate_limited(self, now: float, retry_after: float | None) -> float:
        """Note a refusal for too many calls; return the seconds in which nothing should be sent."""
        wait = retry_after or 0.0
        pause = wait if self._was_refused else 0.0
        self._was_refused = True
        self._doubling = False
        if now >= self._cooled_at:
            self.limit = max(1, int(self.limit * FALL))
            self._cooled_at = now + COOLDOWN
        self._cooled_at = max(self._cooled_at, now + wait)
        self._restart()
        return pause

    def failed(self) -> None:
        """Note a failure of the server: growth starts over, nothing shrinks."""
        self._restart()

    def _restart(self) -> None:
        self._successes = 0
        self._saturated = False


class Endpoint:
    """An address with a key: admits calls in order, up to its limit of concurrency.

    Attributes
    ----------
    name : str
        The address as it may be printed.
    in_flight : int
    answered_at : float
        When it last answered.
    down_since : float or None
        Since when it is known to be down.
    left_out_until : float
        Until when calls go to other servers with the same model.
    """

    def __init__(self, control: AdaptiveLimit, clock: Callable[[], float] = time.monotonic, name: str = "") -> None:
        self.control = control
        self.name = name
        self.answered_at = -math.inf
        self.down_since: float | None = None
        self.left_out_until = -math.inf
        self.in_flight = 0
        self._clock = clock
        self._probing = asyncio.Lock()
        self._waiting: deque[asyncio.Future[None]] = deque()

    def answered(self) -> None:
        """Note a reply: an outage is over."""
        self.control.succeeded(self._clock())
        self.left_out_until = -math.inf
        self.answered_at, self.down_since = self._clock(), None

    def failed(self, failure: Failure, longest_wait: float) -> float:
        """Note a failed attempt; return the seconds in which nothing should be sent.

        Parameters
        ----------
        failure : Failure
        longest_wait : float
            A rate limit that asks for more seconds is not waited for.
        """
        if failure.kind is FailureKind.RATE_LIMIT:
            wait = failure.retry_after or 0.0
            return self.control.rate_limited(self._clock(), wait if wait <= longest_wait else None)
        if failure.kind.is_outage:
            self.control.failed()
        return 0.0

    def is_down(self, since: float, *, is_last: bool) -> bool:
        """Say whether the server is down: this request or an earlier one found it so.

        Parameters
        ----------
        since : float
            When the request began to fail; an answer after it shows that the server is up.
        is_last : bool
            The request has no attempt left.
        """
        if self.down_since is None and is_last and self.answered_at < since:
            self.down_since = self._clock()
        return self.down_since is not None

    async def outlast(self, wait: float, failure: Failure, runtime: Runtime) -> bool:
        """Wait until a request may try whether the server is back; False after `wait` seconds of outage.

        The requests of a job take turns, one every `PROBE_SECONDS`; when one is answered, all go on.
        """
        failed_at = self._clock()
        if wait and self.down_since == failed_at:
            _say.warning("%s: %s; waiting for it to be back for up to %g s", self.name, failure.kind.value, wait)
        async with self._probing:
            if self.answered_at > failed_at or self.down_since is None:
                return True
            left = self.down_since + wait - self._clock()
            if left <= 0:
                return False
            await runtime.sleep(min(PROBE_SECONDS, left))
        return True

    def leave_out(self, failure: Failure) -> None:
        """Send its calls to other servers with the same model for a while."""
        if self.left_out_until <= self._clock():
            _say.warning("%s: %s; its calls go to the other addresses", self.name, failure.kind.value)
        self.left_out_until = self._clock() + LEFT_OUT_SECONDS

    @property
    def load(self) -> tuple[float, int]:
        """What to compare servers of one model by: whether it is left out, and then its calls, also those that wait."""
        left_out = self.left_out_until if self.left_out_until > self._clock() else 0.0
        return left_out, self.in_flight + len(self._waiting)

    async def enter(self) -> None:
        """Wait for a place in flight, and take it; `leave` gives it back."""
        if self._waiting or not self._is_open():
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            self._wake()
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():  # it had been let in: hand the place on
                    self.leave()
                raise
        else:
            self._let_in()

    def leave(self) -> None:
        """Give a place in flight back."""
        self.in_flight -= 1
        self._wake()

    def _is_open(self) -> bool:
        return self.in_flight < self.control.limit

    def _let_in(self) -> None:
        self.in_flight += 1
        self.control.sent(self.in_flight)

    def _wake(self) -> None:
        while self._waiting and self._is_open():
            place = self._waiting.popleft()
            if not place.done():
                self._let_in()
                place.set_result(None)


@dataclass(frozen=True, slots=True)
class Route:
    """How a model is reached: what does not change from one of its calls to the next.

    Attributes
    ----------
    model : Model
    endpoint : Endpoint
    address, key : str or None
    """

    model: Model
    endpoint: Endpoint
    address: str | None
    key: str | None


class Endpoints:
    """All endpoints that a process calls.

    Parameters
    ----------
    secrets : Secrets
    clock, sleep : callable
    """

    def __init__(
        self,
        secrets: Secrets,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._secrets, self._clock, self._sleep = secrets, clock, sleep
        self._endpoints: dict[tuple[str, str | None], Endpoint] = {}
        self._meters: dict[tuple[str, str | None, str], RateMeter] = {}
        self._routes: dict[int, tuple[Route, ...]] = {}  # by the identity of the model, which a route keeps alive

    def routes(self, model: Model, connections: int) -> tuple[Route, ...]:
        """Return how a model is reached at each of its addresses.

        Parameters
        ----------
        model : Model
        connections : int
            The most calls in flight to an endpoint that is new.

        Raises
        ------
        ModelError
            If the address or key that the spec names is not in the environment.
        """
        known = self._routes.get(id(model))
        if known is not None:
            return known
        routes = []
        for each in model.at_each_address:
            address, key = self._secrets.address(each), self._secrets.key(each)
            where = (_place(each, address), model.api_key_env)
            endpoint = self._endpoints.get(where)
            if endpoint is None:
                name = mask_url(where[0]) if address else where[0]
                endpoint = self._endpoints[where] = Endpoint(AdaptiveLimit(connections), self._clock, name)
            routes.append(Route(model, endpoint, address, key))
        if len(self._routes) >= MOST_ROUTES:  # a step with sampling of its own makes a model for each turn
            self._routes.clear()
        return self._routes.setdefault(id(model), tuple(routes))

    def meter(self, model: Model, rate: Rate | None) -> RateMeter:
        """Return what admits the requests to a model; models of one key without a rate share it.

        Raises
        ------
        ModelError
            If the address or key that the spec names is not in the environment.
        """
        place = _place(model, self._secrets.address(model))
        identity = place, model.api_key_env, "" if rate is None else model.model
        if identity not in self._meters:
            self._meters[identity] = RateMeter(self._clock, self._sleep)
        return self._meters[identity]


def _place(model: Model, address: str | None) -> str:
    return place_of(address) if address else model.model.partition("/")[0]

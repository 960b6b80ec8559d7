"""Sends the requests of one job: through the gate of the endpoint, within the budget, again if that may help."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from cortexdsl.core import EMPTY_REPLY, NO_USAGE, REASONING_ONLY, Model, Rate, Usage
from cortexdsl.errors import BudgetError, ModelError, RecordError
from cortexdsl.models.budget import Budget
from cortexdsl.models.call_log.records import CHARACTERS_PER_TOKEN
from cortexdsl.models.control import LOOK_EVERY
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.endpoints.endpoint import Endpoint, Endpoints, Route
from cortexdsl.models.endpoints.providers import key_variables
from cortexdsl.models.endpoints.rates import RateMeter, RateReservation
from cortexdsl.models.endpoints.retry import AttemptResult, Retries, RetriesExhausted, Runtime
from cortexdsl.models.job_tally import TallyWriter
from cortexdsl.models.transports.addresses import mask_url
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import TOO_LARGE, Failure
from cortexdsl.models.transports.interface import LARGEST_REPLY, Raw, TokenCounts
from cortexdsl.models.transports.prices import dollars_of, estimated_dollars
from cortexdsl.models.transports.rate_headers import SERVER_HEADERS, allowances

T = TypeVar("T")
ATTEMPTS_IN_TIME = 3
"""Attempts that may all take the whole timeout of a model before the retries end."""
_NO_RATE = Rate()


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """Something to send to a model.

    Attributes
    ----------
    model : Model
    send : callable of (address, key)
        Sends once, and raises Failure.
    prompt_tokens : int
        Estimated tokens of the prompt, reserved before each attempt.
    cost : callable
        What an attempt has cost, given what `send` returned.
    """

    model: Model
    send: Callable[[str | None, str | None], Awaitable[T]]
    prompt_tokens: int
    cost: Callable[[T], Usage]


class Sender:
    """Sends the requests of one job.

    Parameters
    ----------
    endpoints : Endpoints
    budget : Budget
        Of the experiment.
    tally : JobTally
    runtime : Runtime
    check : callable
        Called before each attempt; raises an error if none may be sent.

    Attributes
    ----------
    is_closing : bool
        The job is ending: requests in flight are waited for, and none is sent again.
    sending : set of task
        Tasks that wait for a server at this moment.
    """

    def __init__(
        self, endpoints: Endpoints, budget: Budget, tally: TallyWriter, runtime: Runtime, check: Callable[[], None]
    ) -> None:
        self._endpoints, self._budget, self._tally, self._runtime = endpoints, budget, tally, runtime
        self._check = check
        self._booked_at = runtime.clock()
        self.is_closing = False
        self.sending: set[asyncio.Task[object] | None] = set()

    async def send(self, request: Request[T]) -> AttemptResult[T]:
        """Send a request until it succeeds or patience ends.

        Raises
        ------
        RetriesExhausted
            If the failure is of a kind that is not retried, the retry policy allows no more, or the job is ending.
        ModelError
            If the address or key that the spec names is not in the environment.
        BudgetError
            If a limit is reached.
        """
        policy, clock = self._runtime.retry_policy, self._runtime.clock
        seconds = max(policy.seconds, ATTEMPTS_IN_TIME * (request.model.timeout or 0.0))
        routes = self._endpoints.routes(request.model, self._budget.limits.connections)
        retries, moves = Retries(self._runtime, seconds), len(routes) - 1
        while True:
            came = clock()
            route = min(routes, key=lambda one: one.endpoint.load)
            endpoint = route.endpoint
            meter, reservation = await self._admitted(endpoint, request)
            sent = clock()
            retries.begin(queued=sent - came)
            try:
                try:
                    value = await self._metered(request, route, meter, reservation)
                    endpoint.answered()
                    return AttemptResult(value, retries, clock() - sent)
                finally:
                    endpoint.leave()
            except Failure as failure:
                if (held := endpoint.failed(failure, seconds)) > 0:
                    meter.hold(held)
                if self.is_closing:
                    raise RetriesExhausted(failure, retries, is_closing=True) from None
                pause: float | None = 0.0
                if failure.kind.is_outage and moves > 0:  # another server has the model: nothing has to wait
                    moves -= 1
                    endpoint.leave_out(failure)
                else:
                    pause = await self._pause_after(failure, endpoint, retries)
                if pause is None:
                    raise RetriesExhausted(failure, retries) from None
                retries.note(failure, lost_usage(request.model, failure))
                self._tally.failed(failure.kind)
            if pause:
                await self._runtime.sleep(pause)

    async def _pause_after(self, failure: Failure, endpoint: Endpoint, retries: Retries) -> float | None:
        """Return the seconds before the next attempt, after an outage if there is one; None if none is made."""
        pause = retries.pause_after(failure)
        is_outage = failure.kind.is_outage and not failure.is_mended
        if is_outage and endpoint.is_down(retries.silent_since, is_last=pause is None):
            retries.restart()
            is_back = await endpoint.outlast(self._budget.limits.wait, failure, self._runtime)
            return 0.0 if is_back else None
        return pause

    async def _admitted(self, endpoint: Endpoint, request: Request[T]) -> tuple[RateMeter, RateReservation]:
        """Take a place in flight once the experiment is not paused and the rate allows one more request.

        Its caller leaves the endpoint at the end.
        """
        while True:
            if self._is_paused():
                await self._resumed()
            rate = request.model.rate
            meter = self._endpoints.meter(request.model, rate)
            if rate is None:  # calls of a model without a rate need no order: they do not wait for each other
                reservation = await self._entered(endpoint, meter, request)
            else:
                async with meter.turn:
                    reservation = await self._entered(endpoint, meter, request)
            if reservation is not None:
                return meter, reservation

    async def _entered(self, endpoint: Endpoint, meter: RateMeter, request: Request[T]) -> RateReservation | None:
        """Take a place in flight; None if a pause or a faster request came while it was waited for."""
        model = request.model
        rate = model.rate or _NO_RATE
        if not await meter.ready(rate, self._is_paused):
            return None
        await endpoint.enter()
        reservation = None
        if not self._is_paused():
            expected = meter.expected_tokens(model, request.prompt_tokens)
            reservation = meter.take(rate, expected)
        if reservation is None:
            endpoint.leave()
        return reservation

    def _is_paused(self) -> bool:
        return self._budget.controls.paused is not None

    async def _resumed(self) -> None:
        """Wait while the experiment is paused, without counting this time as the job's."""
        self._budget.spend(Usage(seconds=self.seconds()))
        while self._is_paused():
            await self._runtime.sleep(LOOK_EVERY)
        self._booked_at = self._runtime.clock()

    async def _metered(self, request: Request[T], route: Route, meter: RateMeter, reservation: RateReservation) -> T:
        """Send once, settle the tokens that were reserved of the rate, and obey the limits that the server tells."""
        received: list[Mapping[str, str]] = []
        before = SERVER_HEADERS.set(received)
        try:
            value, cost = await self._attempt(request, route)
        except Failure as failure:
            meter.settle(reservation, cost_of_failure(request.model, failure, request.prompt_tokens).tokens)
            raise
        except (BudgetError, RecordError):
            meter.give_back(reservation)
            raise
        else:
            meter.settle(reservation, cost.tokens, cost.tokens - request.prompt_tokens)
            return value
        finally:
            SERVER_HEADERS.reset(before)
            for headers in received:
                meter.listen(allowances(headers, self._runtime.now()), reservation, self._runtime.retry_policy.seconds)

    async def _attempt(self, request: Request[T], route: Route) -> tuple[T, Usage]:
        """Send once if the budget allows it, book what the attempt has cost, however it ends, and return it as well."""
        model, prompt_tokens = request.model, request.prompt_tokens
        self._check()
        reserved = self._budget.reserve(prompt_tokens, estimated_dollars(model, prompt_tokens, 0), self.seconds())
        self._tally.in_flight += 1
        task = asyncio.current_task()
        self.sending.add(task)
        try:
            value = await request.send(route.address, route.key)
        except Failure as failure:
            self._budget.settle(reserved, cost_of_failure(model, failure, prompt_tokens))
            raise
        finally:
            self._tally.in_flight -= 1
            self.sending.discard(task)
        cost = request.cost(value)
        self._budget.settle(reserved, cost)
        return value, cost

    def seconds(self) -> float:
        """Return the seconds that this job ran since it last booked any."""
        now = self._runtime.clock()
        since, self._booked_at = now - self._booked_at, now
        return since


def check_reply(raw: Raw, secrets: Secrets) -> Raw:
    """Return a reply without keys in its text.

    Raises
    ------
    Failure
        If the provider withheld the reply, or it is empty or too large.
    """
    if raw.finish_reason == "content_filter":
        raise Failure(FailureKind.CONTENT_FILTER, "the provider withheld the reply", usage=raw.usage)
    if not raw.text.strip() and not raw.requests:
        is_cut = raw.finish_reason == "length"
        reasoning = secrets.hide(raw.reasoning)
        what = (REASONING_ONLY if reasoning else EMPTY_REPLY) + (
            ", cut at its length limit: raise `max_tokens`" if is_cut else ""
        )
        raise Failure(FailureKind.MALFORMED, what, is_certain=is_cut, usage=raw.usage, reasoning=reasoning)
    if len(raw.text) + len(raw.reasoning) + sum(len(each.arguments) for each in raw.requests) > LARGEST_REPLY:
        raise Failure(FailureKind.MALFORMED, TOO_LARGE, is_certain=True, usage=raw.usage)
    text, reasoning = secrets.hide(raw.text), secrets.hide(raw.reasoning)
    if raw.requests:
        requests = [replace(each, arguments=secrets.hide(each.arguments)) for each in raw.requests]
        return replace(raw, text=text, reasoning=reasoning, tokens=(), requests=tuple(requests))
    is_clean = text is raw.text and reasoning is raw.reasoning
    # A part that was removed from the text need not be a whole number of its tokens.
    return raw if is_clean else replace(raw, text=text, reasoning=reasoning, tokens=())


def cost_of_reply(model: Model, raw: Raw, estimated_prompt: int, *, is_new: bool) -> Usage:
    """Return what an attempt that brought a reply has cost; counts that are missing are estimated."""
    written = len(raw.text) + len(raw.reasoning) + sum(len(each.arguments) for each in raw.requests)
    usage = _usage_of(model, raw.usage, estimated_prompt, written // CHARACTERS_PER_TOKEN, raw.billed)
    return replace(usage, calls=int(is_new), failed=0 if is_new else -1)


def cost_of_failure(model: Model, failure: Failure, estimated_prompt: int) -> Usage:
    """Return what a failed attempt has cost: the server's count, else its prompt if the model may have worked."""
    return _usage_of(model, failure.usage, estimated_prompt if failure.may_have_cost else 0)


def lost_usage(model: Model, failure: Failure) -> Usage:
    """Return the usage of an attempt that brought no reply: nothing if the provider counted no tokens for it."""
    counts = failure.usage
    return _usage_of(model, counts) if counts.prompt_tokens or counts.completion_tokens else NO_USAGE


def _usage_of(
    model: Model, counts: TokenCounts, prompt: int = 0, completion: int = 0, billed: float | None = None
) -> Usage:
    """Return the usage of one attempt, with these tokens if the server did not count them."""
    prompt = prompt if counts.prompt_tokens is None else counts.prompt_tokens
    completion = completion if counts.completion_tokens is None else counts.completion_tokens
    known = counts._replace(prompt_tokens=prompt, completion_tokens=completion)
    return Usage(0, prompt, completion, dollars_of(model, known, billed) or 0.0, attempts=1)


def error_of(model: Model, exhausted: RetriesExhausted, secrets: Secrets) -> ModelError:
    """Return the error that tells the user what failed, for which model and address, and what to do."""
    failure = exhausted.failure
    attempts = exhausted.retries.attempts
    tried = f" (tried {attempts} times)" if attempts > 1 else ""
    place = f"in the engine {model.engine}" if model.engine else f"at {mask_url(secrets.address(model))}"
    return ModelError(
        f"{failure.kind.value}: model {model.name} ({model.model}) {place}{tried}: "
        f"{secrets.clean(failure.what)}\n    {_remedy(model, failure.kind)}"
    )


class LeftError(ModelError):
    """A job that ends did not send a call again: other jobs that wait for the call send it themselves."""


def raise_unless_data(model: Model, exhausted: RetriesExhausted, tally: TallyWriter, secrets: Secrets) -> None:
    """Raise the error of a request that failed, unless the failure is a fact about this call alone."""
    failure = exhausted.failure
    is_passing = (failure.kind.is_retried and not failure.is_certain) or failure.is_mended
    is_left = exhausted.is_closing and is_passing
    if failure.kind.is_data and not is_left:
        return
    tally.failed(failure.kind)
    error = error_of(model, exhausted, secrets)
    raise (LeftError(str(error)) if is_left else error) from None


def _remedy(model: Model, kind: FailureKind) -> str:
    if model.engine is not None and kind.is_outage:
        return "read what the engine printed (results/NAME/logs/rounds), then run again: finished calls are kept"
    if kind is not FailureKind.AUTHENTICATION:
        return kind.remedy
    names = key_variables(model)
    if names:
        others = f" (or {', '.join(names[1:])})" if names[1:] else ""
        return f"export {names[0]}=...{others} with a key that is valid there; another variable: `api_key_env: NAME`"
    if model.api_base is not None:
        return "write `api_key_env: NAME`, the variable that holds the key: an address of your own is sent no other"
    return kind.remedy

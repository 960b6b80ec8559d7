"""Sending one call: through the gate of its endpoint, booked before it is sent and settled when it is back, logged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from cortexdsl.errors import ModelError
from cortexdsl.models.commons import Commons
from cortexdsl.models.limits.account import Account
from cortexdsl.models.limits.ledger import Spent
from cortexdsl.models.limits.tally import Counts, Tally
from cortexdsl.models.logs.calls import CallLogs
from cortexdsl.models.logs.lines import call_record, estimated_tokens, gist, reply_of
from cortexdsl.models.reach.failures import Failure, kind_of
from cortexdsl.models.reach.reach import checked
from cortexdsl.models.reach.retry import GaveUp, Obtained
from cortexdsl.models.tools.transport import TOOL
from cortexdsl.models.transports.prices import Usage, dollars_of, estimated_dollars
from cortexdsl.models.transports.transport import Raw, Transport, way_of
from cortexdsl.terms import Call, Model, Reply

T = TypeVar("T")


class LeftError(ModelError):
    """A job that ends tried a call no more that it would have tried again: whoever shares the call asks it itself."""


class Sender:
    """Sends the calls of one job.

    Attributes
    ----------
    is_closing : bool
        The job is ending: what is on its way is waited for, and nothing is tried again.
    sending : set of task
        Those that wait for a server at this moment.
    """

    def __init__(self, commons: Commons, account: Account, logs: CallLogs, tally: Tally, counts: Counts) -> None:
        self._commons, self._account, self._budget = commons, account, account.budget
        self._logs, self._tally, self._counts = logs, tally, counts
        self._clock = commons.hooks.clock
        self._booked_at = self._clock()
        self.is_closing = False
        self.sending: set[asyncio.Task[object] | None] = set()

    async def send(self, key: str, call: Call, transport: Transport) -> Reply:
        """Send a call until there is a reply or a failure that is data, and log it.

        Raises
        ------
        ModelError, BudgetError
            A `LeftError` where this job is ending.
        """
        raw, failure = None, None
        begun = self._clock()
        before = self._logs.failure(key)
        was_failure = before is not None
        try:
            got = await self._insist(call.model, lambda base, key: self._try(transport, call, base, key, was_failure))
            raw, attempts, retries, seconds = got.value, got.attempts, got.retries, got.seconds
        except GaveUp as given_up:
            failure, attempts, retries = given_up.failure, given_up.attempts, given_up.retries
            seconds = self._clock() - begun
            is_passing = (failure.kind.is_retried and not failure.is_certain) or failure.is_mended
            is_left = failure.is_hurried and is_passing
            if is_left or not failure.kind.is_data:
                if failure.was_sent:
                    self._tally.failed(failure.kind)
                error = self._commons.reach.error(call.model, given_up)
                raise (LeftError(str(error)) if is_left else error) from None
            self._budget.spend(Spent(replies=not was_failure, failed=not was_failure))
        record = call_record(
            key,
            call,
            raw,
            seconds=seconds,
            attempts=attempts,
            retries=retries,
            error=f"{failure.kind.value}: {self._commons.secrets.clean(failure.what)}" if failure else None,
            dollars=None if raw is None else dollars_of(call.model, raw.usage),
            reasoning=failure.reasoning if failure else "",
        )
        self._logs.write(record)
        if before is not None:
            self._tally.asked_again(kind_of(before))
        self._counts.asked += 1
        self._counts.failed += failure is not None
        # A tool's price of nothing says nothing of what the models cost.
        dollars = None if way_of(call.model) == TOOL else record["dollars"]
        cached = record["usage"].get("cached_tokens") or 0
        self._tally.ended(gist(record), dollars, failure.kind if failure else None, cached)
        return reply_of(record)

    async def _insist(self, model: Model, send: Callable[[str | None, str | None], Awaitable[T]]) -> Obtained[T]:
        account = self._account
        return await self._commons.reach.obtain(model, send, account.outages, account.limits, self._tally.failed)

    async def _try(
        self, transport: Transport, call: Call, address: str | None, secret: str | None, was_failure: bool
    ) -> Raw:
        prompt = estimated_tokens(call.messages)

        def cost(raw: Raw) -> Spent:
            asked = prompt if raw.prompt_tokens is None else raw.prompt_tokens
            said = (
                estimated_tokens([{"content": raw.text + raw.reasoning}])
                if raw.completion_tokens is None
                else raw.completion_tokens
            )
            is_counted = None not in (raw.prompt_tokens, raw.completion_tokens)
            dollars = dollars_of(call.model, raw.usage) if is_counted else estimated_dollars(call.model, asked, said)
            dollars = dollars or 0.0
            return Spent(1, asked + said, dollars, 0.0, replies=not was_failure, failed=-was_failure)

        return await self._book(call.model, prompt, lambda: self._checked(transport.send(call, address, secret)), cost)

    async def _checked(self, sent: Awaitable[Raw]) -> Raw:
        return checked(await sent, self._commons.secrets)

    async def _book(self, model: Model, prompt: int, send: Callable[[], Awaitable[T]], cost: Callable[[T], Spent]) -> T:
        """Send once what the budget allows, and book what it came to, whatever that was."""
        reserved = self._budget.reserve(prompt, estimated_dollars(model, prompt, 0), self.seconds())
        self._tally.in_flight += 1
        me = asyncio.current_task()
        self.sending.add(me)
        try:
            value = await send()
        except Failure as failure:
            usage = failure.usage
            if usage.prompt_tokens is None:
                usage = Usage(prompt if failure.may_have_cost else 0, usage.completion_tokens)
            tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
            self._budget.settle(reserved, Spent(1, tokens, dollars_of(model, usage) or 0.0))
            failure.is_hurried = self.is_closing
            raise
        finally:
            self._tally.in_flight -= 1
            self.sending.discard(me)
        self._budget.settle(reserved, cost(value))
        return value

    def seconds(self) -> float:
        """Return the seconds that this job ran since it last booked any."""
        now = self._clock()
        since, self._booked_at = now - self._booked_at, now
        return since

    async def through(
        self,
        model: Model,
        send: Callable[[str | None, str | None], Awaitable[T]],
        prompt_tokens: int = 0,
        cost: Callable[[T], Spent] = lambda value: Spent(1),
    ) -> Obtained[T]:
        """Send something else than a call (texts to embed) the same way: gate, budget, retries.

        Parameters
        ----------
        model : Model
        send : callable of (address, key)
            Tries once, and raises Failure.
        prompt_tokens : int
            About how many tokens it will be charged with.
        cost : callable
            Of the value: what it has cost.

        Raises
        ------
        ModelError, BudgetError
        """
        try:
            return await self._insist(
                model, lambda base, key: self._book(model, prompt_tokens, lambda: send(base, key), cost)
            )
        except GaveUp as given_up:
            self._tally.failed(given_up.failure.kind)
            raise self._commons.reach.error(model, given_up) from None

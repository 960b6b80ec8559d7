"""Sends the calls of one job in batches: wave by wave, within the budget, again if that may help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cortexdsl.core import BatchSettings, Call, Model, Usage
from cortexdsl.models.batches.http import BatchHttp
from cortexdsl.models.batches.protocols import protocol_of
from cortexdsl.models.batches.queues import BatchQueue, JobServices, PendingCall
from cortexdsl.models.batches.requests import Access, BatchRequest, with_seed, wording_of
from cortexdsl.models.batches.wave_log import SUFFIX, Wave, WaveBook, WaveCall
from cortexdsl.models.budget import Budget
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.endpoints.retry import AttemptResult, Retries, RetriesExhausted, Runtime
from cortexdsl.models.job_tally import TallyWriter
from cortexdsl.models.sender import check_reply, cost_of_failure, lost_usage
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw
from cortexdsl.models.transports.prices import estimated_dollars
from cortexdsl.models.transports.wire import SEED, mask_url

if TYPE_CHECKING:
    import httpx

_LENGTHS = ("max_tokens", "max_completion_tokens")
_SURPLUS = 100
"""Bytes of a batch for each request besides its body and custom id."""


@dataclass(frozen=True, slots=True)
class _Booked:
    """The booking of a call that ended, until its line is in the call log."""

    wave: Wave
    cost: Usage
    is_failure: bool


class BatchSender:
    """Sends the calls of one job in batches.

    Parameters
    ----------
    own_log : Path
        The call log of the job; the log of its waves is in the same folder.
    budget, tally, runtime, secrets
        Of the job.
    is_busy : callable
        Whether a call of the job is in flight outside of waves.
    seconds : callable
        The seconds that the job ran since it last booked any.
    http : httpx.AsyncBaseTransport or None
        In place of the network.

    Raises
    ------
    RecordError
        If another process writes the log of waves.
    """

    def __init__(
        self,
        own_log: Path,
        budget: Budget,
        tally: TallyWriter,
        runtime: Runtime,
        secrets: Secrets,
        *,
        is_busy: Callable[[], bool],
        seconds: Callable[[], float],
        http: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._runtime, self._secrets, self._budget, self._tally = runtime, secrets, budget, tally
        self._book = WaveBook(own_log.parent, own_log.with_suffix(SUFFIX), runtime.now)
        self._job = JobServices(self._book, budget, tally, runtime, lambda: is_busy() or self._preparing > 0, seconds)
        self._preparing = 0
        self._http = BatchHttp(http)
        self._queues: dict[tuple[str, str, str | None, BatchSettings], BatchQueue] = {}
        self._booked: dict[str, _Booked] = {}
        self._is_cleared = False

    async def send(self, key: str, call: Call, prompt_tokens: int, cost: Callable[[Raw], Usage]) -> AttemptResult[Raw]:
        """Send a call in a wave, or take its reply from one that is on its way; again in later waves if that may help.

        `logged` is to be called when the line of the call is in the call log.

        Raises
        ------
        RetriesExhausted
            If the failure is of a kind that is not retried, or the retry policy allows no more.
        ModelError
            If the address or key that the spec names is not in the environment.
        BudgetError
            If the wave passes a limit.
        """
        access = Access(self._secrets.address(call.model), self._secrets.key(call.model))
        model, began, retries = call.model, self._runtime.clock(), Retries(self._runtime)
        while True:
            applied = self._budget.refusals.applied(call, access.address)
            sending = _Sending(self, applied, access, prompt_tokens, key)
            try:
                raw = await sending.once()
                assert sending.wave is not None
                self._booked[key] = _Booked(sending.wave, cost(raw), is_failure=False)
                return AttemptResult(raw, retries, self._runtime.clock() - began)
            except Failure as failure:
                self._budget.refusals.learn(model, access.address, failure)
                is_over = retries.pause_after(failure) is None  # no pause: the next wave is one
                if sending.wave is not None:
                    self._failed(
                        key, sending.wave, cost_of_failure(model, failure, prompt_tokens), failure, is_over=is_over
                    )
                if is_over:
                    raise RetriesExhausted(failure, retries) from None
                retries.note(failure, lost_usage(model, failure))
                self._tally.failed(failure.kind)

    def _failed(self, key: str, wave: Wave, cost: Usage, failure: Failure, *, is_over: bool) -> None:
        self._booked[key] = _Booked(wave, cost, is_failure=True)
        if not (is_over and failure.kind.is_data):  # else its line is still to be logged
            self.logged(key)

    def logged(self, key: str) -> None:
        """Settle the booking of a call whose line is in the call log."""
        booked = self._booked.pop(key, None)
        if booked is None:  # its wave was not sent
            return
        if booked.is_failure:
            self._book.failed(booked.wave, [key])
        self._budget.settle(booked.wave.calls[key].booking, booked.cost)

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Keep waves open while a request is worded or a response read: a call may be added to them afterwards."""
        self._preparing += 1
        try:
            yield
        finally:
            self._preparing -= 1

    def queue(self, request: BatchRequest, model: Model) -> BatchQueue:
        """Return the queue of a model at the address of its request.

        Raises
        ------
        Failure
            If that address has no batches.
        """
        protocol = protocol_of(request, self._http)
        place = mask_url(request.url)
        where = (request.url, model.model, model.api_key_env, model.batch)
        queue = self._queues.get(where)
        if queue is None:
            queue = self._queues[where] = BatchQueue(model, place, protocol, self._job)
            if not self._is_cleared:  # a run that was stopped before it gave back what it had booked
                self._is_cleared = True
                for wave in self._book.unreturned():
                    queue.give_back(wave)
        return queue

    def estimate(self, model: Model, prompt_tokens: int) -> tuple[int, float]:
        """Return the tokens and dollars to book for a call: with `max_tokens`, else the mean of earlier calls."""
        longest = next((model.options[name] for name in _LENGTHS if isinstance(model.options.get(name), int)), None)
        if longest is not None:
            return prompt_tokens + longest, estimated_dollars(model, prompt_tokens, longest)
        total = self._budget.total
        calls = max(1, total.attempts)
        dollars = estimated_dollars(model, prompt_tokens, 0)
        return max(prompt_tokens, total.tokens // calls), max(dollars, total.dollars / calls)

    def check(self, raw: Raw) -> Raw:
        """Return a reply without keys in its text."""
        return check_reply(raw, self._secrets)

    async def close(self) -> None:
        """Stop waiting, and close log and connections. Batches at the provider stay there, and in the tally."""
        left = list(self._tally.waves)
        for queue in self._queues.values():
            await queue.close()
        await self._http.close()
        self._book.close()
        self._tally.waves[:] = left


class _Sending:
    """One attempt of a call; `wave` is the one that brought its outcome."""

    def __init__(self, sender: BatchSender, call: Call, access: Access, prompt_tokens: int, key: str) -> None:
        self._sender, self._call, self._access = sender, call, access
        self._prompt_tokens, self._key = prompt_tokens, key
        self.wave: Wave | None = None

    async def once(self) -> Raw:
        """Return the reply of the next wave that has the call.

        Raises
        ------
        Failure
        """
        sender, call, model = self._sender, self._call, self._call.model
        wording = wording_of(model)
        with sender.preparing():
            request = await wording.request(call, self._access)
        queue = sender.queue(request, model)

        def pending() -> PendingCall:
            tokens, dollars = sender.estimate(model, self._prompt_tokens)
            size = len(queue.line(self._key, request)) + _SURPLUS
            entry = WaveCall(self._key, tokens, round(dollars, 9), SEED in request.body)
            return PendingCall(entry, request, self._prompt_tokens, size)

        self.wave, outcome = await queue.outcome(self._key, pending)
        if isinstance(outcome, Failure):
            raise outcome
        has_seed = self.wave.calls[self._key].has_seed  # a wave of an earlier run may have had none
        with sender.preparing():
            return sender.check(await wording.read(with_seed(call, has_seed=has_seed), self._access, outcome))

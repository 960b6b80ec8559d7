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
from cortexdsl.models.batches.requests import Access, with_seed, wording_of
from cortexdsl.models.batches.wave_log import SUFFIX, Wave, WaveCall, WaveLog
from cortexdsl.models.batches.wording import BatchRequest
from cortexdsl.models.budget import Budget
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.endpoints.retry import AttemptResult, Retries, RetriesExhausted, Runtime
from cortexdsl.models.job_tally import TallyWriter
from cortexdsl.models.rounds.sender import booking_of
from cortexdsl.models.sender import check_reply, cost_of_failure, lost_usage
from cortexdsl.models.transports.addresses import mask_url
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw
from cortexdsl.models.transports.request_parts import SEED

if TYPE_CHECKING:
    import httpx

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
        self._waves = WaveLog(own_log.parent, own_log.with_suffix(SUFFIX), runtime.now)
        self._job = JobServices(self._waves, budget, tally, runtime, lambda: is_busy() or self._preparing > 0, seconds)
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
        refusals = self._budget.refusals
        while True:
            wave, outcome = await self._attempt(key, refusals.applied(call, access.address), access, prompt_tokens)
            if isinstance(outcome, Raw):
                assert wave is not None
                self._booked[key] = _Booked(wave, cost(outcome), is_failure=False)
                return AttemptResult(outcome, retries, self._runtime.clock() - began)
            refusals.learn(model, access.address, outcome)
            is_over = retries.pause_after(outcome) is None  # no pause: the next wave is one
            if wave is not None:
                self._booked[key] = _Booked(wave, cost_of_failure(model, outcome, prompt_tokens), is_failure=True)
                if not (is_over and outcome.kind.is_data):  # else its line is still to be logged
                    self.logged(key)
            if is_over:
                raise RetriesExhausted(outcome, retries)
            retries.note(outcome, lost_usage(model, outcome))
            self._tally.failed(outcome.kind)

    async def _attempt(
        self, key: str, call: Call, access: Access, prompt_tokens: int
    ) -> tuple[Wave | None, Raw | Failure]:
        """Return the wave that brought the outcome of a call, None if none was sent, and the outcome."""
        model, wave = call.model, None
        wording = wording_of(model)
        try:
            with self._preparing_call():
                request = await wording.request(call, access)
            queue = self._queue(request, model)

            def pending() -> PendingCall:
                tokens, dollars = booking_of(self._budget, model, prompt_tokens)
                size = len(queue.line(key, request)) + _SURPLUS
                return PendingCall(
                    WaveCall(key, tokens, round(dollars, 9), SEED in request.body), request, prompt_tokens, size
                )

            wave, outcome = await queue.outcome(key, pending)
            if isinstance(outcome, Failure):
                return wave, outcome
            # A wave of an earlier run may have been sent without a seed.
            sent = with_seed(call, has_seed=wave.calls[key].has_seed)
            with self._preparing_call():
                return wave, check_reply(await wording.read(sent, access, outcome), self._secrets)
        except Failure as failure:
            return wave, failure

    def logged(self, key: str) -> None:
        """Settle the booking of a call whose line is in the call log."""
        booked = self._booked.pop(key, None)
        if booked is None:  # its wave was not sent
            return
        if booked.is_failure:
            self._waves.note(booked.wave, "failed", calls=[key])
        self._budget.settle(booked.wave.calls[key].booking, booked.cost)

    @contextmanager
    def _preparing_call(self) -> Iterator[None]:
        """Keep waves open while a request is worded or a response read: a call may be added to them afterwards."""
        self._preparing += 1
        try:
            yield
        finally:
            self._preparing -= 1

    def _queue(self, request: BatchRequest, model: Model) -> BatchQueue:
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
                for wave in self._waves.unreturned():
                    queue.give_back(wave)
        return queue

    async def close(self) -> None:
        """Stop waiting, and close log and connections. Batches at the provider stay there, and in the tally."""
        left = list(self._tally.waves)
        for queue in self._queues.values():
            await queue.close()
        await self._http.close()
        self._waves.close()
        self._tally.waves[:] = left

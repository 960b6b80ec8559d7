"""Waves of one model at one address: one forms, others are on their way.

A wave is closed when no debate adds to it any more: nothing was added for `LINGER` seconds, and no other call of the
job is in flight whose reply might lead to another one. It is closed earlier when it is full, or has waited `wait`
seconds. Then it is booked, written down, sent, and waited for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from cortexdsl.core import NO_USAGE, BatchSettings, Model, Usage, WaveTally
from cortexdsl.errors import BudgetError
from cortexdsl.models.batches.protocols import (
    BatchProtocol,
    BatchStatus,
    belongs_to,
    custom_id_of,
    key_of,
)
from cortexdsl.models.batches.wave_log import Wave, WaveCall, WaveLog
from cortexdsl.models.batches.wording import BatchRequest
from cortexdsl.models.budget import Budget
from cortexdsl.models.endpoints.retry import Retries, Runtime
from cortexdsl.models.job_tally import TallyWriter
from cortexdsl.models.rounds.lines import Outcome
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure

T = TypeVar("T")
Sent: TypeAlias = tuple[Wave, Mapping[str, Outcome]]
"""A wave that is over, and the outcome of each of its calls by key."""
LINGER = 2.0
"""Seconds in which nothing is added to a wave before it is closed."""
SETTLED = 60.0
"""Seconds after which a provider lists a batch that it has made."""
FIRST_REFUSED, LONGEST_REFUSED = 60.0, 1800.0
"""Seconds before a wave is sent again that found the provider's queue full: at first, and at most."""
FIRST_POLL, LONGEST_POLL, SLOWER = 5.0, 60.0, 1.5
"""Seconds between two looks at a batch: at first, at most, and by which factor they grow."""
_say = logging.getLogger(__name__)


class NeverSentError(Exception):
    """The provider has no batch of a wave: its calls are sent in another one."""


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that waits to be sent.

    Attributes
    ----------
    call : WaveCall
        With what is to be booked for it.
    request : BatchRequest
    prompt_tokens : int
    size : int
        Bytes, about.
    """

    call: WaveCall
    request: BatchRequest
    prompt_tokens: int
    size: int


@dataclass(slots=True)
class _Forming:
    """A wave that still takes calls."""

    begun: float
    calls: list[PendingCall] = field(default_factory=list)
    size: int = 0
    tokens: int = 0
    is_full: bool = False
    task: asyncio.Task[Sent] | None = None


@dataclass(frozen=True, slots=True)
class JobServices:
    """Services of a job that its queues share.

    Attributes
    ----------
    waves : WaveLog
    budget : Budget
    tally : TallyWriter
    runtime : Runtime
    is_busy : callable
        Whether a call of the job is in flight outside of waves.
    seconds : callable
        The seconds that the job ran since it last booked any.
    """

    waves: WaveLog
    budget: Budget
    tally: TallyWriter
    runtime: Runtime
    is_busy: Callable[[], bool]
    seconds: Callable[[], float]


class BatchQueue:
    """The waves of one model at one address.

    Parameters
    ----------
    model : Model
        An entry of it.
    place : str
        Address and key variable, as the log of waves names them.
    protocol : BatchProtocol
    job : JobServices
    """

    def __init__(self, model: Model, place: str, protocol: BatchProtocol, job: JobServices) -> None:
        self._model, self._place, self._protocol, self._job = model, place, protocol, job
        self._settings: BatchSettings = model.batch
        self._forming: _Forming | None = None
        self._resumed: dict[str, asyncio.Task[Sent]] = {}
        self._tasks: set[asyncio.Task[Sent]] = set()
        self._waiting_tokens = 0

    def line(self, key: str, request: BatchRequest) -> bytes:
        """Return what a call is in a batch; its custom id is shorter than it will be."""
        return self._protocol.line(key, request)

    async def outcome(self, key: str, pending: Callable[[], PendingCall]) -> tuple[Wave, Outcome]:
        """Return what becomes of a call: from a wave that is on its way, else from the next one.

        Parameters
        ----------
        key : str
        pending : callable
            Returns the call as it is to be sent, if it is.

        Raises
        ------
        Failure
            If the wave could not be sent, or its results not be fetched.
        BudgetError
            If the wave passes a limit.
        """
        while True:
            wave = self._job.waves.on_its_way(key)
            if wave is not None and wave.place == self._place:
                task = self._resumed.get(wave.id)
                if task is None:
                    task = self._resumed[wave.id] = self._start(self._resume(wave))
            else:
                task = self._add(pending())
            try:
                sent, outcomes = await asyncio.shield(task)
            except NeverSentError:
                continue
            except Failure as failure:
                if failure.kind.is_data:  # a failure of a whole wave says nothing about a call
                    raise Failure(FailureKind.BAD_REQUEST, failure.what) from None
                raise
            missing = Failure(FailureKind.TRANSIENT, "the batch is over and has no result for this request")
            return sent, outcomes.get(key, missing)

    def _start(self, work: Coroutine[Any, Any, Sent]) -> asyncio.Task[Sent]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Sent]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved here: all who waited may have been cancelled

    # ------------------------------------------------------------ a wave forms
    def _add(self, pending: PendingCall) -> asyncio.Task[Sent]:
        forming = self._forming
        if forming is not None and self._is_too_much(forming, pending):
            forming.is_full, forming = True, None
        if forming is None:
            forming = self._forming = _Forming(self._job.runtime.clock())
            forming.task = self._start(self._run(forming))
        forming.calls.append(pending)
        forming.size += pending.size
        forming.tokens += pending.prompt_tokens
        assert forming.task is not None
        return forming.task

    def _is_too_much(self, forming: _Forming, pending: PendingCall) -> bool:
        protocol, settings = self._protocol, self._settings
        return (
            len(forming.calls) >= protocol.most_requests
            or forming.size + pending.size > protocol.most_bytes
            or (settings.tokens is not None and forming.tokens + pending.prompt_tokens > settings.tokens)
        )

    async def _run(self, forming: _Forming) -> Sent:
        """Close a wave when its time has come, send it, and wait for its results."""
        await self._until_closed(forming)
        if self._forming is forming:
            self._forming = None
        most = self._settings.tokens
        while most is not None and self._waiting_tokens and self._waiting_tokens + forming.tokens > most:
            await self._job.runtime.sleep(FIRST_POLL)
        self._waiting_tokens += forming.tokens
        try:
            return await self._until_taken(forming)
        finally:
            self._waiting_tokens -= forming.tokens

    async def _until_taken(self, forming: _Forming) -> Sent:
        """Send a wave and fetch its results; send it again if the provider's queue was full."""
        runtime = self._job.runtime
        pause = FIRST_REFUSED
        for left in range(runtime.retry_policy.most_attempts(FailureKind.RATE_LIMIT), 0, -1):
            try:
                return await self._fetch(await self._send(forming))
            except Failure as failure:
                # A certain failure is that of a batch which was made, and is not to be made again.
                if failure.kind is not FailureKind.RATE_LIMIT or failure.is_certain or left == 1:
                    failure.is_certain = True  # sent again by itself, no call of the wave would fare better
                    raise
                self._job.tally.failed(failure.kind)
            await runtime.sleep(pause)
            pause = min(LONGEST_REFUSED, 2 * pause)
        raise AssertionError

    async def _until_closed(self, forming: _Forming) -> None:
        clock, sleep = self._job.runtime.clock, self._job.runtime.sleep
        while not forming.is_full:
            before, began = len(forming.calls), clock()
            await sleep(LINGER)
            if clock() - forming.begun >= self._settings.wait:
                return
            # A pause that took longer than it should shows that debates were computing.
            was_quiet = len(forming.calls) == before and clock() - began < 1.5 * LINGER
            if was_quiet and not self._job.is_busy():
                return

    # ------------------------------------------------------------ a wave is sent
    async def _send(self, forming: _Forming) -> Wave:
        waves, budget = self._job.waves, self._job.budget
        calls = [pending.call for pending in forming.calls]
        wave = waves.prepare(self._place, self._model.model, calls)
        try:
            budget.reserve_wave(_booking(wave), self._job.seconds())
        except BudgetError:
            waves.note(wave, "dropped", reason="it passes a limit")
            raise
        waves.note(wave, "reserved")
        protocol = self._protocol
        lines = [protocol.line(custom_id_of(pending.call.key, wave.id), pending.request) for pending in forming.calls]
        is_unsure = False
        retries = self._retries()
        while True:
            try:
                if protocol.has_files and wave.file is None:
                    waves.note(wave, "uploaded", file=await protocol.upload(wave.id, lines))
                if is_unsure:
                    await self._find(wave)
                    is_unsure = wave.batch is None
                if wave.batch is None:
                    is_unsure = True
                    waves.note(wave, "created", batch=await protocol.create(wave.id, lines, wave.file))
                return wave
            except Failure as failure:
                # An answer that says no leaves no batch; without an answer there may be one.
                is_unsure = is_unsure and failure.kind.is_outage
                if not await self._is_tried_again(failure, retries):
                    if not is_unsure:
                        self.drop(wave, f"it could not be sent: {failure.what}")
                    raise

    def _retries(self) -> Retries:
        """Return the retries of a request for a whole wave, which also outlasts an outage."""
        seconds = max(self._job.runtime.retry_policy.seconds, self._job.budget.limits.wait)
        return Retries(self._job.runtime, seconds, has_most_attempts=False)

    async def _is_tried_again(self, failure: Failure, retries: Retries) -> bool:
        """Wait until a request for a whole wave may be sent again; False if that is of no use."""
        pause = retries.pause_after(failure)
        if pause is None:
            return False
        self._job.tally.failed(failure.kind)
        await self._job.runtime.sleep(pause)
        return True

    def drop(self, wave: Wave, reason: str) -> None:
        """Give up a wave without replies, and release its reservation."""
        self._job.waves.note(wave, "dropped", reason=reason)
        self.give_back(wave)

    def give_back(self, wave: Wave) -> None:
        """Give back the booking of a wave that was dropped; that of another job's wave belongs to that job."""
        if wave.is_booked:
            self._job.waves.note(wave, "returned")
            self._job.budget.settle(_booking(wave), NO_USAGE)

    # ------------------------------------------------------------ a wave of an earlier run
    async def _resume(self, wave: Wave) -> Sent:
        """Wait for a wave that an earlier run sent, or was about to send."""
        if wave.batch is None and (wave.file is not None or not self._protocol.has_files):
            # The run may have been stopped after the batch was made and before that was written down.
            await self._patiently(lambda: self._find(wave))
        if wave.batch is None:
            self.drop(wave, "the provider has no batch of it")
            raise NeverSentError
        tokens = sum(call.tokens for call in wave.calls.values())
        self._waiting_tokens += tokens
        try:
            return await self._fetch(wave)
        finally:
            self._waiting_tokens -= tokens

    async def _find(self, wave: Wave) -> None:
        """Look for the batch of a wave at the provider, until it would be listed."""
        runtime = self._job.runtime
        while True:
            is_last = runtime.now() - wave.at >= SETTLED
            known = self._job.waves.batches()
            for batch in await self._candidates(wave):
                if batch not in known and await self._is_of(batch, wave):
                    self._job.waves.note(wave, "created", batch=batch)
                    return
            if is_last:
                return
            await runtime.sleep(max(1.0, SETTLED - (runtime.now() - wave.at)))

    async def _candidates(self, wave: Wave) -> list[str]:
        try:
            return await self._protocol.candidates(wave.id, wave.file, len(wave.calls), wave.at)
        except Failure as failure:
            if failure.kind is not FailureKind.NOT_FOUND:
                raise
            _say.warning("%s: the server lists no batches; one may have been made and lost", self._place)
            return []

    async def _is_of(self, batch: str, wave: Wave) -> bool:
        """Say whether a batch was made from a wave; if only its results can tell, wait until they are there."""
        if self._protocol.has_files:  # the list itself names the wave
            return True
        status = await self._until_over(batch)
        names = [name async for name, _ in self._protocol.results(status)]
        return belongs_to(names, wave.id)

    # ------------------------------------------------------------ results
    async def _fetch(self, wave: Wave) -> Sent:
        """Wait until the batch of a wave is over, and return the outcome of each of its calls."""
        assert wave.batch is not None
        batch, tally = wave.batch, self._job.tally
        info = WaveTally(self._model.name, batch, len(wave.calls), wave.at)
        tally.waves.append(info)
        tally.in_flight += len(wave.calls)
        try:
            try:
                status = await self._until_over(batch, info)
                outcomes = {} if status.refusal else await self._patiently(lambda: self._results(batch, status))
            except Failure as failure:
                if failure.kind is not FailureKind.NOT_FOUND:
                    raise
                what = f"batch {batch}, which has replies that are paid for ({failure.what}); has the key changed?"
                raise Failure(FailureKind.NOT_FOUND, what) from None
        finally:
            tally.waves.remove(info)
            tally.in_flight -= len(wave.calls)
        if status.refusal is not None:
            self.drop(wave, status.refusal.what)
            raise status.refusal
        return wave, outcomes

    async def _until_over(self, batch: str, info: WaveTally | None = None) -> BatchStatus:
        pause = FIRST_POLL
        while True:
            status = await self._patiently(lambda: self._protocol.status(batch))
            if info is not None:
                info.word, info.done = status.word, status.done
            if status.is_over:
                return status
            await self._job.runtime.sleep(pause)
            pause = min(LONGEST_POLL, SLOWER * pause)

    async def _results(self, batch: str, status: BatchStatus) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        async for name, outcome in self._protocol.results(status):
            outcomes.setdefault(key_of(name), outcome)
        if len(outcomes) < status.done:
            # A download may end early without an error. The other replies are there, and paid for.
            what = f"the results of batch {batch} end after {len(outcomes)} of {status.done}"
            raise Failure(FailureKind.TRANSIENT, what)
        return outcomes

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask something that may be asked again, until the retry policy allows no more."""
        retries = self._retries()
        while True:
            try:
                return await ask()
            except Failure as failure:
                if not await self._is_tried_again(failure, retries):
                    failure.is_certain = True
                    raise

    async def close(self) -> None:
        """Stop waiting: waves on their way stay there, and the next run asks for them."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _booking(wave: Wave) -> Usage:
    return sum((call.booking for call in wave.calls.values()), NO_USAGE)

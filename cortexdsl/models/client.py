"""The client: the only place where a model is called.

A call passes these steps: its key; a call with the same key in flight in this process; the call logs; the lock on the
key among processes; the `Sender` (gate of the endpoint, budget, retries); the transport; the call log. A call that is
in a log is not sent again, so a job that starts again continues where its log ends, and a published experiment is
replayed with `offline`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from cortexdsl.core import Call, Limits, Model, Reply, Usage
from cortexdsl.errors import ModelError, RecordError
from cortexdsl.files import UNKEPT
from cortexdsl.models.budget import Budget, FailureLimit
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.call_log.folder import CallLogs
from cortexdsl.models.call_log.records import call_record, estimated_tokens, paid_dollars, reply_of
from cortexdsl.models.call_log.syncing import LogSyncs
from cortexdsl.models.endpoints.retry import AttemptResult, RetriesExhausted, Runtime
from cortexdsl.models.job_tally import EVERY, CallCounts, JobInfo, TallyWriter
from cortexdsl.models.rounds.sender import RoundSender, outside_rounds
from cortexdsl.models.sender import (
    LeftError,
    Request,
    Sender,
    check_reply,
    cost_of_reply,
    error_of,
    raise_unless_data,
)
from cortexdsl.models.servers.addresses import read_addresses
from cortexdsl.models.shared_state import OpenFolder, SharedState
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure, kind_of
from cortexdsl.models.transports.interface import Raw, Transport
from cortexdsl.models.transports.prices import dollars_of, saved_by_cache
from cortexdsl.models.transports.registry import transport_type, way_of
from cortexdsl.numbers import counted


class Client:
    """Answers the calls of one job (a `terms.Ask`). Created by `open_client`; an asynchronous context manager.

    Attributes
    ----------
    counts : CallCounts
    tally : JobTally
        What other processes see of this job while it runs; the job reports its finished debates to it.
    logs : CallLogs
    budget : Budget
        Of the experiment.
    folder : Path
        Of the call logs.
    own_log : Path or None
        The one that this job writes; None if it is offline.
    secrets : Secrets
    rounds : RoundSender or None
        Answers the calls to models with an engine from the replies of earlier rounds.
    """

    def __init__(
        self,
        shared: SharedState,
        folder: OpenFolder,
        logs: CallLogs,
        budget: Budget,
        tally: TallyWriter,
        counts: CallCounts,
        *,
        is_alone: bool,
    ) -> None:
        self.counts, self.tally, self.logs, self.budget = counts, tally, logs, budget
        self.folder, self.own_log = logs.folder, logs.own
        self.secrets = shared.secrets
        self._shared, self._folder, self._is_alone, self._clock = shared, folder, is_alone, shared.runtime.clock
        self._syncs = LogSyncs(logs, self._clock)
        self._sender = Sender(shared.endpoints, budget, tally, shared.runtime, self._syncs.check)
        self.rounds: RoundSender | None = None
        self._unkept = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failure_limit = FailureLimit(counts, budget, tally.job.spec) if logs.own is not None else None
        self._own_transports: dict[str, Transport] = {}
        self._ticks: asyncio.TimerHandle | None = None

    async def __call__(self, call: Call) -> Reply:
        """Answer a call.

        Raises
        ------
        ModelError
            If the model cannot be called (key, address, request, server), or the client is offline and no log has
            the call.
        BudgetError
            If a limit of the spec is reached, or too many calls have failed.
        RecordError
            If the disk is full or fails.
        """
        key = call_key(call)
        in_flight = self._folder.in_flight
        while True:
            task = in_flight.get(key)
            is_shared = task is not None
            if task is None:
                reply = self.logs.get(key)
                if reply is not None:
                    self.counts.replayed += 1
                    return self._delivered(call.model, reply)
                task = asyncio.create_task(self._ask(key, call))
                self._tasks.add(task)
                in_flight[key] = task
                task.add_done_callback(lambda done: self._finish(key, done))
            try:
                self.counts.shared += is_shared  # another job has sent it
                try:
                    # A job that waits may be cancelled; the call goes on: it is paid for, and others may wait for it.
                    reply = await asyncio.shield(task)
                except BaseException:
                    self.counts.shared -= is_shared
                    raise
                return self._delivered(call.model, reply)
            except asyncio.CancelledError:
                me = asyncio.current_task()
                if self._sender.is_closing or not task.cancelled() or (me is not None and me.cancelling()):
                    raise
            except LeftError:
                if self._sender.is_closing:
                    raise
            # The owner of the call was cancelled, so this job sends it. The loop must first remove the ended task.
            await asyncio.sleep(0)

    def _finish(self, key: str, done: asyncio.Task[Reply]) -> None:
        del self._folder.in_flight[key]
        self._tasks.discard(done)
        if not done.cancelled():
            done.exception()  # retrieved here, because all waiting jobs may have been cancelled

    def check_failures(self) -> None:
        """Raise BudgetError if too many calls of this job or run have failed for the rest to be data."""
        if self._failure_limit is not None:
            self._failure_limit.check()

    def _delivered(self, model: Model, reply: Reply) -> Reply:
        return reply if self._failure_limit is None else self._failure_limit.passed(model, reply)

    async def _ask(self, key: str, call: Call) -> Reply:
        """Send a call that is in no log, unless another process sends it in the meantime."""
        locks = self._folder.locks
        if locks is None:
            raise ModelError(
                f"offline: a call to {call.model.model} (key {key}) is in none of the call logs\n"
                "    replaying needs the logs of the whole run, and the same spec; to ask models, run it online"
            )
        if call.model.engine is not None or transport_type(call.model.model).is_instant:
            return await self._send(key, call)
        async with locks.on(key):
            if locks.has_news():
                self.logs.refresh()
            reply = self.logs.get(key)
            if reply is not None:
                self.counts.replayed += 1
                return reply
            reply = await self._send(key, call)
            locks.tell()
            return reply

    async def _send(self, key: str, call: Call) -> Reply:
        """Send a call until there is a reply or a failure that is data, and log it.

        Raises
        ------
        ModelError, BudgetError
            A `LeftError` if this job is ending.
        """
        model, prompt_tokens, secrets = call.model, estimated_tokens(call.messages), self.secrets
        earlier_failure = self.logs.failure(key)
        is_new = earlier_failure is None
        own = self._own_transports.get(model.model.partition("/")[0])
        transport = None if model.engine is not None else own or self._shared.transport(model)
        refusals = self.budget.refusals
        declared = transport_type(f"{way_of(model)}/")

        async def send(address: str | None, secret: str | None) -> Raw:
            if address is None and declared.needs_address:
                what = f"transport {declared.prefix} needs `api_base`, the address of the model's server"
                raise Failure(FailureKind.BAD_REQUEST, what)
            assert transport is not None
            try:
                return check_reply(await transport.send(refusals.applied(call, address), address, secret), secrets)
            except Failure as failure:
                refusals.learn(model, address, failure)
                raise

        raw: Raw | None = None
        failure: Failure | None = None
        begun = self._clock()
        try:
            request = Request(
                model, send, prompt_tokens, lambda raw: cost_of_reply(model, raw, prompt_tokens, is_new=is_new)
            )
            result = await self._way(key, call, request)
            raw, retries, seconds = result.value, result.retries, result.seconds
        except RetriesExhausted as exhausted:
            failure, retries, seconds = exhausted.failure, exhausted.retries, self._clock() - begun
            raise_unless_data(model, exhausted, self.tally, secrets)
            self.budget.spend(Usage(calls=int(is_new), failed=int(is_new)))
        attempt = raw or failure
        assert attempt is not None
        record = call_record(
            key,
            call,
            raw,
            seconds=seconds,
            attempts=retries.attempts,
            retries=retries.by_kind,
            error=f"{failure.kind.value}: {secrets.clean(failure.what)}" if failure else None,
            dollars=dollars_of(model, attempt.usage, raw.billed if raw else None),
            failure=failure,
            lost=retries.lost,
        )
        try:
            reply = reply_of(record)
            usage = self.logs.write(record, reply)
        except RecordError:
            self._unkept += 1
            raise
        if earlier_failure is not None:
            self.tally.asked_again(kind_of(earlier_failure))
        self.counts.asked += 1
        self.counts.failed += failure is not None
        saved = 0.0 if raw is None else saved_by_cache(model, raw.usage)
        # The price of a tool, which is 0, says nothing about the price of models.
        is_priced = not declared.is_tool and paid_dollars(record) is not None
        self.tally.ended(replace(usage, saved=saved), failure.kind if failure else None, is_priced=is_priced)
        return reply

    def _way(self, key: str, call: Call, request: Request[Raw]) -> Awaitable[AttemptResult[Raw]]:
        """Return the way of a call: in a file, or alone."""
        if call.model.engine is None:
            return self._sender.send(request)
        if self.rounds is None:
            raise outside_rounds(call.model)
        return self.rounds.send(key, call, self.budget, request.prompt_tokens, request.cost)

    async def send(self, request: Request[Any]) -> AttemptResult[Any]:
        """Send a request that is not a call (texts to embed) through the same gate, budget and retries.

        Raises
        ------
        ModelError, BudgetError
        """
        try:
            return await self._sender.send(request)
        except RetriesExhausted as exhausted:
            self.tally.failed(exhausted.failure.kind)
            raise error_of(request.model, exhausted, self.secrets) from None

    def use_transport(self, prefix: str, transport: Transport) -> None:
        """Send calls to models `prefix/...` by a transport of this job's own; the caller closes it."""
        self._own_transports[prefix] = transport

    def wait_for(self, task: asyncio.Task[Any]) -> None:
        """Wait for a task that is not a call when the client is closed, as for calls in flight."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def keep(self, logs: CallLogs) -> None:
        """Bring other logs to disk together with the call logs, and close them with the client."""
        self._syncs.add(logs)

    async def sync(self) -> None:
        """Bring to disk what results come from, before they are written; raise RecordError if the disk fails."""
        self.budget.check()
        await self._syncs.sync()

    async def __aenter__(self) -> Client:
        if self.own_log is not None:
            self.tally.publish()
            self._tick()
        return self

    def _tick(self) -> None:
        """Every second: publish the tally, and flush the log to disk if that is due."""
        self._ticks = asyncio.get_running_loop().call_later(EVERY, self._tick)
        self.tally.publish_if_due()
        self._syncs.sync_if_due(EVERY)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Close the client. Replies in flight are waited for and logged, unless the job was cancelled.

        Raises
        ------
        RecordError
            If the disk is full or fails.
        """
        self._sender.is_closing = True
        is_cancelled = kind is not None and issubclass(kind, asyncio.CancelledError | KeyboardInterrupt)
        for task in list(self._tasks):
            if is_cancelled or task not in self._sender.sending:
                task.cancel()
        try:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        finally:
            if self._ticks is not None:
                self._ticks.cancel()
            fault = await self._syncs.close()
            self._shared.release(self._folder)
            if self.own_log is not None:
                self.budget.spend(Usage(seconds=self._sender.seconds()))
                self.tally.publish_end(error or fault, self.secrets, is_cancelled=is_cancelled)
            if self._is_alone:
                await self._shared.close()
                self.budget.close()
        if self._unkept and isinstance(error, RecordError):
            replies = counted(self._unkept, "reply", "replies")
            raise RecordError(f"{error}\n    {replies} {UNKEPT}: the next run sends and pays for these calls again")
        if fault is not None and error is None:
            raise fault


def open_client(
    own_log: Path | None,
    *,
    folder: Path | None = None,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    ledgers: Path | None = None,
    job: JobInfo | str = JobInfo(),  # noqa: B008 (frozen)
    offline: bool = False,
    errors_again: bool = False,
    transports: Mapping[str, Transport] | None = None,
    runtime: Runtime = Runtime(),  # noqa: B008 (frozen)
    shared: SharedState | None = None,
    addresses: Path | None = None,
) -> Client:
    """Open the client of one job.

    Parameters
    ----------
    own_log : Path or None
        The call log that this job alone writes; None only if offline.
    folder : Path or None
        Of the logs that share these questions; by default the folder of `own_log`.
    limits : Limits
        What the experiment may spend, and how many calls may be in flight to one endpoint.
    ledgers : Path or None
        `spent/` of the experiment, where its jobs add up what they spend; None to keep it to this client.
    job : JobInfo or str
        How this job appears there.
    offline : bool
        Only replay: nothing is sent and nothing written.
    errors_again : bool
        Send a call again if the log holds a failure that is data (content filter, context window, malformed reply).
    transports, runtime
        Of the state that this client creates for itself, if `shared` is None.
    shared : SharedState or None
    addresses : Path or None
        The file with the addresses of the run's servers.

    Raises
    ------
    RecordError
        If another process writes `own_log`, or a log belongs to a newer version.
    """
    if own_log is None and not offline:
        raise ValueError("a client that is not offline needs a call log of its own")
    if folder is None:
        if own_log is None:
            raise ValueError("an offline client needs the folder of the logs")
        folder = own_log.parent
    state = shared or SharedState(transports, runtime)
    state.secrets.add_served(read_addresses(addresses) if addresses else {})
    spent = None if offline else ledgers
    with ExitStack() as undo:
        budget = state.budget(limits, spent)
        if shared is None:
            undo.callback(budget.close)
        opened = state.open_folder(folder, offline=offline)
        undo.callback(state.release, opened)
        logs = CallLogs(folder, None if offline else own_log, errors_again=errors_again, shared=opened.logs)
        undo.pop_all()
    counts = CallCounts()
    tally = TallyWriter(spent, JobInfo(job) if isinstance(job, str) else job, counts, logs.totals(), state.runtime.now)
    return Client(state, opened, logs, budget, tally, counts, is_alone=shared is None)

"""The door: the only place where a model is called.

A call goes through: its key; a call with the same key that is under way; the call logs; the claim on it among
the jobs of this experiment; the gate of its endpoint; the budget; a transport, with retries; the call log; the
reply. What is in a log is not asked again, so that starting a job anew *is* resuming it, and replaying a
published experiment is the same operation with `offline`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from cortexdsl.errors import BudgetError, ModelError
from cortexdsl.models.commons import Commons, Hooks, Shelf
from cortexdsl.models.keys import call_key
from cortexdsl.models.limits.account import Account
from cortexdsl.models.limits.budget import Budget, is_too_many
from cortexdsl.models.limits.ledger import Spent
from cortexdsl.models.limits.tally import EVERY, Counts, Job, Tally
from cortexdsl.models.logs.appendlog import SYNC_EVERY
from cortexdsl.models.logs.calls import CallLogs
from cortexdsl.models.reach.reach import too_many_failed
from cortexdsl.models.sending import LeftError, Sender
from cortexdsl.models.transports.litellm import BUILTIN
from cortexdsl.models.transports.transport import Transport
from cortexdsl.terms import Call, Limits, Model, Reply

__all__ = ["Commons", "Counts", "Door", "Hooks", "Job", "open_door"]
T = TypeVar("T")


class Door:
    """Answers the calls of one job (a `terms.Ask`). Made by `open_door`; used as an asynchronous context manager.

    Attributes
    ----------
    counts : Counts
    tally : Tally
        What others see of this job while it runs; tell it of debates that are done.
    logs : CallLogs
    budget : Budget
    sender : Sender
        The way through gate and budget, for what is no call (texts to embed).
    folder : Path
        Of the call logs.
    own_log : Path or None
        The one that this job writes; None when offline.
    """

    def __init__(
        self,
        commons: Commons,
        shelf: Shelf,
        logs: CallLogs,
        account: Account,
        tally: Tally,
        counts: Counts,
        *,
        is_alone: bool,
    ) -> None:
        self._is_alone = is_alone
        self.counts, self.tally, self.logs = counts, tally, logs
        self.folder, self.own_log = logs.folder, logs.own
        self.secrets = commons.secrets
        self._commons, self._shelf, self._account = commons, shelf, account
        self._clock = commons.hooks.clock
        self.sender = Sender(commons, account, logs, tally, counts)
        self._mine: set[asyncio.Task[Any]] = set()
        self._failed_here = 0
        self._last_failure = ""
        self._at_close: list[Callable[[], None]] = []
        self._own_ways: dict[str, Transport] = {}
        self._syncing: asyncio.Future[None] | None = None
        self._ticks: asyncio.TimerHandle | None = None
        self._synced_at = self._clock()

    @property
    def budget(self) -> Budget:
        """The experiment's."""
        return self._account.budget

    async def __call__(self, call: Call) -> Reply:
        """Answer a call.

        Raises
        ------
        ModelError
            If the model cannot be asked (key, address, request, server), or the door is offline and no log
            has the call.
        BudgetError
            If a limit of the spec is reached, or too many calls have failed.
        """
        key = call_key(call)
        while True:
            task = self._shelf.under_way.get(key)
            is_shared = task is not None
            if task is None:
                known = self.logs.get(key)
                if known is not None:
                    self.counts.replayed += 1
                    return self._delivered(call.model, known)
                task = asyncio.create_task(self._ask(key, call))
                self._mine.add(task)
                self._shelf.under_way[key] = task
                task.add_done_callback(lambda done: self._finish(key, done))
            try:
                with self._shares(is_shared=is_shared):
                    # A job that waits may be cancelled; the call goes on: it is paid for, and others may wait for it.
                    reply = await asyncio.shield(task)
                return self._delivered(call.model, reply)
            except asyncio.CancelledError:
                me = asyncio.current_task()
                if self.sender.is_closing or not task.cancelled() or (me is not None and me.cancelling()):
                    raise
            except LeftError:
                if self.sender.is_closing:
                    raise
            # The job that was asking was stopped, and this one was not: it asks itself. Whoever comes between the end
            # of that call and its being struck off finds it ended already, and must let the loop strike it off.
            await asyncio.sleep(0)

    @contextmanager
    def _shares(self, *, is_shared: bool) -> Iterator[None]:
        """Count a call that another job has sent, unless it brings no reply."""
        self.counts.shared += is_shared
        try:
            yield
        except BaseException:
            self.counts.shared -= is_shared
            raise

    def _finish(self, key: str, done: asyncio.Task[Reply]) -> None:
        del self._shelf.under_way[key]
        self._mine.discard(done)
        if not done.cancelled():
            done.exception()  # looked at, since everybody who waited may be gone

    def _delivered(self, model: Model, reply: Reply) -> Reply:
        """Return a reply, unless so many calls of this job or run have failed that it is an outage, and no data."""
        if reply.error is not None:
            self._failed_here += 1
            self._last_failure = f"model {model.name} ({model.model}): {reply.error}"
            self.check_failures(is_end=False)
        return reply

    def check_failures(self, *, is_end: bool = True) -> None:
        """Refuse to go on, or to end well, where too many calls of this job or run have failed to be data.

        Raises
        ------
        BudgetError
        """
        if self.own_log is None or not self._failed_here:
            return
        counts, share, run = self.counts, self._account.limits.failed, self.budget.total
        here = self._failed_here, counts.asked + counts.replayed + counts.shared
        for failed, calls, whose in ((*here, "of this job"), (run.failed, run.replies, "of this run")):
            if is_too_many(failed, calls, share, is_end=is_end):
                raise too_many_failed(failed, calls, whose, self._last_failure, share, self.tally.job.spec)

    async def _ask(self, key: str, call: Call) -> Reply:
        claims = self._shelf.claims
        if claims is None:
            raise ModelError(
                f"offline: a call to {call.model.model} (key {key}) is in none of the call logs\n"
                "    replaying needs the logs of the whole run, and the same spec; to ask models, run it online"
            )
        is_builtin = call.model.model.partition("/")[0] == BUILTIN
        claim: AbstractAsyncContextManager[None] = nullcontext() if is_builtin else claims.on(key)
        async with claim:
            if not is_builtin:  # another process may have asked it meanwhile
                if claims.has_news():
                    self.logs.refresh()
                known = self.logs.get(key)
                if known is not None:
                    self.counts.replayed += 1
                    return known
            way = self._own_ways.get(call.model.model.partition("/")[0])
            reply = await self.sender.send(key, call, way or self._commons.transport(call.model))
            if not is_builtin:
                claims.tell()
            return reply

    def go_by(self, way: str, transport: Transport) -> None:
        """Have models `way/...` asked by a transport of this job's own; whoever made it closes it."""
        self._own_ways[way] = transport

    def wait_for(self, task: asyncio.Task[Any]) -> None:
        """Have what is on its way to a server by a task, and is no call, waited for and kept as calls are."""
        self._mine.add(task)
        task.add_done_callback(self._mine.discard)

    def at_close(self, close: Callable[[], None]) -> None:
        """Have something closed with the door."""
        self._at_close.append(close)

    async def __aenter__(self) -> Door:
        if self.own_log is not None:
            self.tally.publish()
            self._tick()
        return self

    def _tick(self) -> None:
        """Every second: tell others, and bring the log to disk where that is due."""
        self._ticks = asyncio.get_running_loop().call_later(EVERY, self._tick)
        self.tally.publish_if_due()
        if self._clock() - self._synced_at >= SYNC_EVERY - EVERY and (self._syncing is None or self._syncing.done()):
            self._synced_at = self._clock()
            self._syncing = asyncio.get_running_loop().run_in_executor(None, self.logs.sync)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Close the door. Replies that are on their way are waited for and kept, unless the job was cancelled."""
        self.sender.is_closing = True
        is_cancelled = kind is not None and issubclass(kind, asyncio.CancelledError | KeyboardInterrupt)
        for task in list(self._mine):
            if is_cancelled or task not in self.sender.sending:
                task.cancel()
        try:
            await asyncio.gather(*self._mine, return_exceptions=True)
            if self._syncing is not None:
                await self._syncing
        finally:
            if self._ticks is not None:
                self._ticks.cancel()
            for close in (*self._at_close, self.logs.close):
                close()
            self._commons.give_back(self._shelf)
            if self.own_log is not None:
                self.budget.spend(Spent(seconds=self.sender.seconds()))
                self._say_how_it_ended(error, is_cancelled=is_cancelled)
            if self._is_alone:
                await self._commons.close()
                self._account.close()

    def _say_how_it_ended(self, error: BaseException | None, *, is_cancelled: bool) -> None:
        if error is None:
            self.tally.publish("done")
            return
        self.tally.message = "stopped from outside" if is_cancelled else self.secrets.clean(str(error))
        self.tally.publish("stopped" if is_cancelled or isinstance(error, BudgetError) else "failed")


def open_door(
    own_log: Path | None,
    *,
    folder: Path | None = None,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    ledgers: Path | None = None,
    job: Job | str = Job(),  # noqa: B008 (frozen)
    offline: bool = False,
    errors_again: bool = False,
    transports: Mapping[str, Transport] | None = None,
    hooks: Hooks = Hooks(),  # noqa: B008 (frozen)
    commons: Commons | None = None,
) -> Door:
    """Open the door of one job.

    Parameters
    ----------
    own_log : Path or None
        The call log that this job alone writes; None only when offline.
    folder : Path or None
        Of the logs that share these questions; by default the folder of `own_log`.
    limits : Limits
        What the experiment may spend, and how many calls may be in flight to one endpoint.
    ledgers : Path or None
        `spent/` of the experiment, in which its jobs account for what they spend; None accounts to nobody.
    job : Job or str
        Who this job is there.
    offline : bool
        Only replay: nothing is asked and nothing written.
    errors_again : bool
        Ask again where a log holds a failure that is data (content filter, context window, malformed reply).
    transports, hooks
        Of commons that this door makes for itself.
    commons : Commons or None
        What this door shares with others of this process; by default nothing.

    Raises
    ------
    RecordError
        If another process writes `own_log`, or a log belongs to a newer version.
    """
    if own_log is None and not offline:
        raise ValueError("a door that may ask needs a call log of its own")
    if folder is None:
        if own_log is None:
            raise ValueError("an offline door needs the folder of the logs")
        folder = own_log.parent
    shared = commons or Commons(transports, hooks)
    shelf = shared.take_shelf(folder, offline=offline)
    try:
        logs = CallLogs(folder, None if offline else own_log, errors_again=errors_again, shared=shelf.logs)
    except BaseException:
        shared.give_back(shelf)
        raise
    spent = None if offline else ledgers
    who = Job(job) if isinstance(job, str) else job
    counts = Counts()
    tally = Tally(spent, who, counts, logs.totals(), shared.hooks.now)
    return Door(shared, shelf, logs, shared.account(limits, spent), tally, counts, is_alone=commons is None)

"""The door: the only place where a model is called.

A call goes through: its key; a call with the same key that is under way; the call logs; the claim on it among
the jobs of this experiment; the budget; the gate of its endpoint; a transport, with retries; the call log; the
reply. What is in a log is not asked again, so that starting a job anew *is* resuming it, and replaying a
published experiment is the same operation with `offline`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from cortexdsl.errors import ModelError
from cortexdsl.models.keys import call_key
from cortexdsl.models.limits.budget import Budget, spent_on
from cortexdsl.models.limits.claims import Claims
from cortexdsl.models.logs.calls import CallLogs, call_record, reply_of
from cortexdsl.models.reach.failures import Failure
from cortexdsl.models.reach.reach import Reach, checked
from cortexdsl.models.reach.retry import GaveUp, Insistence, Obtained, Patience
from cortexdsl.models.reach.secrets import Secrets
from cortexdsl.models.transports.builtin import BuiltinTransport
from cortexdsl.models.transports.direct import DirectTransport
from cortexdsl.models.transports.litellm import BUILTIN, LitellmTransport
from cortexdsl.models.transports.transport import Raw, Transport
from cortexdsl.terms import Call, Limits, Model, Reply

DIRECT, LITELLM = "direct", "litellm"
T = TypeVar("T")


@dataclass(slots=True)
class Counts:
    """What came of the calls: asked of a model, replayed from a log, shared with one under way, failed as data."""

    asked: int = 0
    replayed: int = 0
    shared: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the door takes from the outside world, replaceable in tests: time, waiting, chance, environment."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    environment: Mapping[str, str] | None = None
    patience: Patience = field(default_factory=Patience)


class Door:
    """Answers calls (a `terms.Ask`). Made by `open_door`; used as an asynchronous context manager.

    Attributes
    ----------
    counts : Counts
    logs : CallLogs
    budget : Budget
    folder : Path
        Of the call logs.
    own_log : Path or None
        The one that this job writes; None when offline.
    """

    def __init__(
        self,
        logs: CallLogs,
        budget: Budget,
        claims: Claims | None,
        transports: Mapping[str, Transport],
        connections: int,
        hooks: Hooks,
    ) -> None:
        self.counts = Counts()
        self.logs = logs
        self.folder, self.own_log = logs.folder, logs.own
        self.budget = budget
        self.secrets = Secrets(hooks.environment)
        self._claims = claims
        self._transports = transports
        self._clock = hooks.clock
        insistence = Insistence(hooks.patience, hooks.clock, hooks.sleep, hooks.chance)
        self._reach = Reach(self.secrets, insistence, connections, hooks.clock)
        self._under_way: dict[str, asyncio.Task[Reply]] = {}
        self._sending: set[asyncio.Task[object] | None] = set()
        self._is_closing = False
        self._at_close: list[Callable[[], None]] = []

    async def __call__(self, call: Call) -> Reply:
        """Answer a call.

        Raises
        ------
        ModelError
            If the model cannot be asked (key, address, request, server), or the door is offline and no log
            has the call.
        BudgetError
            If a limit of the spec is reached.
        """
        key = call_key(call)
        task = self._under_way.get(key)
        if task is not None:
            self.counts.shared += 1
        else:
            known = self.logs.get(key)
            if known is not None:
                self.counts.replayed += 1
                return known
            task = asyncio.create_task(self._ask(key, call))
            self._under_way[key] = task
            task.add_done_callback(lambda done: self._finish(key, done))
        # Whoever waits may be cancelled; the call goes on, since it is paid for and others may wait for it too.
        return await asyncio.shield(task)

    def _finish(self, key: str, done: asyncio.Task[Reply]) -> None:
        del self._under_way[key]
        if not done.cancelled():
            done.exception()  # looked at, since everybody who waited may be gone

    async def _ask(self, key: str, call: Call) -> Reply:
        if self._claims is None:
            raise ModelError(
                f"offline: a call to {call.model.model} (key {key}) is in none of the call logs\n"
                "    replaying needs the logs of the whole run, and the same spec; to ask models, run it online"
            )
        kind = call.model.model.partition("/")[0]
        is_builtin = kind == BUILTIN
        claim: AbstractAsyncContextManager[None] = nullcontext() if is_builtin else self._claims.on(key)
        async with claim:
            if not is_builtin:  # another job may have asked it meanwhile
                self.logs.refresh()
                known = self.logs.get(key)
                if known is not None:
                    self.counts.replayed += 1
                    return known
            with self.budget.reserve():
                return await self._send(key, call, self._transports.get(kind) or self._transports[LITELLM])

    async def _send(self, key: str, call: Call, transport: Transport) -> Reply:
        raw, failure = None, None
        begun = self._clock()
        try:
            got = await self._reach.obtain(call.model, lambda base, key: self._try(transport, call, base, key))
            raw, attempts, seconds = got.value, got.attempts, got.seconds
        except GaveUp as given_up:
            failure, attempts, seconds = given_up.failure, given_up.attempts, self._clock() - begun
            if not failure.kind.is_data:
                raise self._reach.error(call.model, given_up) from None
        record = call_record(
            key,
            call,
            raw,
            seconds=seconds,
            attempts=attempts,
            error=f"{failure.kind.value}: {self.secrets.clean(failure.what)}" if failure else None,
            dollars=self._dollars(call.model, raw),
        )
        self.logs.write(record)
        self.budget.spend(spent_on(record))
        self.counts.asked += 1
        self.counts.failed += failure is not None
        return reply_of(record)

    async def _try(self, transport: Transport, call: Call, address: str | None, secret: str | None) -> Raw:
        me = asyncio.current_task()
        self._sending.add(me)
        try:
            raw = await transport.send(call, address, secret)
            return checked(raw, self.secrets)
        except Failure as failure:
            failure.is_certain = failure.is_certain or self._is_closing
            raise
        finally:
            self._sending.discard(me)

    async def through(self, model: Model, send: Callable[[str | None, str | None], Awaitable[T]]) -> Obtained[T]:
        """Send something else than a call (texts to embed) the same way: budget, gate, retries.

        Parameters
        ----------
        model : Model
        send : callable of (address, key)
            Tries once, and raises Failure.

        Raises
        ------
        ModelError, BudgetError
        """
        with self.budget.reserve():
            try:
                return await self._reach.obtain(model, send)
            except GaveUp as given_up:
                raise self._reach.error(model, given_up) from None

    def at_close(self, close: Callable[[], None]) -> None:
        """Have something closed with the door."""
        self._at_close.append(close)

    def _dollars(self, model: Model, raw: Raw | None) -> float | None:
        if raw is None:
            return None
        if model.price is None:
            return raw.dollars
        return model.price[0] * (raw.prompt_tokens or 0) + model.price[1] * (raw.completion_tokens or 0)

    async def __aenter__(self) -> Door:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Close the door. Replies that are on their way are waited for and kept, unless the job was cancelled."""
        self._is_closing = True
        is_cancelled = kind is not None and issubclass(kind, asyncio.CancelledError | KeyboardInterrupt)
        for task in list(self._under_way.values()):
            if is_cancelled or task not in self._sending:
                task.cancel()
        try:
            await asyncio.gather(*self._under_way.values(), return_exceptions=True)
            for transport in self._transports.values():
                await transport.close()
        finally:
            for close in (*self._at_close, self.logs.close, self.budget.close):
                close()
            if self._claims is not None:
                self._claims.close()


def open_door(
    own_log: Path | None,
    *,
    folder: Path | None = None,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    ledgers: Path | None = None,
    job: str = "job",
    offline: bool = False,
    errors_again: bool = False,
    transports: Mapping[str, Transport] | None = None,
    hooks: Hooks = Hooks(),
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
        Folder in which the jobs of the experiment tell each other what they spent.
    job : str
        This job's name there.
    offline : bool
        Only replay: nothing is asked and nothing written.
    errors_again : bool
        Ask again where a log holds a failure that is data (content filter, context window, malformed reply).
    transports : mapping or None
        In place of, or on top of, the usual: `builtin` (models `builtin/...`), `direct` (`direct/...`), `litellm`
        (every other).
    hooks : Hooks
        Time, waiting, chance and environment.

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
    logs = CallLogs(folder, None if offline else own_log, errors_again=errors_again)
    claims = None if offline else Claims(folder, hooks.sleep)
    budget = Budget(limits, None if offline else ledgers, job, logs.own_records(), hooks.clock)
    usual: dict[str, Transport] = {
        BUILTIN: BuiltinTransport(),
        DIRECT: DirectTransport(),
        LITELLM: LitellmTransport(),
    }
    return Door(logs, budget, claims, {**usual, **(transports or {})}, limits.connections, hooks)

"""Shared state of the clients of one process: transports, endpoints, budgets, open folders of call logs.

A job that runs alone has a shared state of its own, created and closed with its client. A process that runs many jobs
creates it once, so that there is one gate for each endpoint, one budget for each experiment, and one request for a call
however many of its jobs ask it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from cortexdsl.core import Limits, Model, Reply
from cortexdsl.errors import ModelError
from cortexdsl.models.budget import Budget
from cortexdsl.models.call_log.call_locks import CallLocks
from cortexdsl.models.call_log.folder import LogFolder
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.endpoints.endpoint import Endpoints
from cortexdsl.models.endpoints.retry import Runtime
from cortexdsl.models.transports.interface import Transport
from cortexdsl.models.transports.registry import transport_type, way_of


class OpenFolder:
    """One folder of call logs, as the clients of this process have it open.

    Attributes
    ----------
    logs : LogFolder
    locks : CallLocks or None
        None if the clients are offline.
    in_flight : dict of key to task
        The calls that a client of this process is sending.
    """

    def __init__(self, folder: Path, locks: CallLocks | None) -> None:
        self.logs = LogFolder(folder)
        self.locks = locks
        self.in_flight: dict[str, asyncio.Task[Reply]] = {}
        self.users = 0


class SharedState:
    """Shared state of the clients of one process: an async context manager that closes it.

    Parameters
    ----------
    transports : mapping or None
        Opened transports by prefix, used instead of what the registry declares.
    runtime : Runtime
        Time, sleep, chance and environment.
    """

    def __init__(
        self,
        transports: Mapping[str, Transport] | None = None,
        runtime: Runtime = Runtime(),  # noqa: B008 (frozen)
    ) -> None:
        self._transports = dict(transports or {})
        self.runtime = runtime
        self.secrets = Secrets(runtime.environment)
        self.endpoints = Endpoints(self.secrets, runtime.clock, runtime.sleep)
        self._gates: dict[str, asyncio.Semaphore] = {}
        self._budgets: dict[tuple[Path, Limits], Budget] = {}
        self._folders: dict[tuple[Path, bool], OpenFolder] = {}

    def transport(self, model: Model) -> Transport:
        """Return the transport of a model, opened if it is not yet open.

        Raises
        ------
        ModelError
            If each job must bring this transport itself, and this one did not.
        """
        way = way_of(model)
        if way not in self._transports:
            declared = transport_type(f"{way}/")
            way = declared.prefix
            if way not in self._transports:
                if declared.create is None:
                    raise ModelError(f"model {model.name} ({model.model}): this job has opened no transport {way!r}")
                self._transports[way] = declared.create()
        return self._transports[way]

    def gate(self, where: str, connections: int) -> asyncio.Semaphore:
        """Return the gate to a service that is not a model (a search); the first caller sets its `connections`."""
        return self._gates.setdefault(where, asyncio.Semaphore(connections))

    def budget(self, limits: Limits, ledgers: Path | None) -> Budget:
        """Return the budget of an experiment, opened if it is not yet open.

        Parameters
        ----------
        limits : Limits
        ledgers : Path or None
            The experiment's `spent/`; None for a client of its own.
        """
        if ledgers is None:
            return Budget(limits, None, self.runtime.now)
        where = (ledgers.absolute(), limits)
        if where not in self._budgets:
            self._budgets[where] = Budget(limits, where[0], self.runtime.now)
        return self._budgets[where]

    def open_folder(self, folder: Path, *, offline: bool = False) -> OpenFolder:
        """Return a folder of call logs, opened if it is not yet open; to be released."""
        where = (folder.absolute(), offline)
        if where not in self._folders:
            self._folders[where] = OpenFolder(folder, None if offline else CallLocks(folder, self.runtime.sleep))
        self._folders[where].users += 1
        return self._folders[where]

    def release(self, folder: OpenFolder) -> None:
        """Close a folder of call logs that no client of this process uses any longer."""
        folder.users -= 1
        if folder.users:
            return
        self._folders = {where: other for where, other in self._folders.items() if other is not folder}
        folder.logs.close()
        if folder.locks is not None:
            folder.locks.close()

    async def close(self) -> None:
        """Close transports and budgets; all clients are closed by now."""
        try:
            for transport in self._transports.values():
                await transport.close()
        finally:
            for budget in self._budgets.values():
                budget.close()
            self._budgets.clear()

    async def __aenter__(self) -> SharedState:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

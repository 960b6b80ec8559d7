"""What the doors of one process share: the gates of endpoints, transports, accounts, and folders of call logs.

A job that runs alone has commons of its own, made and closed with its door. A process that runs many jobs makes them
once, so that there is one gate for each endpoint, one budget for each experiment, and one question to a model
however many of its jobs ask it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from cortexdsl.models.limits.account import Account
from cortexdsl.models.limits.claims import Claims
from cortexdsl.models.logs.calls import LogFolder
from cortexdsl.models.reach.reach import Reach
from cortexdsl.models.reach.retry import Insistence, Patience
from cortexdsl.models.reach.secrets import Secrets
from cortexdsl.models.transports.builtin import BuiltinTransport
from cortexdsl.models.transports.direct import DirectTransport
from cortexdsl.models.transports.litellm import BUILTIN, LitellmTransport
from cortexdsl.models.transports.tiny import TinyTransport
from cortexdsl.models.transports.transport import Transport, way_of
from cortexdsl.terms import Limits, Model, Reply

DIRECT, TINY, LITELLM = "direct", "tiny", "litellm"


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the door takes from the outside world, replaceable in tests: time, waiting, chance, environment."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    environment: Mapping[str, str] | None = None
    patience: Patience = field(default_factory=Patience)
    now: Callable[[], float] = time.time


class Shelf:
    """One folder of call logs, as the doors of this process have it open.

    Attributes
    ----------
    logs : LogFolder
    claims : Claims or None
        None where the doors are offline.
    under_way : dict of key to task
        The calls that some door of this process is asking.
    """

    def __init__(self, folder: Path, claims: Claims | None) -> None:
        self.logs = LogFolder(folder)
        self.claims = claims
        self.under_way: dict[str, asyncio.Task[Reply]] = {}
        self.users = 0


class Commons:
    """What the doors of one process share; an asynchronous context manager that closes it.

    Parameters
    ----------
    transports : mapping or None
        In place of, or on top of, the usual: `builtin` (models `builtin/...`), `direct` (`direct/...`, and entries
        that name it), `tiny` (`tiny/...`), `litellm` (every other).
    hooks : Hooks
        Time, waiting, chance and environment.
    """

    def __init__(
        self,
        transports: Mapping[str, Transport] | None = None,
        hooks: Hooks = Hooks(),
    ) -> None:
        usual: dict[str, Transport] = {
            BUILTIN: BuiltinTransport(),
            DIRECT: DirectTransport(),
            TINY: TinyTransport(),
            LITELLM: LitellmTransport(),
        }
        self._transports: Mapping[str, Transport] = {**usual, **(transports or {})}
        self.hooks = hooks
        self.secrets = Secrets(hooks.environment)
        insistence = Insistence(hooks.patience, hooks.clock, hooks.sleep, hooks.chance)
        self.reach = Reach(self.secrets, insistence, hooks.clock)
        self._gates: dict[str, asyncio.Semaphore] = {}
        self._accounts: dict[tuple[Path | None, Limits], Account] = {}
        self._shelves: dict[tuple[Path, bool], Shelf] = {}

    def transport(self, model: Model) -> Transport:
        """Return the way to a model."""
        return self._transports.get(way_of(model)) or self._transports[LITELLM]

    def gate(self, where: str, most: int) -> asyncio.Semaphore:
        """Return the gate to what is no model (a search service); it lets in as many as who first asked there may."""
        return self._gates.setdefault(where, asyncio.Semaphore(most))

    def account(self, limits: Limits, ledgers: Path | None) -> Account:
        """Return the account of an experiment, opened where it was not yet.

        Parameters
        ----------
        limits : Limits
        ledgers : Path or None
            The experiment's `spent/`; None for a door that accounts to nobody.
        """
        if ledgers is None:
            return Account(limits, None, self.hooks.now)
        where = (ledgers.absolute(), limits)
        if where not in self._accounts:
            self._accounts[where] = Account(limits, where[0], self.hooks.now)
        return self._accounts[where]

    def take_shelf(self, folder: Path, *, offline: bool = False) -> Shelf:
        """Return a folder of call logs, opened where it was not yet; to be given back."""
        where = (folder.absolute(), offline)
        if where not in self._shelves:
            self._shelves[where] = Shelf(folder, None if offline else Claims(folder, self.hooks.sleep))
        shelf = self._shelves[where]
        shelf.users += 1
        return shelf

    def give_back(self, shelf: Shelf) -> None:
        """Close a folder of call logs that no door of this process uses any longer."""
        shelf.users -= 1
        if shelf.users:
            return
        self._shelves = {where: other for where, other in self._shelves.items() if other is not shelf}
        shelf.logs.close()
        if shelf.claims is not None:
            shelf.claims.close()

    async def close(self) -> None:
        """Close connections and accounts; all doors are closed by now."""
        try:
            for transport in self._transports.values():
                await transport.close()
        finally:
            for account in self._accounts.values():
                account.close()
            self._accounts.clear()

    async def __aenter__(self) -> Commons:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

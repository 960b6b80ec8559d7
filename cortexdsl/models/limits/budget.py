"""The budget of an experiment: what its jobs have spent together, and the limits of the spec.

Each job has a ledger of its own, `<job>.json`, which it alone writes and all read, about once a second. What a
job has spent is what its own call log holds: a call that is replayed is not spent again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from cortexdsl.errors import BudgetError
from cortexdsl.models.logs.appendlog import SCHEMA_VERSION
from cortexdsl.terms import Limits

EVERY = 1.0
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent: calls (however often each was tried), tokens in and out, dollars, seconds that jobs ran."""

    calls: int = 0
    tokens: int = 0
    dollars: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.dollars + other.dollars,
            self.seconds + other.seconds,
        )


def spent_on(record: Mapping[str, Any]) -> Spent:
    """Return what one line of a call log has cost.

    Where a server counted no tokens, four characters are taken for one: a limit must hold there too.
    """
    usage = record.get("usage") or {}
    asked, said = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if asked is None:
        asked = sum(len(message["content"]) for message in record["messages"]) // CHARACTERS_PER_TOKEN
    if said is None:
        said = len(record.get("reply") or "") // CHARACTERS_PER_TOKEN
    return Spent(1, asked + said, record.get("dollars") or 0.0)


class Budget:
    """What this job may still spend.

    Parameters
    ----------
    limits : Limits
        None in a field is no limit.
    folder : Path or None
        Of the ledgers; None keeps the job's spending to itself.
    job : str
        Name of the ledger.
    log : iterable of call log records
        The job's own, from earlier runs.
    clock : callable
        Seconds.

    Notes
    -----
    Calls are counted when they are sent, so that one job never sends too many. Tokens and dollars are known only
    afterwards: calls in flight are charged at the mean of those finished. Jobs learn of each other with a delay
    of about a second. The sum can therefore go over a limit by what is in flight, and no more.
    """

    def __init__(
        self,
        limits: Limits,
        folder: Path | None = None,
        job: str = "job",
        log: Iterable[Mapping[str, Any]] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._ledger = folder / (job.replace("/", "~") + ".json") if folder is not None else None
        self._clock = clock
        self._began = clock()
        self._in_flight = 0
        self._spent = sum(map(spent_on, log), Spent())
        if self._ledger is not None:
            self._ledger.parent.mkdir(parents=True, exist_ok=True)
            self._spent += Spent(seconds=_read(self._ledger).seconds)
        self._others = Spent()
        self._looked = -float("inf")

    @property
    def own(self) -> Spent:
        """What this job has spent, earlier runs included."""
        return self._spent + Spent(seconds=self._clock() - self._began)

    @property
    def total(self) -> Spent:
        """What the experiment has spent, as far as this job knows."""
        return self.own + self._others

    @contextmanager
    def reserve(self) -> Iterator[None]:
        """Hold the right to send one call.

        Raises
        ------
        BudgetError
            If a limit is reached.
        """
        self._look()
        self._check()
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1

    def spend(self, cost: Spent) -> None:
        """Book what a call has cost."""
        self._spent += cost

    def _check(self) -> None:
        total = self.total
        done = max(1, total.calls)
        ahead = self._in_flight
        reached = (
            ("calls", self._limits.calls, total.calls + ahead, total.calls),
            ("tokens", self._limits.tokens, total.tokens * (1 + ahead / done), total.tokens),
            ("dollars", self._limits.dollars, total.dollars * (1 + ahead / done), total.dollars),
            ("seconds", self._limits.seconds, total.seconds, total.seconds),
        )
        for name, limit, expected, spent in reached:
            if limit is not None and expected >= limit:
                raise BudgetError(
                    f"the limit of {limit:,} {name} is reached ({spent:,.{2 if name == 'dollars' else 0}f} spent"
                    + (f", {ahead} calls in flight" if ahead else "")
                    + f"): nothing finished is lost; raise `limits: {name}` in the spec and run again to go on"
                )

    def _look(self) -> None:
        """Publish the own spending and add up the others', about once a second."""
        now = self._clock()
        if self._ledger is None or now - self._looked < EVERY:
            return
        self._looked = now
        self._publish(self._ledger)
        others = (path for path in self._ledger.parent.glob("*.json") if path != self._ledger)
        self._others = sum(map(_read, others), Spent())

    def _publish(self, ledger: Path) -> None:
        said = {"schema_version": SCHEMA_VERSION, **asdict(self.own)}
        draft = ledger.with_suffix(".draft")
        draft.write_text(json.dumps(said) + "\n", encoding="ascii")
        draft.replace(ledger)

    def close(self) -> None:
        """Publish the last state of the own ledger."""
        if self._ledger is not None:
            self._publish(self._ledger)


def _read(ledger: Path) -> Spent:
    """Return what a ledger says; one that is absent or unreadable says nothing was spent."""
    try:
        said = json.loads(ledger.read_text(encoding="ascii"))
        return Spent(**{part.name: said[part.name] for part in fields(Spent)})
    except (OSError, ValueError, KeyError, TypeError):
        return Spent()


def spent_so_far(folder: Path) -> Spent:
    """Return the sum of all ledgers in a folder."""
    return sum(map(_read, sorted(folder.glob("*.json"))), Spent())

"""The tallies of an experiment's jobs (`spent/*.json`): how far each is, what it asked, what that cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cortexdsl.records.unread import Unread, from_lines

STATES = ("running", "done", "failed", "stopped")
COUNTS = ("asked", "replayed", "shared", "failed", "retried", "in_flight")


@dataclass(frozen=True, slots=True)
class Tally:
    """What one job says of itself; it alone writes it, about once a second. Calls and costs are of all its runs.

    Attributes
    ----------
    job : str
    dataset, cell, shard : str or None
        What it debates; a judge or a pool has no shard or cell.
    state : str
        One of `STATES`.
    done, total : int
        Debates, of the latest run: those replayed from the log count.
    calls : mapping of count to int
        See `COUNTS`.
    input_tokens, output_tokens, cached_tokens : int
        `cached_tokens` are those of the input that providers read from their caches.
    dollars : float or None
        None where no call had a known price.
    seconds : float
        That the job ran, earlier runs included.
    failures, retries : mapping of kind to int
        Calls that failed for good, and attempts that were repeated.
    began, updated : float
        Seconds since the epoch: when the job first began, and its last word.
    message : str
        Why it ended, where it did not finish.
    unread : mapping of (step, what is read) to (unreadable replies, replies)
        Of the debates of its latest run that came to their end.
    digest : str
        Of what its output depends on; empty in tallies of earlier versions.
    """

    job: str
    dataset: str | None = None
    cell: str | None = None
    shard: str | None = None
    state: str = "running"
    done: int = 0
    total: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0
    failures: Mapping[str, int] = field(default_factory=dict)
    retries: Mapping[str, int] = field(default_factory=dict)
    began: float = 0.0
    updated: float = 0.0
    message: str = ""
    unread: Unread = field(default_factory=dict)
    digest: str = ""


def read_tally(path: Path) -> Tally | None:
    """Read one tally; None where the file is no tally (of another version, or gone by now)."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return _tally(said)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _tally(said: Mapping[str, Any]) -> Tally:
    debates, calls, tokens = said["debates"], said["calls"], said["tokens"]
    dollars = said["dollars"]
    if said["state"] not in STATES:
        raise ValueError(said["state"])
    return Tally(
        job=str(said["job"]),
        dataset=said.get("dataset"),
        cell=said.get("cell"),
        shard=said.get("shard"),
        digest=str(said.get("digest") or ""),
        state=said["state"],
        done=int(debates["done"]),
        total=int(debates["total"]),
        calls={name: int(calls.get(name) or 0) for name in COUNTS},
        input_tokens=int(tokens["input"]),
        output_tokens=int(tokens["output"]),
        cached_tokens=int(tokens.get("cached") or 0),
        dollars=None if dollars is None else float(dollars),
        seconds=float(said["seconds"]),
        failures={str(kind): int(number) for kind, number in said["failures"].items()},
        retries={str(kind): int(number) for kind, number in said["retries"].items()},
        began=float(said["began"]),
        updated=float(said["updated"]),
        message=str(said.get("message") or ""),
        unread=from_lines(said.get("unread") or ()),
    )


class Tallies:
    """The tallies in a folder, read again only where a file has changed: a run may have thousands.

    Parameters
    ----------
    folder : Path
        `results/<experiment>/spent`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, tuple[tuple[int, int], Tally | None]] = {}

    def read(self) -> tuple[Tally, ...]:
        """Return what every job says by now, in order of the files' names."""
        known: dict[str, tuple[tuple[int, int], Tally | None]] = {}
        for path in sorted(self._folder.glob("*.json")):
            try:
                state = path.stat()
            except OSError:  # replaced or removed between the listing and now
                continue
            mark = state.st_mtime_ns, state.st_ino
            seen = self._known.get(path.name)
            known[path.name] = seen if seen is not None and seen[0] == mark else (mark, read_tally(path))
        self._known = known
        return tuple(tally for _, tally in known.values() if tally is not None)


def since(tally: Tally, before: Tally | None) -> Tally:
    """Return what a job did after it had said `before`: calls and costs of that alone.

    Nothing where it has been silent since. Its state and its debates are as it says them: those replayed count.
    """
    if before is None:
        return tally
    if before.updated == tally.updated:
        nothing = dict.fromkeys(tally.calls, 0)
        return replace(
            tally, done=0, calls=nothing, input_tokens=0, output_tokens=0, cached_tokens=0, dollars=0.0, seconds=0.0,
            failures={}, retries={}, unread={},
        )  # fmt: skip
    failures, retries = _less(tally.failures, before.failures), _less(tally.retries, before.retries)
    asked = max(0, tally.calls.get("asked", 0) - before.calls.get("asked", 0))
    known = tally.dollars is not None
    return replace(
        tally,
        # What is replayed or shared is of the latest run as it is.
        calls={**tally.calls, "asked": asked, "failed": sum(failures.values()), "retried": sum(retries.values())},
        input_tokens=max(0, tally.input_tokens - before.input_tokens),
        output_tokens=max(0, tally.output_tokens - before.output_tokens),
        cached_tokens=max(0, tally.cached_tokens - before.cached_tokens),
        dollars=max(0.0, (tally.dollars or 0.0) - (before.dollars or 0.0)) if known else None,
        seconds=max(0.0, tally.seconds - before.seconds),
        failures=failures,
        retries=retries,
    )


def _less(counts: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    return {name: more for name, number in counts.items() if (more := number - before.get(name, 0)) > 0}


@dataclass(frozen=True, slots=True)
class Spending:
    """The sum of some tallies; fields as in `Tally`; `is_priced` is false where some dollars are unknown."""

    jobs: int = 0
    done: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    dollars: float = 0.0
    is_priced: bool = True
    seconds: float = 0.0
    failures: Mapping[str, int] = field(default_factory=dict)
    retries: Mapping[str, int] = field(default_factory=dict)


def total_of(tallies: Iterable[Tally]) -> Spending:
    """Add tallies up."""
    found = tuple(tallies)
    return Spending(
        jobs=len(found),
        done=sum(tally.done for tally in found),
        calls=_added(tally.calls for tally in found),
        input_tokens=sum(tally.input_tokens for tally in found),
        output_tokens=sum(tally.output_tokens for tally in found),
        cached_tokens=sum(tally.cached_tokens for tally in found),
        dollars=sum(tally.dollars or 0.0 for tally in found),
        is_priced=all(tally.dollars is not None for tally in found if tally.calls.get("asked")),
        seconds=sum(tally.seconds for tally in found),
        failures=_added(tally.failures for tally in found),
        retries=_added(tally.retries for tally in found),
    )


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for name, number in each.items():
            total[name] = total.get(name, 0) + number
    return total

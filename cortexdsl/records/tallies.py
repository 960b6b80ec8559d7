"""Progress reports of jobs: their tallies (`spent/*.json`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cortexdsl.checksums import LineState, line_state
from cortexdsl.core import NO_USAGE, Usage
from cortexdsl.records.unread import UnreadCounts, unread_from_json, unread_to_json
from cortexdsl.typed_json import Codec

STATES = ("running", "waiting", "done", "failed", "stopped")
COUNTS = ("asked", "replayed", "shared", "failed", "retried", "in_flight")


@dataclass(frozen=True, kw_only=True)
class TallySum:
    """What some jobs did, or one.

    Attributes
    ----------
    done : int
        Debates of the latest run, including those replayed from the log.
    calls : mapping of count to int
        See `COUNTS`.
    usage : Usage
        Of the calls that were sent.
    failures, retries : mapping of kind to int
        Calls that failed permanently, and attempts that were repeated.
    """

    done: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = NO_USAGE
    failures: Mapping[str, int] = field(default_factory=dict)
    retries: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class JobTally(TallySum):
    """The tally of one job, which writes it about once a second. Calls and costs are those of all its runs.

    Attributes
    ----------
    job : str
    dataset, cell, shard : str or None
        A judge or a pool has no shard or cell.
    state : str
        One of `STATES`.
    total : int
        Debates of the latest run.
    began, updated : float
        Seconds since the epoch: the start of the first run, and the last update.
    message : str
        The reason if the job did not finish.
    unread : mapping of (step, what is read) to (unreadable replies, replies)
        Of the finished debates of its latest run.
    digest : str
        Of what its output depends on; empty in tallies of earlier versions.
    """

    job: str
    dataset: str | None = None
    cell: str | None = None
    shard: str | None = None
    state: str = "running"
    total: int = 0
    began: float = 0.0
    updated: float = 0.0
    message: str = ""
    unread: UnreadCounts = field(default_factory=dict)
    digest: str = ""


def read_tally(path: Path) -> JobTally | None:
    """Read one tally; None if the file is not a tally (it is of another version, damaged, or was removed)."""
    try:
        text = path.read_bytes()
        return None if line_state(text) is LineState.BROKEN else _tally(json.loads(text))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _tally(record: Mapping[str, Any]) -> JobTally:
    debates, tokens, dollars = record["debates"], record["tokens"], record["dollars"]
    if record["state"] not in STATES:
        raise ValueError(record["state"])
    calls = {name: record["calls"].get(name) or 0 for name in COUNTS}
    usage = {
        "calls": calls["asked"],
        **{f"{kind}_tokens": tokens.get(kind) or 0 for kind in ("input", "output", "cached")},
        "dollars": dollars or 0.0,
        "saved": record.get("saved") or 0.0,
        "seconds": record["seconds"],
        "unpriced": calls["asked"] if dollars is None else 0,
    }
    flat = {"done": debates["done"], "total": debates["total"], "calls": calls, "usage": usage}
    return _CODEC.read(JobTally, {**record, **flat})


class Tallies:
    """The tallies in a folder; a file is read again only if it changed, as a run may have thousands.

    Parameters
    ----------
    folder : Path
        `results/<experiment>/spent`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, tuple[tuple[int, int], JobTally | None]] = {}

    def read(self) -> tuple[JobTally, ...]:
        """Return the current tallies, in the order of the files' names."""
        known: dict[str, tuple[tuple[int, int], JobTally | None]] = {}
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


def tally_since(tally: JobTally, before: JobTally | None) -> JobTally:
    """Return a tally with the calls and costs after an earlier tally of the same job, `before`.

    They are zero if the job has written nothing since. State and debates stay as they are, including replayed debates.
    """
    if before is None:
        return tally
    if before.updated == tally.updated:
        nothing = dict.fromkeys(tally.calls, 0)
        return replace(tally, done=0, calls=nothing, usage=NO_USAGE, failures={}, retries={}, unread={})
    failures, retries = _less(tally.failures, before.failures), _less(tally.retries, before.retries)
    usage = tally.usage - before.usage
    usage = replace(usage.at_least(NO_USAGE), saved=usage.saved)
    # Replayed and shared calls are those of the latest run already.
    counts = {"asked": usage.calls, "failed": sum(failures.values()), "retried": sum(retries.values())}
    return replace(tally, calls={**tally.calls, **counts}, usage=usage, failures=failures, retries=retries)


def _less(counts: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    return {name: more for name, number in counts.items() if (more := number - before.get(name, 0)) > 0}


def total_of(tallies: Iterable[TallySum]) -> TallySum:
    """Add tallies up."""
    every = tuple(tallies)
    return TallySum(
        done=sum(tally.done for tally in every),
        calls=_added(tally.calls for tally in every),
        usage=sum((tally.usage for tally in every), NO_USAGE),
        failures=_added(tally.failures for tally in every),
        retries=_added(tally.retries for tally in every),
    )


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for name, number in each.items():
            total[name] = total.get(name, 0) + number
    return total


_CODEC = Codec(forms={"JobTally.unread": (unread_to_json, unread_from_json)})

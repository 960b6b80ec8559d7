"""What model servers did for an experiment (`servers/*.json`): a file for each start, written by the run that asked."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.records.tallies import Tallies

SETTLED_WITHIN = 3.0
COUNTS = ("requests", "prompt_tokens", "completion_tokens", "looked_up_tokens", "cached_tokens")


@dataclass(frozen=True, slots=True)
class Served:
    """One start of a server.

    Attributes
    ----------
    server, engine : str
        Its name in the spec; the program with its version, empty where it does not tell.
    is_own : bool
        Whether the run started it; else it ran elsewhere, and may have worked for others, too.
    seconds : float
        Until it answered.
    seeds : mapping of model entry to str
        Whether it keeps seeds: `honoured`, `ignored`, `refused` or `unclear`, as `cortexdsl check --online` says it.
    counts : mapping of count to int or None
        See `COUNTS`; None where it does not count that.
    busy : float
        Seconds in which it had something to do; looked at once a second.
    in_work : float or None
        Requests in work meanwhile, in the mean.
    peak : int
        The most that were seen in work.
    began, updated : float
        Seconds since the epoch.
    is_running : bool
        Whether the last look was not the last one.
    """

    server: str
    engine: str
    is_own: bool
    seconds: float
    seeds: Mapping[str, str]
    counts: Mapping[str, int | None]
    busy: float
    in_work: float | None
    peak: int
    began: float
    updated: float
    is_running: bool


def read_served(folder: Path) -> tuple[Served, ...]:
    """Return every start of a server, in order; files that are none are left out.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`.
    """
    found = [_read(path) for path in sorted((folder / "servers").glob("*.json"))]
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.began))


def settled(folder: Path, sleep: Callable[[float], None] = time.sleep) -> tuple[Served, ...]:
    """Return the same once a server that still runs was looked at after the last call of the jobs.

    A run looks once a second, so that this waits about as long, and three seconds at most.
    """
    asked = max((tally.updated for tally in Tallies(folder / "spent").read()), default=0.0)
    until = time.monotonic() + SETTLED_WITHIN
    while True:
        found = read_served(folder)
        if not any(one.is_running and one.updated < asked for one in found) or time.monotonic() > until:
            return found
        sleep(0.2)


def _read(path: Path) -> Served | None:
    try:
        return _served(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _served(said: Mapping[str, Any]) -> Served:
    counted = said["counted"] or {}
    mean = said.get("in_work")
    return Served(
        server=str(said["server"]),
        engine=str(said["engine"]),
        is_own=bool(said["is_own"]),
        seconds=float(said["seconds"]),
        seeds={str(one["entry"]): str(one["seed"]) for one in said["models"]},
        counts={name: None if counted.get(name) is None else int(counted[name]) for name in COUNTS},
        busy=float(said.get("busy") or 0.0),
        in_work=None if mean is None else float(mean),
        peak=int(said.get("peak") or 0),
        began=float(said["began"]),
        updated=float(said["updated"]),
        is_running=said["state"] == "running",
    )

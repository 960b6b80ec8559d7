"""The tally of one job: its progress and spending so far, in a small file that others read while it runs.

`spent/<job>.json` is written by the job alone, atomically, at most once a second and at its end. Calls, tokens and
dollars are those of all runs of the job: a new run starts from the sums of its call log.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from cortexdsl.checksums import with_checksum
from cortexdsl.core import NO_USAGE, Usage
from cortexdsl.errors import BudgetError
from cortexdsl.files import write_file
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.interface import MOST_TOKENS
from cortexdsl.numbers import counted
from cortexdsl.typed_json import json_at

SCHEMA_VERSION = 2
EVERY = 1.0
_say = logging.getLogger(__name__)
FROM_OUTSIDE = "stopped from outside"
"""The message of a job that a signal stopped."""
State = Literal["running", "waiting", "done", "failed", "stopped"]


@dataclass(slots=True)
class CallCounts:
    """Counts of calls: sent to a model, replayed from a log, shared with a call in flight, failed."""

    asked: int = 0
    replayed: int = 0
    shared: int = 0
    failed: int = 0

    def __str__(self) -> str:
        return f"{counted(self.asked, 'call')} sent, {self.replayed} replayed, {self.failed} failed"


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A job.

    Attributes
    ----------
    name : str
        Among the jobs of the experiment.
    dataset, cell, shard : str or None
        What it works on, if that is one thing.
    spec : str
        What `cortexdsl run` takes to run it again.
    digest : str
        Of what its output depends on.
    """

    name: str = "job"
    dataset: str | None = None
    cell: str | None = None
    shard: str | None = None
    spec: str = "NAME"
    digest: str = ""


class TallyWriter:
    """The tally of one job.

    Parameters
    ----------
    folder : Path or None
        The folder of the experiment's tallies; None writes none.
    job : JobInfo
    counts : CallCounts
        Of the client, of this run.
    before : Usage
        Of the job's call log when it was opened.
    now : callable
        Seconds since the epoch.
    """

    def __init__(
        self,
        folder: Path | None,
        job: JobInfo,
        counts: CallCounts,
        before: Usage = NO_USAGE,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._path = folder / (job.name.replace("/", "~") + ".json") if folder is not None else None
        self._job, self._counts, self._before, self._now = job, counts, before, now
        self._began = self._written = now()
        self._earlier = _read(self._path)
        self.debates_done = self.debates_total = 0
        self.in_flight = 0
        # Only the tally has the cached tokens of earlier runs: the index of a call log does not store them.
        cached, saved = _number(self._earlier, "tokens", "cached"), _number(self._earlier, "saved")
        self.usage = replace(before, cached_tokens=int(cached), saved=saved)
        self._is_priced = bool(before.dollars)
        self.retries: Counter[str] = _counts(self._earlier, "retries")
        self.failures: Counter[str] = _counts(self._earlier, "failures")
        if before.failed and not self._earlier:
            self.failures["unknown"] = before.failed
        self.message = ""
        self.at_end: State = "done"  # or waiting: the job ends well before its debates, which a later round continues
        self.unread: list[list[Any]] = []  # [step, what it reads, unreadable replies, replies], of debates that ended

    @property
    def job(self) -> JobInfo:
        """The job whose tally it is."""
        return self._job

    def count_earlier(self, usage: Usage) -> None:
        """Count the calls of another log, too, which an earlier run of the job has written."""
        self._before += usage
        self.usage += usage
        self._is_priced = self._is_priced or bool(usage.dollars)
        if usage.failed and not self._earlier:
            self.failures["unknown"] += usage.failed

    def debates(self, done: int, total: int) -> None:
        """Note how many debates (or judgements, or searches) are done, of how many."""
        self.debates_done, self.debates_total = done, total

    def failed(self, kind: FailureKind) -> None:
        """Note an attempt that failed and settles nothing: it is made again, now or by a later run."""
        self.retries[kind.slug] += 1

    def ended(self, usage: Usage, failure: FailureKind | None, *, is_priced: bool) -> None:
        """Note a call that was logged: its usage, whether its price is known, and how it failed, if it did."""
        self.usage += usage
        self._is_priced = self._is_priced or is_priced
        if failure is not None:
            self.failures[failure.slug] += 1

    def asked_again(self, kind: str) -> None:
        """Note that a failure of an earlier run was asked again, and counts no longer."""
        self.failures[kind] = max(0, self.failures[kind] - 1)

    def publish(self, state: State = "running") -> None:
        """Write the tally."""
        self._written = self._now()
        if self._path is None:
            return
        try:
            line = with_checksum(json.dumps(self.value(state)))
            write_file(self._path, (line.encode("ascii"), b"\n"), durable=False)
        except OSError as error:  # a full disk: nothing depends on a tally, and the log says so for itself
            _say.warning("%s: the tally cannot be written: %s", self._path, error.strerror)

    def publish_end(self, error: BaseException | None, secrets: Secrets, *, is_cancelled: bool) -> None:
        """Write the last state of the job, and why it ended early."""
        if error is None:
            self.publish(self.at_end)
            return
        self.message = FROM_OUTSIDE if is_cancelled else secrets.clean(str(error))
        self.publish("stopped" if is_cancelled or isinstance(error, BudgetError) else "failed")

    def publish_if_due(self) -> None:
        """Write the tally if the last time is a second ago."""
        if self._now() - self._written >= EVERY:
            self.publish()

    def value(self, state: State = "running") -> dict[str, Any]:
        """Return the tally as it is written."""
        seconds, began = _number(self._earlier, "seconds"), _number(self._earlier, "began")
        counts, kinds, usage = self._counts, self.failures, self.usage
        return {
            "schema_version": SCHEMA_VERSION,
            "job": self._job.name,
            "dataset": self._job.dataset,
            "cell": self._job.cell,
            "shard": self._job.shard,
            "digest": self._job.digest,
            "state": state,
            "debates": {"done": self.debates_done, "total": self.debates_total},
            "calls": {
                "asked": self._before.calls + counts.asked,
                "replayed": counts.replayed,
                "shared": counts.shared,
                "failed": kinds.total(),
                "retried": self.retries.total(),
                "in_flight": self.in_flight,
            },
            "tokens": {"input": usage.input_tokens, "output": usage.output_tokens, "cached": usage.cached_tokens},
            "dollars": usage.dollars if self._is_priced else None,
            **({"saved": usage.saved} if usage.saved else {}),
            "seconds": round(seconds + self._now() - self._began, 3),
            "failures": {kind: kinds[kind] for kind in sorted(kinds) if kinds[kind]},
            "retries": {kind: self.retries[kind] for kind in sorted(self.retries) if self.retries[kind]},
            "began": began or self._began,
            "updated": self._now(),
            "message": self.message,
            "unread": self.unread,
        }


def seconds_of(folder: Path) -> float:
    """Return the seconds that jobs ran, as their tallies say (those of older versions too)."""
    return sum(_number(_read(path), "seconds") for path in folder.glob("*.json"))


def _read(path: Path | None) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes()) if path is not None else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _number(tally: Any, *path: str) -> float:
    """Return the number at a path of keys in what may have been edited; 0 if there is none."""
    value = json_at(tally, *path)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and -MOST_TOKENS <= value <= MOST_TOKENS
    return value if is_number else 0


def _counts(tally: dict[str, Any], name: str) -> Counter[str]:
    counts = tally.get(name)
    return Counter({kind: int(_number(counts, kind)) for kind in counts} if isinstance(counts, dict) else {})

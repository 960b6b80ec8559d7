"""How far a run is: the jobs' tallies beside what is expected, as one row a cell and their sum."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from cortexdsl.records.tallies import Spending, Tally, total_of
from cortexdsl.records.tallies import since as spent_since
from cortexdsl.records.unread import MostlyUnread, mostly_unread
from cortexdsl.watch.expected import Expected, Job

SILENT_AFTER = 60.0  # seconds without news after which a running job is taken for dead: jobs write every few seconds


@dataclass(frozen=True, slots=True)
class Row:
    """One cell on one dataset.

    Attributes
    ----------
    dataset, cell : str
    state : str
        waiting, running, done, failed, stopped (by a limit or by hand), or silent: jobs that say they run but have
        said nothing for a minute.
    done, total : int
        Debates.
    spent : Spending
        Of its jobs.
    rate : float
        Calls a second.
    seconds_left : float or None
        At the pace so far; None where nothing tells.
    """

    dataset: str
    cell: str
    state: str
    done: int
    total: int
    spent: Spending
    rate: float = 0.0
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """An experiment at one moment: its rows, their sum, and what other jobs (judge, pools) asked.

    `messages` are what failed and stopped jobs said, each once, with how many said it. `earlier` is what runs
    before this one spent on the same rows, where this one is known apart. `unread` are steps of which most replies
    could not be read.
    """

    experiment: str
    rows: tuple[Row, ...]
    all: Row
    others: Spending
    running: int
    silent: tuple[str, ...]
    messages: Mapping[str, int]
    earlier: Spending = Spending()  # noqa: RUF009 - frozen
    unread: tuple[MostlyUnread, ...] = ()


def progress(
    expected: Expected,
    tallies: Iterable[Tally],
    now: float,
    since: float = 0.0,
    is_recorded: Callable[[Job], bool] = lambda job: False,
    ends: Mapping[str, int] = MappingProxyType({}),
    before: Mapping[str, Tally] = MappingProxyType({}),
) -> Progress:
    """Put tallies beside what is expected.

    Parameters
    ----------
    expected : Expected
    tallies : iterable of Tally
    now : float
        Seconds since the epoch.
    since : float
        When this run began: what a needed job said before is of an earlier run.
    is_recorded : callable
        Whether the records of a job without a tally are there (brought from elsewhere, or of an earlier version).
    ends : mapping of slug to batch
        The last batches of cells that looks have found need no more: what was not debated after it is not expected.
    before : mapping of job to Tally
        What jobs had said when this run began: calls and costs are those after that.
    """
    said = {(one.dataset, one.cell, one.shard): spent_since(one, before.get(one.job)) for one in tallies}
    earlier = []
    found: dict[tuple[str, str], list[tuple[Job, Tally | None]]] = {}
    for job in expected.jobs:
        key = job.dataset, job.slug, job.shard
        own = said.pop(key, None) or said.pop((job.dataset, job.cell, job.shard), None)
        if own is not None and own.job in before:
            earlier.append(before[own.job])
        is_old = expected.needed is not None and key in expected.needed and own is not None and own.updated < since
        if own is None and is_recorded(job):
            own = Tally(job.shard, job.dataset, job.slug, job.shard, "done", job.debates, job.debates)
        if (own is None or is_old) and job.batch > ends.get(job.slug, job.batch):
            continue
        found.setdefault((job.dataset, job.cell), []).append((job, None if is_old else own))
    needed = expected.needed
    rows = tuple(_row(dataset, cell, jobs, needed, now) for (dataset, cell), jobs in found.items())
    planned = [tally for jobs in found.values() for _, tally in jobs if tally is not None]
    # Jobs that debate a cell which the plan no longer has belong to no row; they were paid for all the same.
    others = [tally for tally in said.values() if tally.updated >= since or tally.state != "running"]
    running = [tally for tally in (*planned, *others) if tally.state == "running"]
    silent = tuple(tally.job for tally in running if is_silent(tally, now))
    ended = [tally.message for tally in planned if tally.state in ("failed", "stopped") and tally.message]
    return Progress(
        experiment=expected.experiment,
        rows=rows,
        all=_sum(rows, planned, len(running) - len(silent)),
        others=total_of(others),
        running=len(running) - len(silent),
        silent=silent,
        messages=dict(Counter(ended)),
        earlier=total_of(earlier),
        unread=mostly_unread(
            (job.cell, tally.unread) for jobs in found.values() for job, tally in jobs if tally is not None
        ),
    )


def is_silent(tally: Tally, now: float) -> bool:
    """Say whether a job that calls itself running has said nothing for too long to be believed."""
    return tally.state == "running" and now - tally.updated > SILENT_AFTER


def _row(
    dataset: str,
    cell: str,
    jobs: Sequence[tuple[Job, Tally | None]],
    needed: frozenset[tuple[str, str, str]] | None,
    now: float,
) -> Row:
    done, states, live = 0, [], []
    for job, tally in jobs:
        if needed is not None and (job.dataset, job.slug, job.shard) not in needed:
            done += job.debates
            states.append("done")
        elif tally is None:
            states.append("waiting")
        else:
            done += job.debates if tally.state == "done" else min(tally.done, job.debates)
            states.append("silent" if is_silent(tally, now) else tally.state)
            live += [tally] if states[-1] == "running" else []
    spent = total_of(tally for _, tally in jobs if tally is not None)
    total = sum(job.debates for job, _ in jobs)
    left = _left(total - done, spent, len(live)) if live else None
    return Row(dataset, cell, _state(states), done, total, spent, sum(map(_pace, live)), left)


def _state(states: Sequence[str]) -> str:
    for state in ("running", "failed", "stopped", "silent"):
        if state in states:
            return state
    return "done" if set(states) == {"done"} else "waiting"


def _pace(tally: Tally) -> float:
    return tally.calls.get("asked", 0) / tally.seconds if tally.seconds > 0 else 0.0


def _left(debates: int, spent: Spending, at_once: int) -> float | None:
    """Seconds that some debates will take where jobs go on as they did: their seconds a debate, so many at once."""
    if not debates:
        return 0.0
    if not spent.done or not spent.seconds or not at_once:
        return None
    return debates * spent.seconds / spent.done / at_once


def _sum(rows: Sequence[Row], planned: Sequence[Tally], at_once: int) -> Row:
    """Add rows up; a cell that has not begun is taken to cost as much a debate as the others do."""
    spent = total_of(planned)
    left: float | None = 0.0 if all(row.done == row.total for row in rows) else None
    mean = spent.seconds / spent.done if spent.done else None
    if left is None and at_once and mean:
        paces = [row.spent.seconds / row.spent.done if row.spent.done else mean for row in rows]
        left = sum((row.total - row.done) * pace for row, pace in zip(rows, paces, strict=True)) / at_once
    return Row(
        "", "all", _state([row.state for row in rows]), sum(row.done for row in rows), sum(row.total for row in rows),
        spent, sum(row.rate for row in rows), left,
    )  # fmt: skip


class Pace:
    """Calls a second over the last moments, from several looks: truer than the mean since a job began."""

    def __init__(self, seconds: float = 15.0) -> None:
        self._seconds = seconds
        self._seen: deque[tuple[float, dict[tuple[str, str], int]]] = deque()

    def of(self, shown: Progress, now: float) -> Progress:
        """Return a progress with the rates of the last moments."""
        asked = {(row.dataset, row.cell): row.spent.calls.get("asked", 0) for row in (*shown.rows, shown.all)}
        self._seen.append((now, asked))
        while len(self._seen) > 2 and now - self._seen[0][0] > self._seconds:
            self._seen.popleft()
        then, before = self._seen[0]
        passed = now - then
        if passed <= 0:
            return shown

        def paced(row: Row) -> Row:
            key = row.dataset, row.cell
            return replace(row, rate=max(0, asked[key] - before.get(key, 0)) / passed)

        return replace(shown, rows=tuple(map(paced, shown.rows)), all=paced(shown.all))

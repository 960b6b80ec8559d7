"""Progress of a run: one row for each cell and their sum, from the tallies of its jobs; and of trainings."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from cortexdsl.display.expected import ExpectedRun, expected_of, last_batch
from cortexdsl.display.rounds import RoundFiles, RoundProgress
from cortexdsl.errors import InputError, RecordError
from cortexdsl.models.control import ControlFile, Pause
from cortexdsl.plan.job_files import DebateJob
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.run_record import has_ended, read_run
from cortexdsl.plan.record import read_plan
from cortexdsl.records.tallies import JobTally, Tallies, TallySum, tally_since, total_of
from cortexdsl.records.unread import UnreadStep, mostly_unread_steps
from cortexdsl.symlinks import opened_results

SILENT_AFTER = 60.0  # seconds without a new tally until a running job counts as silent; jobs write every few seconds


@dataclass(frozen=True, slots=True)
class CellProgress:
    """One cell on one dataset.

    Attributes
    ----------
    dataset, cell : str
    state : str
        waiting, running, paused, done, failed, stopped (by a limit or by the user), or silent: its jobs are marked as
        running but have written nothing for a minute.
    done, total : int
        Debates.
    spent : TallySum
        Of its jobs.
    rate : float
        Calls a second of the jobs that run, in the mean since they began.
    seconds_left : float or None
        At the present rate; None if unknown.
    """

    dataset: str
    cell: str
    state: str
    done: int
    total: int
    spent: TallySum
    rate: float = 0.0
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class RunProgress:
    """An experiment at one moment: its rows, their sum, and the calls of other jobs (judge, pools).

    `messages` counts the different messages of failed and stopped jobs. `unread` lists the steps most of whose replies
    could not be read. `paused` says since when the experiment is paused, and by whom; None if it is not. `round` is the
    round of files, until all debates are done.
    """

    experiment: str
    rows: tuple[CellProgress, ...]
    all: CellProgress
    others: TallySum
    running: int
    silent: tuple[str, ...]
    messages: Mapping[str, int]
    unread: tuple[UnreadStep, ...] = ()
    paused: Pause | None = None
    round: RoundProgress | None = None


def with_pause(shown: RunProgress, paused: Pause | None) -> RunProgress:
    """Return a progress whose running rows are paused, if the experiment is."""
    if paused is None:
        return shown

    def row(each: CellProgress) -> CellProgress:
        return replace(each, state="paused", rate=0.0, seconds_left=None) if each.state == "running" else each

    return replace(shown, rows=tuple(map(row, shown.rows)), all=row(shown.all), paused=paused)


def progress(
    expected: ExpectedRun,
    tallies: Iterable[JobTally],
    now: float,
    since: float = 0.0,
    is_recorded: Callable[[DebateJob], bool] = lambda job: False,
    end: int | None = None,
    before: Mapping[str, JobTally] = MappingProxyType({}),
) -> RunProgress:
    """Return the progress of a run from the tallies of its jobs.

    Parameters
    ----------
    expected : ExpectedRun
    tallies : iterable of JobTally
    now : float
        Seconds since the epoch.
    since : float
        When this run began; older tallies of needed jobs belong to earlier runs.
    is_recorded : callable
        Whether the records of a job without a tally exist (copied, or of an earlier version).
    end : int or None
        The last batch, if it is known; jobs of later ones are not expected.
    before : mapping of job to JobTally
        The tallies at the start of this run; calls and costs are counted from there.
    """
    tally_of = {(one.dataset, one.cell, one.shard): tally_since(one, before.get(one.job)) for one in tallies}
    jobs_of_cell: dict[tuple[str, str], list[tuple[DebateJob, JobTally | None]]] = {}
    for job in expected.jobs:
        key = job.key
        own = tally_of.pop(key, None) or tally_of.pop((job.dataset, job.cell, job.shard), None)
        is_old = expected.needed is not None and key in expected.needed and own is not None and own.updated < since
        if own is None and is_recorded(job):
            own = JobTally(
                job=job.shard, dataset=job.dataset, cell=job.slug, shard=job.shard, state="done", done=job.debates,
                total=job.debates,
            )  # fmt: skip
        if (own is None or is_old) and job.batch > (end or job.batch):
            continue
        if is_old and own is not None:  # what it has spent counts, unless the run shows it as that of earlier runs
            own = None if own.job in before else replace(own, state="waiting", done=0)
        jobs_of_cell.setdefault((job.dataset, job.cell), []).append((job, own))
    needed = expected.needed
    rows = tuple(_row(dataset, cell, jobs, needed, now) for (dataset, cell), jobs in jobs_of_cell.items())
    planned = [tally for jobs in jobs_of_cell.values() for _, tally in jobs if tally is not None]
    # Jobs of cells that the plan no longer has belong to no row, but their calls were paid for.
    others = [tally for tally in tally_of.values() if tally.updated >= since or tally.state != "running"]
    running = [tally for tally in (*planned, *others) if tally.state == "running"]
    silent = tuple(tally.job for tally in running if is_silent(tally, now))
    ended = [tally.message for tally in planned if tally.state in ("failed", "stopped") and tally.message]
    return RunProgress(
        experiment=expected.experiment,
        rows=rows,
        all=_sum(rows, planned, len(running) - len(silent)),
        others=total_of(others),
        running=len(running) - len(silent),
        silent=silent,
        messages=dict(Counter(ended)),
        unread=mostly_unread_steps(
            (job.cell, tally.unread) for jobs in jobs_of_cell.values() for job, tally in jobs if tally is not None
        ),
    )


def is_silent(tally: JobTally, now: float) -> bool:
    """Return whether a job that is marked as running has written nothing for too long."""
    return tally.state == "running" and now - tally.updated > SILENT_AFTER


def _row(
    dataset: str,
    cell: str,
    jobs: Sequence[tuple[DebateJob, JobTally | None]],
    needed: frozenset[tuple[str, str, str]] | None,
    now: float,
) -> CellProgress:
    done, states, live = 0, [], []
    for job, tally in jobs:
        if needed is not None and job.key not in needed:
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
    return CellProgress(dataset, cell, _state(states), done, total, spent, sum(map(_pace, live)), left)


def _state(states: Sequence[str]) -> str:
    for state in ("running", "failed", "stopped", "silent"):
        if state in states:
            return state
    return "done" if set(states) == {"done"} else "waiting"


def _pace(tally: JobTally) -> float:
    return tally.calls.get("asked", 0) / tally.usage.seconds if tally.usage.seconds > 0 else 0.0


def _left(debates: int, spent: TallySum, at_once: int) -> float | None:
    """Return the seconds that the remaining debates take at the present seconds per debate and jobs at once."""
    if not debates:
        return 0.0
    if not spent.done or not spent.usage.seconds or not at_once:
        return None
    return debates * spent.usage.seconds / spent.done / at_once


def _sum(rows: Sequence[CellProgress], planned: Sequence[JobTally], at_once: int) -> CellProgress:
    """Add rows up; a cell that has not begun is assumed to take the mean seconds per debate of the others."""
    spent = total_of(planned)
    left: float | None = 0.0 if all(row.done == row.total for row in rows) else None
    mean = spent.usage.seconds / spent.done if spent.done else None
    if left is None and at_once and mean:
        paces = [row.spent.usage.seconds / row.spent.done if row.spent.done else mean for row in rows]
        left = sum((row.total - row.done) * pace for row, pace in zip(rows, paces, strict=True)) / at_once
    return CellProgress(
        "", "all", _state([row.state for row in rows]), sum(row.done for row in rows), sum(row.total for row in rows),
        spent, sum(row.rate for row in rows), left,
    )  # fmt: skip


LOOK_EVERY = 0.5  # seconds between two looks at the tallies


class WatchedRun:
    """Looks at one experiment again and again: for the display of its run, or from another terminal.

    Parameters
    ----------
    expected : ExpectedRun
    since : float
        When the run began, in seconds since the epoch: earlier tallies belong to earlier runs. If 0, the record of the
        last run says when it began and what it had to do, and the costs of all runs count.
    clock : callable
        Seconds since the epoch.
    """

    def __init__(self, expected: ExpectedRun, since: float = 0.0, clock: Callable[[], float] = time.time) -> None:
        record = None if since else read_run(expected.layout)
        if record and not any(job.batch for job in expected.jobs):  # else looks decide later which jobs are needed
            outputs = {f"{expected.layout.root}/{path}" for path in record.outputs}
            expected = expected.needing(outputs, and_missing=True)  # as the display of that run counts them
        self.expected = expected
        self._since = record.began / 1e9 if record else since
        self._clock = clock
        self._tallies = Tallies(expected.tallies)
        self._rounds = RoundFiles(expected.layout)
        self._control = ControlFile(expected.tallies, clock)
        self._before = {tally.job: tally for tally in self._tallies.read()} if since else {}
        self._shown: RunProgress | None = None
        self._looked = -float("inf")

    def look(self, *, is_last: bool = False) -> RunProgress:
        """Return how far it is, at most half a second ago."""
        now = self._clock()
        if self._shown is None or is_last or now - self._looked >= LOOK_EVERY:
            self._looked = now
            tallies, end = self._tallies.read(), last_batch(self.expected)
            if has_ended(self.expected.layout):  # a job that was killed could not say so
                tallies = tuple(replace(one, state="stopped") if one.state == "running" else one for one in tallies)
            current = progress(self.expected, tallies, now, self._since, self._is_recorded, end, self._before)
            if current.all.state != "done":
                current = replace(current, round=self._rounds.look())
            self._shown = with_pause(current, self._control.now.paused)
        return self._shown

    def _is_recorded(self, job: DebateJob) -> bool:
        try:
            written = Path(job.records(self.expected.layout)).stat().st_mtime
        except OSError:
            return False
        return written >= self._since or self.expected.needed is None


def layout_in(experiment: str) -> Layout:
    """Return the paths of an experiment of this folder, from its name or the folder of its results."""
    here = Path.cwd()
    place = Path(experiment).relative_to(here) if Path(experiment).is_relative_to(here) else Path(experiment)
    if place.is_absolute():
        raise InputError(
            f"{experiment}: an experiment of another folder\n    change to that folder first: it is {here}"
        )
    name = place.as_posix().removeprefix("results/")
    return Layout(opened_results(Path(f"results/{name}")).as_posix())


def expected_in(experiment: str) -> ExpectedRun:
    """Return the debate jobs of an experiment, from its results alone.

    Parameters
    ----------
    experiment : str
        Its name, or the folder of its results.

    Raises
    ------
    RecordError
        It has not begun, or its plan cannot be read.
    """
    layout = layout_in(experiment)
    name = layout.root.removeprefix("results/")
    if Path(layout.plan).exists():
        return expected_of(read_plan(Path(layout.plan)))
    tallies = Tallies(Path(layout.spent)).read()
    if not tallies and read_run(layout) is not None:  # stopped before the plan was written
        return ExpectedRun(name, ())
    if not tallies:
        folders = (path.parent for path in Path("results").rglob("plan.json"))
        began = sorted(
            folder.relative_to("results").as_posix() for folder in folders if not folder.name.startswith(".")
        )
        known = f"begun here: {', '.join(began)}" if began else "no experiment has begun in this folder"
        raise RecordError(f"{layout.root}: no run has started there\n    {known}; start one: cortexdsl run NAME")
    # There is no plan yet: it is written while the first jobs already run.
    jobs = (DebateJob(t.dataset or "", t.cell or "", t.cell or "", t.shard or "", t.total) for t in tallies if t.shard)
    return ExpectedRun(name, tuple(jobs))


TRAINING_SILENT_AFTER = 600.0  # seconds; validating a large model takes minutes


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """Progress of one phase of a training.

    Attributes
    ----------
    name : str
        Training and phase: `acc 1-critic`.
    state : str
        training, merging (weights are written), done, or silent (nothing was written for ten minutes).
    step, steps : int
    loss : float or None
        Loss of the last step.
    """

    name: str
    state: str
    step: int
    steps: int
    loss: float | None

    def line(self) -> str:
        """Return it as one line."""
        loss = "" if self.loss is None else f", loss {self.loss:.4g}"
        return f"{self.name}: {self.state}, step {self.step} of {self.steps}{loss}"


def trainings(layout: Layout, now: float | None = None) -> Sequence[PhaseProgress]:
    """Return the phases that have begun, in the order of their files' names.

    Parameters
    ----------
    layout : Layout
    now : float or None
        Seconds since the epoch.
    """
    now = time.time() if now is None else now
    phases = []
    for path in sorted(Path(layout.root, "train").glob("*/*/progress.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # it is being replaced; the next look reads it
            continue
        is_silent = record["state"] != "done" and now - record["updated"] > TRAINING_SILENT_AFTER
        name = f"{path.parent.parent.name} {path.parent.name}"
        phases.append(
            PhaseProgress(
                name, "silent" if is_silent else record["state"], record["step"], record["steps"], record["loss"]
            )
        )
    return phases

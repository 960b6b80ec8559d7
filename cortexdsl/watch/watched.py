"""One experiment, looked at again and again: by the display of its run, or from another terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from cortexdsl.errors import RecordError
from cortexdsl.plan import Layout
from cortexdsl.plan.kept.store import read_plan
from cortexdsl.records.tallies import Tallies
from cortexdsl.watch.expected import Expected, Job, expected_from, last_batches
from cortexdsl.watch.progress import Pace, Progress, progress

EVERY = 0.5  # seconds between two looks at the tallies


class Watched:
    """An experiment that is watched.

    Parameters
    ----------
    expected : Expected
    since : float
        When the run began, in seconds since the epoch: what jobs have spent by now is of earlier runs. 0 looks at all
        that ever ran.
    clock : callable
        Seconds since the epoch.
    """

    def __init__(self, expected: Expected, since: float = 0.0, clock: Callable[[], float] = time.time) -> None:
        self.expected = expected
        self._since = since
        self._clock = clock
        self._tallies = Tallies(expected.tallies)
        self._before = {tally.job: tally for tally in self._tallies.read()} if since else {}
        self._pace = Pace()
        self._shown: Progress | None = None
        self._looked = -float("inf")

    def look(self, *, is_last: bool = False) -> Progress:
        """Return how far it is, as of a moment ago."""
        now = self._clock()
        if self._shown is None or is_last or now - self._looked >= EVERY:
            self._looked = now
            tallies, ends = self._tallies.read(), last_batches(self.expected)
            found = progress(self.expected, tallies, now, self._since, self._is_recorded, ends, self._before)
            self._shown = self._pace.of(found, now)
        return self._shown

    def _is_recorded(self, job: Job) -> bool:
        try:
            written = Path(job.records(self.expected.layout)).stat().st_mtime
        except OSError:
            return False
        return written >= self._since or self.expected.needed is None


def layout_in(experiment: str) -> Layout:
    """Return where the files of an experiment lie, from its name or the folder of its results."""
    name = experiment.rstrip("/").removeprefix("./").removeprefix("results/")
    return Layout(f"results/{name}")


def expected_in(experiment: str) -> Expected:
    """Return what an experiment is expected to do, from its results alone.

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
        return expected_from(read_plan(Path(layout.plan)))
    tallies = Tallies(Path(layout.ledgers)).read()
    if not tallies:
        began = sorted(path.parent.relative_to("results").as_posix() for path in Path("results").rglob("plan.json"))
        known = f"begun here: {', '.join(began)}" if began else "no experiment has begun in this folder"
        raise RecordError(f"{layout.root}: nothing has begun there\n    {known}; start one: cortexdsl run NAME")
    # The plan is written while the first jobs run already.
    jobs = (Job(t.dataset or "", t.cell or "", t.cell or "", t.shard or "", t.total) for t in tallies if t.shard)
    return Expected(name, tuple(jobs))

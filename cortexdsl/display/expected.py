"""The debates that a run will do, job by job, from a compiled plan or from plan.json."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cortexdsl.errors import RecordError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_files import DebateJob, debate_jobs
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.store import AnyPlan, last_look


@dataclass(frozen=True, slots=True)
class ExpectedRun:
    """The debate jobs of an experiment, in the plan's order.

    Attributes
    ----------
    experiment : str
    jobs : tuple of DebateJob
    needed : frozenset of (dataset, slug, shard) or None
        The jobs of this run, if known: the others were finished before it.
    root : str
        The folder of its files; by default the one of its name in results/.
    """

    experiment: str
    jobs: tuple[DebateJob, ...]
    needed: frozenset[tuple[str, str, str]] | None = None
    root: str = ""

    @property
    def layout(self) -> Layout:
        """The paths of the experiment's files."""
        return Layout(self.root or f"results/{self.experiment}")

    @property
    def tallies(self) -> Path:
        """The folder of its jobs' tallies."""
        return Path(self.layout.spent)

    def needing(self, outputs: Collection[str], *, and_missing: bool) -> ExpectedRun:
        """Return the run with those jobs as needed whose records are among some outputs, or that are missing."""
        paths = ((job, job.records(self.layout)) for job in self.jobs)
        needed = (job.key for job, path in paths if path in outputs or (and_missing and not Path(path).exists()))
        return replace(self, needed=frozenset(needed))


def expected_of(plan: AnyPlan, root: str = "") -> ExpectedRun:
    """Return the debate jobs of a plan; `root` as in `ExpectedRun`."""
    return ExpectedRun(plan.experiment, tuple(debate_jobs(plan)), root=root)


def announce(plans: Sequence[Plan], jobs: Iterable[Any]) -> list[ExpectedRun]:
    """Return the debate jobs of each plan, and which of them are among the jobs that Snakemake will run.

    With `stopping`, later batches join the graph of jobs only after a look.
    """
    outputs = {str(path) for job in jobs for path in job.output}
    return [expected_of(plan).needing(outputs, and_missing=plan.stopping is not None) for plan in plans]


def last_batch(expected: ExpectedRun) -> int | None:
    """Return the last batch that is debated, as the looks decided; None if they have not decided it."""
    if not any(job.batch for job in expected.jobs):
        return None
    try:
        look = last_look(expected.layout)
    except RecordError:  # the workflow reports it when it reads the look
        return None
    return look["batch"] if look is not None and look["decided"] else None

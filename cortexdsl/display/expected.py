"""The debates that a run will do, job by job, from a compiled plan or from plan.json."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.errors import RecordError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.store import AnyPlan, read_look
from cortexdsl.plan.training import slug_of


@dataclass(frozen=True, slots=True)
class DebateJob:
    """A debate job: `cell` is the name of its cell, `slug` the cell's name in paths, `debates` their number.

    If looks may end the experiment early, `batch` is the look after the job, from 1; otherwise 0. `phase` is the
    training and phase that learn from the debates, or None.
    """

    dataset: str
    cell: str
    slug: str
    shard: str
    debates: int
    batch: int = 0
    phase: tuple[str, str] | None = None

    def records(self, layout: Layout) -> str:
        """Return the path of its records."""
        if self.phase is not None:
            return layout.trajectories(*self.phase, self.shard)
        return layout.debates(self.dataset, self.slug, self.shard)


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


def expected_of(plan: AnyPlan, needed: Iterable[tuple[str, str, str]] | None = None, root: str = "") -> ExpectedRun:
    """Return the debate jobs of a plan, and which of them are needed; `root` as in `ExpectedRun`."""
    return ExpectedRun(plan.experiment, tuple(_jobs(plan)), None if needed is None else frozenset(needed), root)


def _jobs(plan: AnyPlan) -> Iterator[DebateJob]:
    for training in plan.trainings:
        for phase in training.phases:
            name, slug = f"train {training.name} {phase.label}", slug_of(training.name, phase.label)
            for one in training.shards:
                place, debates = (training.dataset, name, slug, one.label), one.end - one.first
                yield DebateJob(*place, debates, phase=(training.name, phase.label))
    for fitted in {(each.label, each.cell): each for each in plan.learned}.values():
        slug = next(cell.slug for cell in plan.cells if fitted.cell in (cell.name, *cell.aliases))
        for one in fitted.shards:
            yield DebateJob(fitted.label, f"{fitted.cell}, to fit", slug, one.label, one.end - one.first)
    for dataset, cut in plan.shards.items():
        for cell in plan.cells:
            for one in cut:
                batch = one.number if plan.stopping else 0
                yield DebateJob(dataset, cell.name, cell.slug, one.label, one.end - one.first, batch)


def announce(plans: Sequence[Plan], jobs: Iterable[Any]) -> list[ExpectedRun]:
    """Return the debate jobs of each plan, and which of them are among the jobs that Snakemake will run."""
    needed: dict[str, set[tuple[str, str, str]]] = {plan.experiment: set() for plan in plans}
    learning = {(plan.experiment, each.name): each.dataset for plan in plans for each in plan.trainings}
    for job in jobs:
        if job.rule.name == "debate":
            given = job.wildcards
            needed[given.experiment].add((given.dataset, given.cell, given.shard))
        elif job.rule.name == "trajectories":
            given = job.wildcards
            label = learning[given.experiment, given.training]
            needed[given.experiment].add((label, slug_of(given.training, given.phase), given.shard))
    for plan in plans:
        if plan.stopping is not None:  # later batches join the graph of jobs only after a look
            needed[plan.experiment] |= {
                (job.dataset, job.slug, job.shard)
                for job in expected_of(plan).jobs
                if not Path(plan.layout.debates(job.dataset, job.slug, job.shard)).exists()
            }
    return [expected_of(plan, needed[plan.experiment]) for plan in plans]


def last_batches(expected: ExpectedRun) -> dict[str, int]:
    """Return the last batch of each cell (by slug) that needs no more debates, as the looks decided."""
    ends: dict[str, int] = {}
    slugs = {job.slug for job in expected.jobs if job.batch}
    batch = 1
    while slugs - ends.keys() and Path(expected.layout.look(batch)).exists():
        try:
            look = read_look(Path(expected.layout.look(batch)))
        except RecordError:  # the workflow reports it when it reads the look
            break
        live = set() if look["decided"] else set(look.get("live", slugs))
        ends |= dict.fromkeys(slugs - live - ends.keys(), batch)
        batch += 1
    return ends

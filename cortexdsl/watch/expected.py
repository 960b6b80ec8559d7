"""What a run is expected to do: the debates of every job, from a compiled plan or from plan.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.errors import RecordError
from cortexdsl.plan import Layout, Plan
from cortexdsl.plan.kept.looks import read_look
from cortexdsl.plan.training.phases import slug_of


@dataclass(frozen=True, slots=True)
class Job:
    """A debate job: `cell` is the cell's name, `slug` what it is called in paths, `debates` their number.

    `batch` is the look that comes after it, from 1, where looks may end the experiment early; else 0. Of debates to
    learn from `phase` says which training and phase.
    """

    dataset: str
    cell: str
    slug: str
    shard: str
    debates: int
    batch: int = 0
    phase: tuple[str, str] | None = None

    def records(self, layout: Layout) -> str:
        """Where what it writes lies."""
        if self.phase is not None:
            return layout.trajectories(*self.phase, self.shard)
        return layout.debates(self.dataset, self.slug, self.shard)


@dataclass(frozen=True, slots=True)
class Expected:
    """The debate jobs of an experiment, in the plan's order.

    Attributes
    ----------
    experiment : str
    jobs : tuple of Job
    needed : frozenset of (dataset, slug, shard) or None
        Those that this run does, where that is known: the others were finished before it.
    root : str
        Where its files lie; by default the folder of its name under results/.
    """

    experiment: str
    jobs: tuple[Job, ...]
    needed: frozenset[tuple[str, str, str]] | None = None
    root: str = ""

    @property
    def layout(self) -> Layout:
        """Where the experiment's files lie."""
        return Layout(self.root or f"results/{self.experiment}")

    @property
    def tallies(self) -> Path:
        """The folder of its jobs' tallies."""
        return Path(self.layout.ledgers)


def expected_of(plan: Plan, needed: Iterable[tuple[str, str, str]] | None = None) -> Expected:
    """Return what a plan's run will do, as far as its jobs are needed."""
    jobs = tuple(
        Job(dataset, cell.name, cell.slug, shard.label, shard.end - shard.first, shard.number if plan.stopping else 0)
        for dataset, shards in plan.shards.items()
        for cell in plan.cells
        for shard in shards
    )
    learned = (
        _to_learn(training.task.label, training.name, phase.label, shard.label, shard.end - shard.first)
        for training in plan.trainings
        for phase in training.phases
        for shard in training.shards
    )
    which = None if needed is None else frozenset(needed)
    return Expected(plan.experiment, (*learned, *jobs), which)


def _to_learn(dataset: str, training: str, phase: str, shard: str, debates: int) -> Job:
    return Job(dataset, f"train {training} {phase}", slug_of(training, phase), shard, debates, phase=(training, phase))


def announce(plans: Sequence[Plan], jobs: Iterable[Any]) -> list[Expected]:
    """Return what a run is about to do, of Snakemake's jobs that are needed: the display is told before they start."""
    needed: dict[str, set[tuple[str, str, str]]] = {plan.experiment: set() for plan in plans}
    learning = {(plan.experiment, each.name): each.task.label for plan in plans for each in plan.trainings}
    for job in jobs:
        if job.rule.name == "debate":
            given = job.wildcards
            needed[given.experiment].add((given.dataset, given.cell, given.shard))
        elif job.rule.name == "trajectories":
            given = job.wildcards
            label = learning[given.experiment, given.training]
            needed[given.experiment].add((label, slug_of(given.training, given.phase), given.shard))
    for plan in plans:
        if plan.stopping is not None:  # later batches join the graph of jobs only when a look has asked for them
            needed[plan.experiment] |= {
                (job.dataset, job.slug, job.shard)
                for job in expected_of(plan).jobs
                if not Path(plan.layout.debates(job.dataset, job.slug, job.shard)).exists()
            }
    return [expected_of(plan, needed[plan.experiment]) for plan in plans]


def last_batches(expected: Expected) -> dict[str, int]:
    """Return the cells, by slug, that looks have found need no more debates, each with its last batch."""
    ends: dict[str, int] = {}
    slugs = {job.slug for job in expected.jobs if job.batch}
    batch = 1
    while slugs - ends.keys() and Path(expected.layout.look(batch)).exists():
        try:
            look = read_look(Path(expected.layout.look(batch)))
        except RecordError:  # the workflow says so when it reads it
            break
        live = set() if look["decided"] else set(look.get("live", slugs))
        ends |= dict.fromkeys(slugs - live - ends.keys(), batch)
        batch += 1
    return ends


def expected_from(record: Mapping[str, Any], root: str = "") -> Expected:
    """Return what the plan of a plan.json does; `root` as in `Expected`."""
    jobs = tuple(
        Job(
            dataset,
            cell["cell"],
            cell["slug"],
            shard["label"],
            shard["end"] - shard["first"],
            shard["number"] if record.get("stopping") else 0,
        )
        for dataset, shards in record["shards"].items()
        for cell in record["cells"]
        for shard in shards
    )
    learned = (
        _to_learn(of["dataset"], of["training"], phase["phase"], shard["label"], shard["end"] - shard["first"])
        for of in record.get("trainings", ())
        for phase in of["phases"]
        for shard in of["shards"]
    )
    return Expected(record["experiment"], (*learned, *jobs), root=root)

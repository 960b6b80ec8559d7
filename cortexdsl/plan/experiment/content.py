"""What the plan of an experiment holds, and how its parts are found by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from cortexdsl.errors import InputError
from cortexdsl.plan.parts.judging import Judging
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.plan.parts.shards import Shard, find
from cortexdsl.plan.parts.whatif import Whatif
from cortexdsl.plan.training.phases import Training
from cortexdsl.protocols.prompts.templates import Templates
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Cell, Family, Limits, Model, Question, StoppingRule

Found = TypeVar("Found")


@dataclass(frozen=True)
class Content:
    """A compiled spec: its parts, and the ways to find them.

    Attributes
    ----------
    experiment : str
        Its name: the spec's path under specs/ without the ending.
    spec_path : str
        The spec, as it was named.
    title : str
    seed, replicates : int
    tasks : mapping of dataset label to Task
    paths : mapping of dataset label to the files it is read from
    cells : tuple of Cell
        Each once; grid points whose settings repeat another's are its aliases.
    shards : mapping of dataset label to shards
    families : tuple of Family
    hypotheses : tuple of str
    metrics : tuple of str
    limits : Limits
    analysis : mapping
        Other settings of the analysis, as the spec has them.
    judging : Judging or None
        Who judges the answers of which datasets, where `judged` is asked for.
    knowledge : mapping
        Knowledge sources of the spec, by name.
    servers : mapping
        Model servers that the spec declares, by name.
    models : mapping of name to Model
        Entries of the spec: a similarity may name one.
    templates : Templates
        As they were when the spec was compiled.
    reply_tokens : int
        Assumed length of a reply, for the estimate.
    stopping : StoppingRule or None
        Where the experiment may stop early: a shard is then a batch, and its number the look's.
    whatifs : tuple of Whatif
        Counterfactuals that the spec asks for.
    trainings : tuple of Training
        What learns from debates.
    """

    experiment: str
    spec_path: str
    title: str
    seed: int
    replicates: int
    tasks: Mapping[str, Task]
    paths: Mapping[str, tuple[str, ...]]
    cells: tuple[Cell, ...]
    shards: Mapping[str, tuple[Shard, ...]]
    families: tuple[Family, ...]
    hypotheses: tuple[str, ...]
    metrics: tuple[str, ...]
    limits: Limits
    analysis: Mapping[str, Any]
    judging: Judging | None
    knowledge: Mapping[str, Any]
    servers: Mapping[str, Any]
    models: Mapping[str, Model]
    templates: Templates = field(compare=False, repr=False)
    reply_tokens: int
    stopping: StoppingRule | None = None
    whatifs: tuple[Whatif, ...] = ()
    trainings: tuple[Training, ...] = ()

    @cached_property
    def layout(self) -> Layout:
        """Where its files lie."""
        return Layout(f"results/{self.experiment}")

    @property
    def spec_name(self) -> str:
        """What `cortexdsl run` takes for this spec: its name in specs/, else its path."""
        return self.experiment if self.spec_path == f"specs/{self.experiment}.yaml" else self.spec_path

    @cached_property
    def _by_slug(self) -> dict[str, Cell]:
        return {cell.slug: cell for cell in self.cells}

    @cached_property
    def _by_name(self) -> dict[str, Cell]:
        return {name: cell for cell in self.cells for name in (cell.name, *cell.aliases)}

    def cell(self, slug: str) -> Cell:
        """Return the cell of a slug.

        Raises
        ------
        InputError
            There is none.
        """
        return known(self._by_slug, slug, f"{self.spec_path}: there is no cell")

    def cell_named(self, name: str) -> Cell:
        """Return the cell of a name or alias."""
        return known(self._by_name, name, f"{self.spec_path}: there is no cell")

    def task(self, dataset: str) -> Task:
        """Return the task of a dataset's label."""
        return known(self.tasks, dataset, f"{self.spec_path}: there is no dataset")

    def shard(self, dataset: str, label: str) -> Shard:
        """Return a shard by its label."""
        self.task(dataset)
        found = find(self.shards[dataset], label)
        if found is None:
            raise InputError(f"{self.spec_path}: dataset {dataset} has no shard {label!r}")
        return found

    def training(self, name: str) -> Training:
        """Return a training by its name."""
        named = {training.name: training for training in self.trainings}
        return known(named, name, f"{self.spec_path}: there is no training")

    def budget_of(self, cell: Cell) -> Cell | None:
        """Return the cell whose budget a cell is matched to."""
        return self.cell_named(cell.match.cell) if cell.match else None

    def is_judged(self, dataset: str) -> bool:
        """Say whether a judge is asked about the answers to a dataset."""
        return self.judging is not None and dataset in self.judging.datasets

    @property
    def is_racing(self) -> bool:
        """Say whether cells whose comparisons are decided are debated no more."""
        return self.stopping is not None and self.stopping.rule == "racing"

    @property
    def jobs(self) -> int:
        """How many jobs debate, where the experiment does not stop early."""
        return sum(len(shards) for shards in self.shards.values()) * len(self.cells)

    @cached_property
    def batches(self) -> int:
        """The number of looks where the experiment does not stop early."""
        return max(shard.number for shards in self.shards.values() for shard in shards)

    def questions(self, dataset: str, shard: Shard) -> Sequence[Question]:
        """The questions of a shard, in order."""
        return self.task(dataset).questions[shard.first : shard.end]

    def question_ids(self, batches: int | None = None) -> dict[str, list[str]]:
        """The ids of every dataset's questions: of all, or of those in the first so many batches."""
        ids = {label: [question.id for question in task.questions] for label, task in self.tasks.items()}
        if batches is None:
            return ids
        ends = {label: max(s.end for s in shards if s.number <= batches) for label, shards in self.shards.items()}
        return {label: found[: ends[label]] for label, found in ids.items()}


def known(values: Mapping[str, Found], name: str, complaint: str) -> Found:
    """Return the value of a name.

    Raises
    ------
    InputError
        There is none; it says which names there are.
    """
    try:
        return values[name]
    except KeyError:
        raise InputError(f"{complaint} {name!r}; there are: {', '.join(values)}") from None

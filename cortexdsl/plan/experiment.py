"""The plan of an experiment: what its spec means, as one frozen value that rules and verbs read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from cortexdsl.claims.parser import parse_claim
from cortexdsl.core import (
    VERIFIER,
    Cell,
    Dataset,
    Engine,
    Family,
    KnowledgeSource,
    Limits,
    Model,
    Question,
    StoppingRule,
    in_stage,
    of_step,
)
from cortexdsl.core.metrics import RANKING_METRICS, TOOL_METRICS
from cortexdsl.engine.methods import learned_of, pool_sources, stages_of
from cortexdsl.errors import InputError
from cortexdsl.models.known_models import parameters_per_token
from cortexdsl.plan.digests import digest, fit_digests, method_digest
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.models import tool_sources
from cortexdsl.plan.parts import DatasetFacts, Judging, Labelling, Learned, Permission, Tournament, Whatif
from cortexdsl.plan.record import PlannedCells
from cortexdsl.plan.shards import Shard, find, first_questions
from cortexdsl.plan.training import Training
from cortexdsl.tasks.task import Task
from cortexdsl.templates.templates import Templates

Value = TypeVar("Value")
Named = TypeVar("Named", Learned, Training, Model)


@dataclass(frozen=True)
class Plan(PlannedCells):
    """A compiled spec: what it contains, what each kind of result depends on, which files its jobs read and write.

    A digest covers everything that one kind of result depends on: a job runs again if its digest has changed.

    Attributes
    ----------
    experiment : str
        Its name: the spec's path below specs/ without the ending.
    spec_path : str
        The spec, as the user named it.
    title : str
    seed, replicates : int
    tasks : mapping of dataset label to Task
    datasets : mapping of dataset label to Dataset
        Where the questions of each task come from.
    cells : tuple of Cell
        Each once; grid points with the settings of another cell are its aliases.
    shards : mapping of dataset label to shards
    families : tuple of Family
    hypotheses : tuple of str
    metrics : tuple of str
    limits : Limits
    analysis : mapping
        Other settings of the analysis, as in the spec.
    judging : Judging or None
        The judge and the datasets that it judges, if the spec asks for `judged`.
    knowledge : mapping of name to KnowledgeSource
    servers : mapping
        Model servers that the spec declares, by name.
    engines : mapping of name to Engine
        Those that answer models of the cells.
    models : mapping of name to Model
        Entries of the spec: a similarity may name one.
    templates : Templates
        As they were when the spec was compiled.
    stopping : StoppingRule or None
        If the experiment may stop early: a shard is then a batch, and its number is that of the look after it.
    whatifs : tuple of Whatif
        Counterfactuals of the spec.
    trainings : tuple of Training
        Models that learn from debates.
    learned : tuple of Learned
        Functions that are fitted on debates about other questions.
    permissions : tuple of Permission
        What it does beyond asking models of known providers.
    labelling : Labelling or None
        The labels of turns, if the spec has some.
    facts : mapping of dataset label to DatasetFacts
        Of the questions as they were compiled: a job that loads the plan declares them without reading the data.
    spec_files : tuple of str
        The spec and the files that it extends, the spec last.
    """

    experiment: str
    spec_path: str
    title: str
    seed: int
    replicates: int
    tasks: Mapping[str, Task]
    datasets: Mapping[str, Dataset]
    cells: tuple[Cell, ...]
    shards: Mapping[str, tuple[Shard, ...]]
    families: tuple[Family, ...]
    hypotheses: tuple[str, ...]
    metrics: tuple[str, ...]
    limits: Limits
    analysis: Mapping[str, Any]
    judging: Judging | None
    knowledge: Mapping[str, KnowledgeSource]
    servers: Mapping[str, Any]
    models: Mapping[str, Model]
    templates: Templates = field(compare=False, repr=False)
    stopping: StoppingRule | None = None
    whatifs: tuple[Whatif, ...] = ()
    trainings: tuple[Training, ...] = ()
    learned: tuple[Learned, ...] = ()
    permissions: tuple[Permission, ...] = ()
    labelling: Labelling | None = None
    facts: Mapping[str, DatasetFacts] = field(default_factory=dict)
    spec_files: tuple[str, ...] = ()
    engines: Mapping[str, Engine] = field(default_factory=dict)
    tournament: Tournament | None = None

    @cached_property
    def layout(self) -> Layout:
        """Paths of its files."""
        return Layout(f"results/{self.experiment}")

    @property
    def spec_name(self) -> str:
        """The name by which `cortexdsl run` knows this spec: its name in specs/, else its path."""
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
            No cell has this slug.
        """
        return _look_up(self._by_slug, slug, f"{self.spec_path}: there is no cell")

    def cell_named(self, name: str) -> Cell:
        """Return the cell of a name or alias."""
        return _look_up(self._by_name, name, f"{self.spec_path}: there is no cell")

    def task(self, dataset: str) -> Task:
        """Return the task of a dataset's label, or of the questions that a function is fitted on."""
        fitted = {each.label: each.task for each in self.learned}
        return fitted.get(dataset) or _look_up(self.tasks, dataset, f"{self.spec_path}: there is no dataset")

    def shards_of(self, dataset: str) -> tuple[Shard, ...]:
        """Return the shards of a dataset's label, or of the questions that a function is fitted on."""
        fitted = {each.label: each.shards for each in self.learned}
        return fitted.get(dataset) or self.shards[dataset]

    @property
    def further_shards(self) -> dict[str, tuple[Shard, ...]]:
        """The shards of questions that are not asked: of trainings, and of those that functions are fitted on."""
        trained = {training.name: training.shards for training in self.trainings}
        return trained | {each.label: each.shards for each in self.learned}

    def fitted(self, name: str) -> Learned:
        """Return a fitted function by its name."""
        return self._named(self.learned, name, "fitted function")

    def fits_of(self, base: str) -> tuple[Learned, ...]:
        """Return the fits of a function that expressions name: one, or one for each replicate."""
        return tuple(each for each in self.learned if each.base == base)

    @property
    def fit_digests(self) -> dict[str, str]:
        """The digest of each function that expressions name."""
        return fit_digests(self.learned)

    def shard(self, dataset: str, label: str) -> Shard:
        """Return a shard by its label."""
        self.task(dataset)
        shard = find(self.shards_of(dataset), label)
        if shard is None:
            raise InputError(f"{self.spec_path}: dataset {dataset} has no shard {label!r}")
        return shard

    def training(self, name: str) -> Training:
        """Return a training by its name."""
        return self._named(self.trainings, name, "training")

    def _named(self, values: Iterable[Named], name: str, what: str) -> Named:
        return _look_up({each.name: each for each in values}, name, f"{self.spec_path}: there is no {what}")

    def budget_of(self, cell: Cell) -> Cell | None:
        """Return the cell whose budget a cell is matched to."""
        return self.cell_named(cell.match.cell) if cell.match else None

    def is_judged(self, dataset: str) -> bool:
        """Return whether a judge reads the answers to a dataset."""
        return self.judging is not None and dataset in self.judging.datasets

    @cached_property
    def named_metrics(self) -> tuple[str, ...]:
        """The metrics that the spec names (in tables, claims, budgets), and those of tools in turns and of ballots."""
        claimed = [metric for claim in self.hypotheses for metric in parse_claim(claim).metrics]
        units = [cell.match.metric for cell in self.cells if cell.match]
        steps = [step for cell in self.cells for stage in stages_of(cell.debate) for step in stage.steps.values()]
        used = TOOL_METRICS if any(step.tools for step in steps) else ()
        ranked = RANKING_METRICS if any("ranking" in (step.reads, *step.beside) for step in steps) else ()
        return tuple(dict.fromkeys((*self.metrics, *claimed, *units, *used, *ranked)))

    def call_sizes(self, cell: Cell) -> dict[str, float | None]:
        """Return the parameters that agents, steps with a model, and verifiers of a cell use for a token."""
        sizes: dict[str, float | None] = {}
        for number, stage in enumerate(stages_of(cell.debate)):
            models = {agent.name: agent.model for cast in stage.role_agents.values() for agent in cast}
            models |= {of_step(step.name): step.model for step in stage.steps.values() if step.model is not None}
            models |= {VERIFIER: stage.confidence.verifier} if stage.confidence.verifier is not None else {}
            sizes |= {in_stage(number, name): parameters_per_token(model) for name, model in models.items()}
        return sizes

    @property
    def called_models(self) -> list[Model]:
        """The models of its agents, steps, tools and its judges, with repetitions."""
        models = [model for cell in self.cells for model in cell.debate.models]
        return [*models, *self.judges]

    @property
    def judges(self) -> list[Model]:
        """The models that judge answers, label turns, or compare answers."""
        graders = [] if self.judging is None else [self.judging.model]
        graders += [] if self.labelling is None or self.labelling.judge is None else [self.labelling.judge]
        return [*graders, *(self.tournament.judges if self.tournament else ())]

    def tournament_judge(self, name: str) -> Model:
        """Return a judge of the tournament."""
        return self._named(self.tournament.judges if self.tournament else (), name, "judge of a tournament")

    @property
    def jobs(self) -> int:
        """The number of debate jobs if the experiment does not stop early."""
        return sum(len(shards) for shards in self.shards.values()) * len(self.cells)

    def questions(self, dataset: str, shard: Shard) -> Sequence[Question]:
        """Return the questions of a shard, in order."""
        return self.task(dataset).questions[shard.first : shard.end]

    def question_ids(self, batches: int | None = None) -> Mapping[str, Sequence[str]]:
        """Return the ids of every dataset's questions: all, or those of the first batches."""
        ids = {label: tuple(question.id for question in task.questions) for label, task in self.tasks.items()}
        return first_questions(ids, self.shards, batches)

    # Digests

    @cached_property
    def digest(self) -> str:
        """Digest of everything that the spec means: the plan file and the verdict depend on it."""
        cells = [(cell.name, cell.aliases, cell.digest) for cell in self.cells]
        prices = {name: model.price for name, model in self.models.items()}
        former = 200  # tokens of a reply, as in every digest of version 0.2.0
        words = self.title, self.families, self.hypotheses, self.analysis, self.limits, prices, former
        phases = [phase.trained_digest for training in self.trainings for phase in training.phases]
        more = *self.stopping_rules, *([phases] if phases else []), *([self.fit_digests] if self.learned else [])
        more = *more, *([self.labelling] if self.labelling else []), *([self.tournament] if self.tournament else [])
        return digest(self.seed, self.replicates, cells, self.question_digests, words, self.judging, *more)

    @cached_property
    def meanings(self) -> dict[str, str]:
        """Digest of each cell's settings, prompts and models, without the seed."""
        return {cell.name: self._meaning(cell) for cell in self.cells}

    def _meaning(self, cell: Cell) -> str:
        sources = [*pool_sources(cell.debate), *tool_sources(cell.debate)]
        pools = [self.knowledge[name].parameters for name in sources if name in self.knowledge]
        budget = self.budget_of(cell)
        budget_meaning = self._meaning(budget) if budget else None
        similarity = self.models.get(cell.debate.similarity)
        own = method_digest(cell.debate, 0, self.templates.digest, cell.match)
        fits = [
            (name, fit.predicts, fit.features, fit.by, self._meaning(self.cell_named(fit.cell)))
            for name in learned_of(cell.debate)
            for fit in self.fits_of(name)
        ]
        return digest(own, pools, similarity, budget_meaning, *([fits] if fits else []))

    @property
    def stopping_rules(self) -> tuple[StoppingRule, ...]:
        """The rule, if there is one: digests without it equal those of versions that had no stopping."""
        return (self.stopping,) if self.stopping else ()

    @cached_property
    def question_digests(self) -> Mapping[str, tuple[str, tuple[Shard, ...]]]:
        """The digest and the shards of each dataset's questions."""
        return {label: (task.digest, self.shards[label]) for label, task in self.tasks.items()}

    def source(self, name: str) -> KnowledgeSource:
        """Return the knowledge source of a name."""
        return _look_up(self.knowledge, name, f"{self.spec_path}: there is no knowledge source")


def _look_up(values: Mapping[str, Value], name: str, complaint: str) -> Value:
    """Return the value of a name.

    Raises
    ------
    InputError
        There is no such name; the message lists those that exist.
    """
    try:
        return values[name]
    except KeyError:
        raise InputError(f"{complaint} {name!r}; there are: {', '.join(values)}") from None

"""The plan of an experiment: what its spec means, as one frozen value that rules and verbs read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from cortexdsl.claims.meaning import needs_answers
from cortexdsl.claims.parser import parse_claim
from cortexdsl.core import (
    VERIFIER,
    Cell,
    Dataset,
    Family,
    KnowledgeSource,
    Limits,
    Method,
    Model,
    Question,
    StoppingRule,
    in_stage,
    of_step,
)
from cortexdsl.core.metrics import METRICS, grouped
from cortexdsl.engine.methods import pool_sources, stages_of
from cortexdsl.errors import InputError
from cortexdsl.language.prompts.templates import Templates
from cortexdsl.models.known_models import parameters_per_token
from cortexdsl.plan.digests import digest, method_digest
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.models import tool_files, tool_sources
from cortexdsl.plan.parts import Judging, Permission, Whatif
from cortexdsl.plan.shards import Shard, find
from cortexdsl.plan.training import Training, is_pinned
from cortexdsl.tasks.task import Task

Value = TypeVar("Value")

_COLUMNS = sorted({metric.column for metric in METRICS.values() if not metric.group})
"""Columns of every scores.csv. If a later version adds a column, the cells are scored again from their records."""
_SCORING = 2
"""Increase this if records get other scores; the cells are then scored again."""


@dataclass(frozen=True)
class Plan:
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
    models : mapping of name to Model
        Entries of the spec: a similarity may name one.
    templates : Templates
        As they were when the spec was compiled.
    reply_tokens : int
        Assumed length of a reply, for the estimate.
    stopping : StoppingRule or None
        If the experiment may stop early: a shard is then a batch, and its number is that of the look after it.
    whatifs : tuple of Whatif
        Counterfactuals of the spec.
    trainings : tuple of Training
        Models that learn from debates.
    permissions : tuple of Permission
        What it does beyond asking models of known providers.
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
    reply_tokens: int
    stopping: StoppingRule | None = None
    whatifs: tuple[Whatif, ...] = ()
    trainings: tuple[Training, ...] = ()
    permissions: tuple[Permission, ...] = ()

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
        """Return the task of a dataset's label."""
        return _look_up(self.tasks, dataset, f"{self.spec_path}: there is no dataset")

    def shard(self, dataset: str, label: str) -> Shard:
        """Return a shard by its label."""
        self.task(dataset)
        shard = find(self.shards[dataset], label)
        if shard is None:
            raise InputError(f"{self.spec_path}: dataset {dataset} has no shard {label!r}")
        return shard

    def training(self, name: str) -> Training:
        """Return a training by its name."""
        by_name = {training.name: training for training in self.trainings}
        return _look_up(by_name, name, f"{self.spec_path}: there is no training")

    def budget_of(self, cell: Cell) -> Cell | None:
        """Return the cell whose budget a cell is matched to."""
        return self.cell_named(cell.match.cell) if cell.match else None

    def is_judged(self, dataset: str) -> bool:
        """Return whether a judge reads the answers to a dataset."""
        return self.judging is not None and dataset in self.judging.datasets

    @cached_property
    def named_metrics(self) -> tuple[str, ...]:
        """The metrics that the spec names: for its tables, in claims, and as units of matched budgets."""
        claimed = [metric for claim in self.hypotheses for metric in parse_claim(claim).metrics]
        units = [cell.match.metric for cell in self.cells if cell.match]
        return tuple(dict.fromkeys((*self.metrics, *claimed, *units)))

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
    def is_racing(self) -> bool:
        """Whether a cell is no longer debated once its comparisons are decided."""
        return self.stopping is not None and self.stopping.rule == "racing"

    @property
    def jobs(self) -> int:
        """The number of debate jobs if the experiment does not stop early."""
        return sum(len(shards) for shards in self.shards.values()) * len(self.cells)

    @cached_property
    def batches(self) -> int:
        """The number of looks if the experiment does not stop early."""
        return max(shard.number for shards in self.shards.values() for shard in shards)

    def questions(self, dataset: str, shard: Shard) -> Sequence[Question]:
        """Return the questions of a shard, in order."""
        return self.task(dataset).questions[shard.first : shard.end]

    def question_ids(self, batches: int | None = None) -> dict[str, list[str]]:
        """Return the ids of every dataset's questions: all, or those of the first batches."""
        ids = {label: [question.id for question in task.questions] for label, task in self.tasks.items()}
        if batches is None:
            return ids
        ends = {label: max(s.end for s in shards if s.number <= batches) for label, shards in self.shards.items()}
        return {label: names[: ends[label]] for label, names in ids.items()}

    # Digests

    @cached_property
    def digest(self) -> str:
        """Digest of everything that the spec means: the plan file and the verdict depend on it."""
        cells = [(cell.name, cell.aliases, cell.digest) for cell in self.cells]
        prices = {name: model.price for name, model in self.models.items()}
        words = self.title, self.families, self.hypotheses, self.analysis, self.limits, prices, self.reply_tokens
        phases = [phase.trained_digest for training in self.trainings for phase in training.phases]
        more = *self._stopping, *([phases] if phases else [])
        return digest(self.seed, self.replicates, cells, self._questions, words, self.judging, *more)

    @cached_property
    def meanings(self) -> dict[str, str]:
        """Digest of each cell's settings, prompts and models, without the seed."""
        return {cell.name: self._meaning(cell) for cell in self.cells}

    def _meaning(self, cell: Cell) -> str:
        sources = [*pool_sources(cell.debate), *tool_sources(cell.debate)]
        pools = [asdict(self.knowledge[name]) for name in sources if name in self.knowledge]
        budget = self.budget_of(cell)
        budget_meaning = self._meaning(budget) if budget else None
        similarity = self.models.get(cell.debate.similarity)
        own = method_digest(cell.debate, 0, self.templates.digest, cell.match)
        return digest(own, pools, similarity, budget_meaning)

    @cached_property
    def join_digest(self) -> str:
        """Digest of what the tables of all cells depend on, apart from their parts."""
        return digest(self.seed, self.replicates, [cell.name for cell in self.cells], self._questions)

    @cached_property
    def look_digest(self) -> str:
        """Digest of what an interim look depends on, apart from the debates."""
        cells = [(cell.name, cell.aliases, cell.method, cell.axes) for cell in self.cells]
        correction = self.analysis.get("correction")
        return digest(self.replicates, cells, self._questions, self.hypotheses, correction, *self._stopping)

    @cached_property
    def whatif_digest(self) -> str:
        """Digest of what the counterfactuals depend on, apart from the debates."""
        whatifs = [(whatif, self.cell_named(whatif.cell).digest) for whatif in self.whatifs]
        return digest(self.seed, self.replicates, whatifs, self._questions)

    def debate_digest(self, dataset: str, cell: str, shard: str) -> str:
        """Return the digest of what one job's records depend on."""
        place = self.shard(dataset, shard)
        return digest(self.cell(cell).digest, self.task(dataset).digest, place.first, place.end)

    def score_digest(self, dataset: str, cell: str) -> str:
        """Return the digest of what one cell's scores depend on, apart from the records."""
        own, shards = self.cell(cell), [shard.label for shard in self.shards[dataset]]
        asked = grouped(self.named_metrics)
        sizes = [self.call_sizes(own)] if any(metric.group in ("compute", "log") for metric in asked) else []
        more = [[metric.column for metric in asked], *sizes] if asked else []
        scored = own.name, own.method, shards, self.is_judged(dataset)
        return digest(self.task(dataset).digest, *scored, _COLUMNS, _SCORING, *more)

    def judge_digest(self, dataset: str, cell: str) -> str:
        """Return the digest of what one cell's judgements depend on, apart from the records."""
        shards = [shard.label for shard in self.shards[dataset]]
        return digest(self.judging, self.seed, self.task(dataset).digest, self.cell(cell).name, shards)

    def pool_digest(self, dataset: str, source: str) -> str:
        """Return the digest of what a pool depends on, apart from its inputs."""
        return digest(asdict(self._source(source)), self.task(dataset).digest)

    @property
    def _stopping(self) -> tuple[StoppingRule, ...]:
        """The rule, if there is one: digests without it equal those of versions that had no stopping."""
        return (self.stopping,) if self.stopping else ()

    @cached_property
    def _questions(self) -> Any:
        return {label: (task.digest, self.shards[label]) for label, task in self.tasks.items()}

    # Files

    def debate_inputs(self, dataset: str, cell: str, shard: str) -> list[str]:
        """Files that a debate job reads: dataset, debates of a matched budget, pools, what its tools read, weights."""
        own = self.cell(cell)
        budget = self.budget_of(own)
        debates = [self.layout.debates(dataset, budget.slug, shard)] if budget else []
        tools = tool_files(own.debate, self.knowledge, Path(self.spec_path).parent)
        return [*self._data_files(dataset), *debates, *self.pools(dataset, own), *tools, *self._trained(own.debate)]

    def trajectory_inputs(self, training: str, phase: str) -> list[str]:
        """Files that a job of trajectories reads: the weights that earlier phases trained."""
        return self._trained(self.training(training).phase(phase).method)

    def trajectories_of(self, training: str, phase: str) -> list[str]:
        """The trajectories of a phase."""
        own = self.training(training)
        return [self.layout.trajectories(training, own.phase(phase).label, shard.label) for shard in own.shards]

    @property
    def kept_tables(self) -> list[str]:
        """The tables that count the pairs of every phase of every training."""
        return [self.layout.kept(one.name, phase.label) for one in self.trainings for phase in one.phases]

    def _trained(self, method: Method) -> list[str]:
        """The weights of a method's models that this experiment trains."""
        phases = [phase for training in self.trainings for phase in training.phases]
        files = {phase.trained.model: phase.made for phase in phases if phase.trained is not None}
        names = dict.fromkeys(model.model for model in method.models if model.model in files and not is_pinned(model))
        return [files[name] for name in names]

    def pools(self, dataset: str, cell: Cell) -> list[str]:
        """The pool files that a cell's debates read."""
        return [self.layout.pool(dataset, source) for source in pool_sources(cell.debate)]

    def pool_inputs(self, dataset: str, source: str) -> list[str]:
        """Files that a knowledge source is built from: the dataset, and the source's corpus."""
        corpus = self._source(source).corpus
        return [*self._data_files(dataset), *([(Path(self.spec_path).parent / corpus).as_posix()] if corpus else [])]

    def _data_files(self, dataset: str) -> list[str]:
        path = self.datasets[dataset].path
        return [path] if path else []

    def _source(self, name: str) -> KnowledgeSource:
        return _look_up(self.knowledge, name, f"{self.spec_path}: there is no knowledge source")

    def look_inputs(self, batch: int, live: Sequence[str] | None = None) -> list[str]:
        """Files that a look reads: the debates of its batch, of the live cells, and the scores of earlier looks."""
        slugs = [cell.slug for cell in self.cells] if live is None else live
        pairs = [(label, slug) for label in self.tasks for slug in slugs]
        debates = [path for label, cell in pairs for path in self.batch_of(label, cell, batch)]
        return [*debates, *(self.layout.look_scores(earlier) for earlier in range(1, batch))]

    def debates_of(self, dataset: str, cell: str, batches: int | None = None) -> list[str]:
        """The debate records of one cell on one dataset: all, or those of the first batches."""
        shards = [shard for shard in self.shards[dataset] if batches is None or shard.number <= batches]
        return [self.layout.debates(dataset, cell, shard.label) for shard in shards]

    def batch_of(self, dataset: str, cell: str, batch: int) -> list[str]:
        """The debate records of one cell on one batch of a dataset; a smaller dataset may have none."""
        labels = [shard.label for shard in self.shards[dataset] if shard.number == batch]
        return [self.layout.debates(dataset, cell, label) for label in labels]

    def judgements_of(self, dataset: str, cell: str) -> list[str]:
        """The judgements of one cell's answers to one dataset; empty if nothing is judged."""
        return [self.layout.judgements(dataset, cell)] if self.is_judged(dataset) else []

    def judgements(self) -> list[str]:
        """Every file of judgements."""
        pairs = [(dataset, cell.slug) for dataset in self.tasks for cell in self.cells]
        return [path for pair in pairs for path in self.judgements_of(*pair)]

    def parts(self, table: str) -> list[str]:
        """The parts of a table: one for each dataset and cell."""
        return [self.layout.part(table, dataset, cell.slug) for dataset in self.tasks for cell in self.cells]

    @property
    def all_pools(self) -> list[str]:
        """Every knowledge pool, each once."""
        pools = [path for dataset in self.tasks for cell in self.cells for path in self.pools(dataset, cell)]
        return list(dict.fromkeys(pools))

    @property
    def all_trajectories(self) -> list[str]:
        """The trajectories of every phase of every training."""
        return [
            path
            for one in self.trainings
            for phase in one.phases
            for path in self.trajectories_of(one.name, phase.label)
        ]

    @property
    def trained_models(self) -> list[str]:
        """The weights that cells and phases use and that this experiment trains, each once."""
        phases = [phase.method for training in self.trainings for phase in training.phases]
        methods = [*(cell.debate for cell in self.cells), *phases]
        return list(dict.fromkeys(path for method in methods for path in self._trained(method)))

    @property
    def answers_asked(self) -> list[str]:
        """Every cell's answers, if a claim is about single agents or about confidences."""
        claims = [parse_claim(claim) for claim in self.hypotheses]
        return self.parts("answers") if any(map(needs_answers, claims)) else []


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

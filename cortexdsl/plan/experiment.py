"""The plan of an experiment: what its spec means, as one frozen value that rules and verbs read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from cortexdsl.errors import InputError
from cortexdsl.plan.parts.digests import digest
from cortexdsl.plan.parts.judging import Judging
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.plan.parts.shards import Shard, find
from cortexdsl.plan.parts.tools import tool_files
from cortexdsl.plan.parts.whatif import Whatif
from cortexdsl.plan.training.phases import Training, is_pinned
from cortexdsl.protocols.prompts.templates import Templates
from cortexdsl.spec.claims.checks import needs_answers
from cortexdsl.spec.claims.language import parse_claim
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Cell, Family, Limits, Method, Model, Question, StoppingRule

Found = TypeVar("Found")


@dataclass(frozen=True)
class Plan:
    """A compiled spec.

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

    # ------------------------------------------------------------ look-ups
    @cached_property
    def layout(self) -> Layout:
        """Where its files lie."""
        return Layout(f"results/{self.experiment}")

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
        return _known(self._by_slug, slug, f"{self.spec_path}: there is no cell")

    def cell_named(self, name: str) -> Cell:
        """Return the cell of a name or alias."""
        return _known(self._by_name, name, f"{self.spec_path}: there is no cell")

    def task(self, dataset: str) -> Task:
        """Return the task of a dataset's label."""
        return _known(self.tasks, dataset, f"{self.spec_path}: there is no dataset")

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
        return _known(named, name, f"{self.spec_path}: there is no training")

    def budget_of(self, cell: Cell) -> Cell | None:
        """Return the cell whose budget a cell is matched to."""
        return self.cell_named(cell.match.cell) if cell.match else None

    # ------------------------------------------------------------ what rules ask
    @cached_property
    def digest(self) -> str:
        """Of all that the spec means: everything that the plan file and the verdict depend on."""
        cells = [(cell.name, cell.aliases, cell.digest) for cell in self.cells]
        prices = {name: model.price for name, model in self.models.items()}
        said = self.title, self.families, self.hypotheses, self.analysis, self.limits, prices, self.reply_tokens
        learns = [phase.trained_digest for training in self.trainings for phase in training.phases]
        more = *self._stopping, *([learns] if learns else [])
        return digest(self.seed, self.replicates, cells, self._questions, said, self.judging, *more)

    @cached_property
    def join_digest(self) -> str:
        """Of everything besides their parts that the tables of all cells depend on."""
        return digest(self.seed, self.replicates, [cell.name for cell in self.cells], self._questions)

    @cached_property
    def look_digest(self) -> str:
        """Of everything besides the debates that a look depends on."""
        cells = [(cell.name, cell.aliases, cell.method, cell.axes) for cell in self.cells]
        correction = self.analysis.get("correction")
        return digest(self.replicates, cells, self._questions, self.hypotheses, correction, *self._stopping)

    @cached_property
    def whatif_digest(self) -> str:
        """Of everything besides the debates that the counterfactuals depend on."""
        asked = [(one, self.cell_named(one.cell).digest) for one in self.whatifs]
        return digest(self.seed, self.replicates, asked, self._questions)

    @property
    def _stopping(self) -> tuple[StoppingRule, ...]:
        """The rule, where there is one: without it no digest knows of stopping."""
        return (self.stopping,) if self.stopping else ()

    @cached_property
    def _questions(self) -> Any:
        return {label: (task.digest, self.shards[label]) for label, task in self.tasks.items()}

    def debate_digest(self, dataset: str, cell: str, shard: str) -> str:
        """Of everything that one job's records depend on."""
        place = self.shard(dataset, shard)
        return digest(self.cell(cell).digest, self.task(dataset).digest, place.first, place.end)

    def score_digest(self, dataset: str, cell: str) -> str:
        """Of everything besides the records that one cell's scores depend on."""
        found, shards = self.cell(cell), [shard.label for shard in self.shards[dataset]]
        return digest(self.task(dataset).digest, found.name, found.method, shards, self.is_judged(dataset))

    def debate_inputs(self, dataset: str, cell: str, shard: str) -> list[str]:
        """Files that one debate job reads: the dataset, debates whose budget it matches, pools, what its tools read."""
        found = self.cell(cell)
        budget = self.budget_of(found)
        debates = [self.layout.debates(dataset, budget.slug, shard)] if budget else []
        tools = tool_files(found.debate, self.knowledge, Path(self.spec_path).parent)
        return [*self.paths[dataset], *debates, *self.pools(dataset, found), *tools, *self._trained(found.debate)]

    def trajectory_inputs(self, training: str, phase: str) -> list[str]:
        """Files that a job of trajectories reads: what the phases before have trained."""
        return self._trained(self.training(training).phase(phase).method)

    def _trained(self, method: Method) -> list[str]:
        """The weights of a method's models that are trained here."""
        phases = [phase for training in self.trainings for phase in training.phases]
        made = {phase.trained.model: phase.made for phase in phases if phase.trained is not None}
        models = [agent.model for cast in method.cast.values() for agent in cast]
        found = {model.model: None for model in models if model.model in made and not is_pinned(model)}
        return [made[name] for name in found]

    def trajectories_of(self, training: str, phase: str) -> list[str]:
        """The trajectories of a phase."""
        found = self.training(training)
        return [self.layout.trajectories(training, found.phase(phase).label, shard.label) for shard in found.shards]

    @property
    def kept_tables(self) -> list[str]:
        """What was kept in every phase of every training."""
        return [self.layout.kept(each.name, phase.label) for each in self.trainings for phase in each.phases]

    def pools(self, dataset: str, cell: Cell) -> list[str]:
        """The pool files that a cell's debates read."""
        return [self.layout.pool(dataset, source) for source in pool_sources(cell)]

    def pool_inputs(self, dataset: str, source: str) -> list[str]:
        """Files that a knowledge source is built from: the dataset, and the source's corpus."""
        entry = _known(self.knowledge, source, f"{self.spec_path}: there is no knowledge source")
        corpus = getattr(entry, "corpus", None)
        return [*self.paths[dataset], *([(Path(self.spec_path).parent / corpus).as_posix()] if corpus else [])]

    def pool_digest(self, dataset: str, source: str) -> str:
        """Of everything besides its inputs that a pool depends on."""
        entry = _known(self.knowledge, source, f"{self.spec_path}: there is no knowledge source")
        return digest(entry.model_dump(mode="json"), self.task(dataset).digest)

    @property
    def jobs(self) -> int:
        """How many jobs debate, where the experiment does not stop early."""
        return sum(len(shards) for shards in self.shards.values()) * len(self.cells)

    @property
    def is_racing(self) -> bool:
        """Say whether cells whose comparisons are decided are debated no more."""
        return self.stopping is not None and self.stopping.rule == "racing"

    @cached_property
    def batches(self) -> int:
        """The number of looks where the experiment does not stop early."""
        return max(shard.number for shards in self.shards.values() for shard in shards)

    def debates_of(self, dataset: str, cell: str, batches: int | None = None) -> list[str]:
        """The debate records of one cell on one dataset: all, or those of the first so many batches."""
        shards = [shard for shard in self.shards[dataset] if batches is None or shard.number <= batches]
        return [self.layout.debates(dataset, cell, shard.label) for shard in shards]

    def batch_of(self, dataset: str, cell: str, batch: int) -> list[str]:
        """The debate records of one cell on one batch of a dataset, which a smaller dataset may not have."""
        labels = [shard.label for shard in self.shards[dataset] if shard.number == batch]
        return [self.layout.debates(dataset, cell, label) for label in labels]

    def look_inputs(self, batch: int, live: Sequence[str] | None = None) -> list[str]:
        """Files that a look reads: its batch's debates of the cells that are live, and what earlier looks scored."""
        slugs = [cell.slug for cell in self.cells] if live is None else live
        pairs = [(label, slug) for label in self.tasks for slug in slugs]
        debates = [path for label, cell in pairs for path in self.batch_of(label, cell, batch)]
        return [*debates, *(self.layout.look_scores(earlier) for earlier in range(1, batch))]

    def is_judged(self, dataset: str) -> bool:
        """Say whether a judge is asked about the answers to a dataset."""
        return self.judging is not None and dataset in self.judging.datasets

    def judge_digest(self, dataset: str, cell: str) -> str:
        """Of everything besides the records that one cell's judgements depend on."""
        shards = [shard.label for shard in self.shards[dataset]]
        return digest(self.judging, self.seed, self.task(dataset).digest, self.cell(cell).name, shards)

    def judgements_of(self, dataset: str, cell: str) -> list[str]:
        """The judgements of one cell's answers to one dataset; none where nothing is judged."""
        return [self.layout.judgements(dataset, cell)] if self.is_judged(dataset) else []

    def judgements(self) -> list[str]:
        """Every file of judgements."""
        pairs = [(dataset, cell.slug) for dataset in self.tasks for cell in self.cells]
        return [path for pair in pairs for path in self.judgements_of(*pair)]

    def parts(self, table: str) -> list[str]:
        """The parts of a table: one for each dataset and cell."""
        return [self.layout.part(table, dataset, cell.slug) for dataset in self.tasks for cell in self.cells]

    @property
    def answers_asked(self) -> list[str]:
        """Every cell's answers, where a claim is about single agents or about confidences."""
        claims = [parse_claim(claim) for claim in self.hypotheses]
        return self.parts("answers") if any(map(needs_answers, claims)) else []

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


def pool_sources(cell: Cell) -> tuple[str, ...]:
    """Return the names of the knowledge sources that a cell's steps are handed."""
    found = {name: None for step in cell.debate.steps.values() for name in step.material.get("pool", ())}
    return tuple(found)


def _known(values: Mapping[str, Found], name: str, complaint: str) -> Found:
    try:
        return values[name]
    except KeyError:
        raise InputError(f"{complaint} {name!r}; there are: {', '.join(values)}") from None

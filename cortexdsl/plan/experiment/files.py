"""Which files the jobs of a plan read and write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cortexdsl.plan.experiment.content import Content, known
from cortexdsl.plan.parts.layout import PARTS
from cortexdsl.plan.parts.tools import tool_files
from cortexdsl.plan.training.phases import is_pinned
from cortexdsl.spec.claims.checks import needs_answers
from cortexdsl.spec.claims.language import parse_claim
from cortexdsl.terms import Cell, Method


class Files(Content):
    """A plan that says which files its jobs read and write."""

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

    def trajectories_of(self, training: str, phase: str) -> list[str]:
        """The trajectories of a phase."""
        found = self.training(training)
        return [self.layout.trajectories(training, found.phase(phase).label, shard.label) for shard in found.shards]

    @property
    def kept_tables(self) -> list[str]:
        """What was kept in every phase of every training."""
        return [self.layout.kept(each.name, phase.label) for each in self.trainings for phase in each.phases]

    def _trained(self, method: Method) -> list[str]:
        """The weights of a method's models that are trained here."""
        phases = [phase for training in self.trainings for phase in training.phases]
        made = {phase.trained.model: phase.made for phase in phases if phase.trained is not None}
        models = [agent.model for cast in method.cast.values() for agent in cast]
        found = {model.model: None for model in models if model.model in made and not is_pinned(model)}
        return [made[name] for name in found]

    def pools(self, dataset: str, cell: Cell) -> list[str]:
        """The pool files that a cell's debates read."""
        return [self.layout.pool(dataset, source) for source in pool_sources(cell)]

    def pool_inputs(self, dataset: str, source: str) -> list[str]:
        """Files that a knowledge source is built from: the dataset, and the source's corpus."""
        entry = known(self.knowledge, source, f"{self.spec_path}: there is no knowledge source")
        corpus = getattr(entry, "corpus", None)
        return [*self.paths[dataset], *([(Path(self.spec_path).parent / corpus).as_posix()] if corpus else [])]

    def look_inputs(self, batch: int, live: Sequence[str] | None = None) -> list[str]:
        """Files that a look reads: its batch's debates of the cells that are live, and what earlier looks scored."""
        slugs = [cell.slug for cell in self.cells] if live is None else live
        pairs = [(label, slug) for label in self.tasks for slug in slugs]
        debates = [path for label, cell in pairs for path in self.batch_of(label, cell, batch)]
        return [*debates, *(self.layout.look_scores(earlier) for earlier in range(1, batch))]

    def debates_of(self, dataset: str, cell: str, batches: int | None = None) -> list[str]:
        """The debate records of one cell on one dataset: all, or those of the first so many batches."""
        shards = [shard for shard in self.shards[dataset] if batches is None or shard.number <= batches]
        return [self.layout.debates(dataset, cell, shard.label) for shard in shards]

    def batch_of(self, dataset: str, cell: str, batch: int) -> list[str]:
        """The debate records of one cell on one batch of a dataset, which a smaller dataset may not have."""
        labels = [shard.label for shard in self.shards[dataset] if shard.number == batch]
        return [self.layout.debates(dataset, cell, label) for label in labels]

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
    def products(self) -> list[str]:
        """Everything that the experiment's jobs make, apart from debates and looks: looks decide which there are."""
        cells = [path for table in PARTS for path in self.parts(table)]
        pools = [path for dataset in self.tasks for cell in self.cells for path in self.pools(dataset, cell)]
        phases = [(each.name, phase) for each in self.trainings for phase in each.phases]
        learned = [path for name, phase in phases for path in self.trajectories_of(name, phase.label)]
        methods = [cell.debate for cell in self.cells] + [phase.method for _, phase in phases]
        weights = [path for method in methods for path in self._trained(method)]
        judged = [*self.judgements(), self.layout.agreement] if self.judging else []
        whatif = [self.layout.effects, self.layout.shapley] if self.whatifs else []
        return [
            *dict.fromkeys((*pools, *weights)),
            *cells,
            *learned,
            *self.kept_tables,
            *judged,
            *whatif,
            *self.layout.products,
        ]

    @property
    def answers_asked(self) -> list[str]:
        """Every cell's answers, where a claim is about single agents or about confidences."""
        claims = [parse_claim(claim) for claim in self.hypotheses]
        return self.parts("answers") if any(map(needs_answers, claims)) else []


def pool_sources(cell: Cell) -> tuple[str, ...]:
    """Return the names of the knowledge sources that a cell's steps are handed."""
    found = {name: None for step in cell.debate.steps.values() for name in step.material.get("pool", ())}
    return tuple(found)

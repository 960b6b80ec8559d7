"""What each kind of result depends on, as digests: a job runs again where its own has changed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from cortexdsl.plan.experiment.content import Content, known
from cortexdsl.plan.experiment.files import pool_sources
from cortexdsl.plan.parts.digests import digest, method_digest
from cortexdsl.plan.parts.tools import tool_sources
from cortexdsl.terms import Cell, StoppingRule
from cortexdsl.terms.metrics import METRICS

_COLUMNS = sorted({metric.column for metric in METRICS.values()})
"""Columns of scores.csv: an experiment of a version without some of them is scored again, from its records."""


class Digests(Content):
    """A plan that says what its results depend on."""

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
    def meanings(self) -> dict[str, str]:
        """Of each cell's settings, prompts and models, whatever the seed; every job that asks looks at all of them."""
        return {cell.name: self._meaning(cell) for cell in self.cells}

    def _meaning(self, cell: Cell) -> str:
        sources = [*pool_sources(cell), *tool_sources(cell.debate)]
        pools = [self.knowledge[name].model_dump(mode="json") for name in sources if name in self.knowledge]
        budget = self.budget_of(cell)
        costs = self._meaning(budget) if budget else None
        similarity = self.models.get(cell.debate.similarity)
        return digest(method_digest(cell.debate, 0, self.templates.digest, cell.match), pools, similarity, costs)

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

    def debate_digest(self, dataset: str, cell: str, shard: str) -> str:
        """Of everything that one job's records depend on."""
        place = self.shard(dataset, shard)
        return digest(self.cell(cell).digest, self.task(dataset).digest, place.first, place.end)

    def score_digest(self, dataset: str, cell: str) -> str:
        """Of everything besides the records that one cell's scores depend on."""
        found, shards = self.cell(cell), [shard.label for shard in self.shards[dataset]]
        return digest(self.task(dataset).digest, found.name, found.method, shards, self.is_judged(dataset), _COLUMNS)

    def judge_digest(self, dataset: str, cell: str) -> str:
        """Of everything besides the records that one cell's judgements depend on."""
        shards = [shard.label for shard in self.shards[dataset]]
        return digest(self.judging, self.seed, self.task(dataset).digest, self.cell(cell).name, shards)

    def pool_digest(self, dataset: str, source: str) -> str:
        """Of everything besides its inputs that a pool depends on."""
        entry = known(self.knowledge, source, f"{self.spec_path}: there is no knowledge source")
        return digest(entry.model_dump(mode="json"), self.task(dataset).digest)

    @property
    def _stopping(self) -> tuple[StoppingRule, ...]:
        """The rule, where there is one: without it no digest knows of stopping."""
        return (self.stopping,) if self.stopping else ()

    @cached_property
    def _questions(self) -> Any:
        return {label: (task.digest, self.shards[label]) for label, task in self.tasks.items()}

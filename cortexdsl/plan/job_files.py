"""The files that jobs read, and that an experiment ends with, as lists of paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.claims.meaning import needs_answers
from cortexdsl.claims.parser import parse_claim
from cortexdsl.core import Cell, Method
from cortexdsl.core.metrics import grouped
from cortexdsl.engine.methods import learned_of, pool_sources
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import TOURNAMENT_TABLES, Layout
from cortexdsl.plan.models import tool_files
from cortexdsl.plan.record import PlanRecord
from cortexdsl.plan.training import is_pinned, slug_of


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

    @property
    def key(self) -> tuple[str, str, str]:
        """Its dataset, cell and shard, as its tally names them."""
        return self.dataset, self.slug, self.shard

    def records(self, layout: Layout) -> str:
        """Return the path of its records."""
        if self.phase is not None:
            return layout.trajectories(*self.phase, self.shard)
        return layout.debates(self.dataset, self.slug, self.shard)


def debate_jobs(plan: Plan | PlanRecord) -> Iterator[DebateJob]:
    """Yield the debate jobs of a plan: of trainings, of fitted functions, and of its cells."""
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


def debate_inputs(plan: Plan, dataset: str, cell: str, shard: str) -> list[str]:
    """Files that a debate job reads: dataset, debates of a matched budget, pools, what its tools read, weights."""
    own = plan.cell(cell)
    budget = plan.budget_of(own)
    debates = [plan.layout.debates(dataset, budget.slug, shard)] if budget else []
    tools = tool_files(own.debate, plan.knowledge, Path(plan.spec_path).parent)
    fits = [plan.layout.fit(each.name) for name in learned_of(own.debate) for each in plan.fits_of(name)]
    logs = answered_logs(plan, dataset, shard)
    read = *debates, *pool_files(plan, dataset, own), *tools, *_trained(plan, own.debate), *fits, *logs
    return [*_data_files(plan, dataset), *read]


def fit_inputs(plan: Plan, name: str) -> list[str]:
    """Files that a function is fitted on: the debates about its questions."""
    fitted = plan.fitted(name)
    return debate_files(plan, fitted.label, plan.cell_named(fitted.cell).slug)


def fit_files(plan: Plan) -> list[str]:
    """Every fitted function."""
    return [plan.layout.fit(each.name) for each in plan.learned]


def round_inputs(plan: Plan, number: int) -> list[str]:
    """Files that advancing the debates to a round reads: what debates read, and all earlier replies."""
    everywhere = [
        path
        for dataset in plan.tasks
        for cell in plan.cells
        for path in (
            *_data_files(plan, dataset),
            *pool_files(plan, dataset, cell),
            *tool_files(cell.debate, plan.knowledge, Path(plan.spec_path).parent),
        )
    ]
    replies = [path for earlier in range(1, number) for path in reply_files(plan, earlier)]
    return [*dict.fromkeys(everywhere), *replies]


def reply_files(plan: Plan, number: int) -> list[str]:
    """The files of replies of a round."""
    return [plan.layout.replies(number, *part) for part in round_parts(plan)]


def round_parts(plan: Plan) -> list[tuple[str, int]]:
    """The files of a round, as (engine, part)."""
    return [(name, part) for name, engine in plan.engines.items() for part in range(1, engine.parts + 1)]


def answered_logs(plan: Plan, dataset: str, shard: str) -> list[str]:
    """The call logs of one shard, by which its debates are replayed after the rounds of files; none without engines."""
    return [plan.layout.call_log(dataset, cell.slug, shard) for cell in plan.cells] if plan.engines else []


def cost_logs(plan: Plan, dataset: str) -> list[str]:
    """The call logs that the scores of debates by files are computed from: some metrics are what calls cost."""
    needs_logs = any(metric.group == "log" for metric in grouped(plan.named_metrics))
    return [log for shard in plan.shards[dataset] if needs_logs for log in answered_logs(plan, dataset, shard.label)]


def judge_logs(plan: Plan, dataset: str) -> list[str]:
    """The call logs about one dataset of the judges that engines answer, by which their jobs are replayed."""
    judging, labelling, tournament, layout = plan.judging, plan.labelling, plan.tournament, plan.layout
    logs: list[str] = []
    for cell in plan.cells:
        if judging is not None and judging.model.engine is not None and plan.is_judged(dataset):
            logs.append(layout.judge_log(dataset, cell.slug))
        if labelling is not None and labelling.judge is not None and labelling.judge.engine is not None:
            logs.append(layout.label_log(dataset, cell.slug))
    voters = tournament.judges if tournament is not None else ()
    return [*logs, *(layout.ballot_log(dataset, judge.name) for judge in voters if judge.engine is not None)]


def round_logs(plan: Plan) -> list[str]:
    """All call logs that rounds of files lead to."""
    debates = [log for dataset, cut in plan.shards.items() for shard in cut
               for log in answered_logs(plan, dataset, shard.label)]  # fmt: skip
    return [*debates, *(log for dataset in plan.tasks for log in judge_logs(plan, dataset))]


def trajectory_inputs(plan: Plan, training: str, phase: str) -> list[str]:
    """Files that a job of trajectories reads: the weights that earlier phases trained."""
    return _trained(plan, plan.training(training).phase(phase).method)


def trajectory_files(plan: Plan, training: str, phase: str) -> list[str]:
    """The trajectories of a phase."""
    own = plan.training(training)
    return [plan.layout.trajectories(training, own.phase(phase).label, shard.label) for shard in own.shards]


def kept_tables(plan: Plan) -> list[str]:
    """The tables that count the pairs of every phase of every training."""
    return [plan.layout.kept(one.name, phase.label) for one in plan.trainings for phase in one.phases]


def _trained(plan: Plan, method: Method) -> list[str]:
    """The weights of a method's models that this experiment trains."""
    phases = [phase for training in plan.trainings for phase in training.phases]
    files = {phase.trained.model: phase.made for phase in phases if phase.trained is not None}
    names = dict.fromkeys(model.model for model in method.models if model.model in files and not is_pinned(model))
    return [files[name] for name in names]


def pool_files(plan: Plan, dataset: str, cell: Cell) -> list[str]:
    """The pool files that a cell's debates read."""
    return [plan.layout.pool(dataset, source) for source in pool_sources(cell.debate)]


def pool_inputs(plan: Plan, dataset: str, source: str) -> list[str]:
    """Files that a knowledge source is built from: the dataset, and the source's corpus."""
    corpus = plan.source(source).corpus
    return [*_data_files(plan, dataset), *([(Path(plan.spec_path).parent / corpus).as_posix()] if corpus else [])]


def look_inputs(plan: Plan, batch: int) -> list[str]:
    """Files that a look reads: the debates of its batch, and the scores of earlier looks."""
    pairs = [(label, cell.slug) for label in plan.tasks for cell in plan.cells]
    debates = [path for label, cell in pairs for path in batch_files(plan, label, cell, batch)]
    return [*debates, *(plan.layout.look_scores(earlier) for earlier in range(1, batch))]


def debate_files(plan: Plan, dataset: str, cell: str, batches: int | None = None) -> list[str]:
    """The debate records of one cell on one dataset: all, or those of the first batches."""
    shards = [shard for shard in plan.shards_of(dataset) if batches is None or shard.number <= batches]
    return [plan.layout.debates(dataset, cell, shard.label) for shard in shards]


def batch_files(plan: Plan, dataset: str, cell: str, batch: int) -> list[str]:
    """The debate records of one cell on one batch of a dataset; a smaller dataset may have none."""
    labels = [shard.label for shard in plan.shards[dataset] if shard.number == batch]
    return [plan.layout.debates(dataset, cell, label) for label in labels]


def judgement_files(plan: Plan, dataset: str, cell: str) -> list[str]:
    """The judgements of one cell's answers to one dataset; empty if nothing is judged."""
    return [plan.layout.judgements(dataset, cell)] if plan.is_judged(dataset) else []


def all_judgements(plan: Plan) -> list[str]:
    """Every file of judgements."""
    pairs = [(dataset, cell.slug) for dataset in plan.tasks for cell in plan.cells]
    return [path for pair in pairs for path in judgement_files(plan, *pair)]


def label_files(plan: Plan, dataset: str, cell: str) -> list[str]:
    """The labels of one cell's turns on one dataset; empty if nothing is labelled."""
    return [plan.layout.part("labels", dataset, cell)] if plan.labelling is not None else []


def all_labels(plan: Plan) -> list[str]:
    """Every file of labels of one cell's turns."""
    return [path for dataset in plan.tasks for cell in plan.cells for path in label_files(plan, dataset, cell.slug)]


def all_ballots(plan: Plan) -> list[str]:
    """Every file of ballots."""
    judges = plan.tournament.judges if plan.tournament else ()
    return [plan.layout.ballots(dataset, judge.name) for dataset in plan.tasks for judge in judges]


def tournament_tables(plan: Plan) -> list[str]:
    """The tables of the tournament; empty without one."""
    return [plan.layout.table(table) for table in TOURNAMENT_TABLES] if plan.tournament else []


def table_parts(plan: Plan | PlanRecord, table: str) -> list[str]:
    """The parts of a table: one for each dataset and cell."""
    return [plan.layout.part(table, dataset, cell.slug) for dataset in plan.datasets for cell in plan.cells]


def all_pools(plan: Plan) -> list[str]:
    """Every knowledge pool, each once."""
    pools = [path for dataset in plan.tasks for cell in plan.cells for path in pool_files(plan, dataset, cell)]
    return list(dict.fromkeys(pools))


def all_trajectories(plan: Plan) -> list[str]:
    """The trajectories of every phase of every training."""
    return [
        path for one in plan.trainings for phase in one.phases for path in trajectory_files(plan, one.name, phase.label)
    ]


def trained_models(plan: Plan) -> list[str]:
    """The weights that cells and phases use and that this experiment trains, each once."""
    phases = [phase.method for training in plan.trainings for phase in training.phases]
    methods = [*(cell.debate for cell in plan.cells), *phases]
    return list(dict.fromkeys(path for method in methods for path in _trained(plan, method)))


def answer_files(plan: Plan) -> list[str]:
    """Every cell's answers, if a claim is about single agents or about confidences."""
    claims = [parse_claim(claim) for claim in plan.hypotheses]
    return table_parts(plan, "answers") if any(map(needs_answers, claims)) else []


def _data_files(plan: Plan, dataset: str) -> list[str]:
    fitted = next((each for each in plan.learned if each.label == dataset), None)
    path = plan.datasets[dataset].path if fitted is None else fitted.dataset.path
    return [path] if path else []

"""What a plan writes into plan.json, and the results of looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from cortexdsl.claims.parser import claims_digest
from cortexdsl.core import EMPTY, Cell
from cortexdsl.engine.methods import debating_agents, learned_of
from cortexdsl.errors import RecordError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.parts import Learned
from cortexdsl.plan.record import (
    AgentRecord,
    CellRecord,
    DatasetRecord,
    LearnedRecord,
    PhaseRecord,
    PlanRecord,
    TrainingRecord,
    read_json,
)
from cortexdsl.plan.rehearsal.estimate import CostEstimate
from cortexdsl.plan.rehearsal.explain import fixed_counts
from cortexdsl.plan.training import Training, slug_of
from cortexdsl.tasks.task import Task

AnyPlan: TypeAlias = Plan | PlanRecord
"""A plan that was compiled, or the one in plan.json."""


def plan_record(
    plan: Plan,
    estimate: CostEstimate,
    by_cell: Mapping[str, CostEstimate],
    most: Mapping[str, Mapping[str, float]] = EMPTY,
) -> PlanRecord:
    """Return a plan as its file has it.

    Parameters
    ----------
    plan : Plan
    estimate : CostEstimate
    by_cell : mapping of cell name to CostEstimate
    most : mapping of cell name to mapping
        Upper bounds for one question; see `cortexdsl.plan.forecast.cost.most_of_question`.
    """
    return PlanRecord(
        experiment=plan.experiment,
        title=plan.title,
        spec=plan.spec_path,
        spec_digest=plan.digest,
        seed=plan.seed,
        replicates=plan.replicates,
        questions={label: tuple(question.id for question in task.questions) for label, task in plan.tasks.items()},
        question_digests={label: tuple(task.question_digests) for label, task in plan.tasks.items()},
        datasets={label: _dataset(task) for label, task in plan.tasks.items()},
        agents=_agents(plan),
        cells=tuple(
            _cell(cell, by_cell.get(cell.name), most.get(cell.name), plan.named_metrics) for cell in plan.cells
        ),
        shards=plan.shards,
        metrics=plan.metrics,
        families=plan.families,
        hypotheses=plan.hypotheses,
        claims_digest=claims_digest(plan.hypotheses),
        analysis=plan.analysis,
        limits=plan.limits,
        stopping=plan.stopping,
        trainings=tuple(map(_training, plan.trainings)),
        learned=tuple(_learned(plan, fitted) for fitted in plan.learned),
        labels={label.name: label.values for label in plan.labelling.labels} if plan.labelling else {},
        estimate=estimate.record(),
    )


def _dataset(task: Task) -> DatasetRecord:
    origin = task.origin
    source = Path(origin.source).name if Path(origin.source).is_absolute() else origin.source
    digests = task.digest, task.questions_digest
    return DatasetRecord(task.name, task.kind, task.metric, *digests, source, origin.rows, origin.revision)


def _learned(plan: Plan, fitted: Learned) -> LearnedRecord:
    return LearnedRecord(
        name=fitted.name,
        predicts=fitted.predicts,
        features=fitted.features,
        by=fitted.by,
        cell=fitted.cell,
        slug=plan.cell_named(fitted.cell).slug,
        dataset=fitted.task.label,
        label=fitted.label,
        questions=tuple(question.id for question in fitted.task.questions),
        left_out=fitted.left_out,
        used_by=tuple(cell.name for cell in plan.cells if fitted.base in learned_of(cell.debate)),
        digest=fitted.digest,
        shards=fitted.shards,
    )


def _training(training: Training) -> TrainingRecord:
    text = training.said
    return TrainingRecord(
        name=training.name,
        method=text.method,
        dataset=training.task.label,
        questions=tuple(question.id for question in training.task.questions),
        validation=tuple(sorted(training.validation)),
        samples=text.samples,
        threshold=text.threshold,
        optimiser=training.optimiser,
        shards=training.shards,
        phases=tuple(
            PhaseRecord(
                phase.label,
                slug_of(training.name, phase.label),
                phase.trained_digest,
                phase.trained.model if phase.trained else None,
            )
            for phase in training.phases
        ),
    )


def _cell(
    cell: Cell, estimate: CostEstimate | None, most: Mapping[str, float] | None, named: Sequence[str]
) -> CellRecord:
    return CellRecord(
        name=cell.name,
        slug=cell.slug,
        method=cell.method,
        protocol=cell.debate.protocol,
        aliases=cell.aliases,
        axes=cell.axes,
        settings=cell.settings,
        agents=tuple(agent.name for agents in cell.debate.role_agents.values() for agent in agents),
        debaters=tuple(agent.name for agent in debating_agents(cell.debate)),
        match=cell.match,
        digest=cell.digest,
        estimate=estimate.record() if estimate else None,
        most=most,
        fixed={name: value for name, value in fixed_counts(cell).items() if name in ("rounds", "calls", *named)},
    )


def _agents(plan: Plan) -> tuple[AgentRecord, ...]:
    """Return every agent of any cell once."""
    agents = {
        agent.name: AgentRecord(
            agent.name, agent.model.model, agent.model.name, agent.model.options, agent.persona, agent.vars
        )
        for cell in plan.cells
        for role_agents in cell.debate.role_agents.values()
        for agent in role_agents
    }
    return tuple(agents.values())


LOOK_VERSION = 1


def read_look(path: Path) -> dict[str, Any]:
    """Read the result of one look.

    Raises
    ------
    RecordError
        The file is missing or is not a look.
    """
    record = read_json(path, "look", LOOK_VERSION)
    return record | {"decided": bool(record.get("decided"))}


def last_look(layout: Layout) -> dict[str, Any] | None:
    """Return the look at which an experiment stopped: the first with all claims decided, else the last; None if none.

    Later looks are of an older plan that needed more questions.
    """
    look, batch = None, 1
    while Path(layout.look(batch)).exists():
        look = read_look(Path(layout.look(batch)))
        if look["decided"]:
            break
        batch += 1
    return look


def batches_run(plan: AnyPlan) -> int | None:
    """Return the number of batches of the results; None if the plan has no stopping.

    Raises
    ------
    RecordError
        The last look is still to come.
    """
    if plan.stopping is None:
        return None
    look = last_look(plan.layout)
    if look is None or not (look["decided"] or look["batch"] >= plan.batches):
        raise RecordError(f"{plan.layout.root}/looks: claims are undecided and questions left\n    run snakemake again")
    return min(int(look["batch"]), plan.batches)

"""plan.json, and the results of looks: the files by which programs and people know an experiment without its spec."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cortexdsl.checksums import write_lines
from cortexdsl.claims.parser import claims_digest
from cortexdsl.core import EMPTY, Cell, Family, Match
from cortexdsl.engine.methods import debating_agents
from cortexdsl.errors import RecordError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.rehearsal.estimate import CostEstimate
from cortexdsl.plan.rehearsal.explain import fixed_counts
from cortexdsl.plan.training import Training, slug_of
from cortexdsl.tasks.task import Task

SCHEMA_VERSION = 1


class LaterRecordError(RecordError):
    """A plan or a look of a later version of cortexdsl: it is neither read nor replaced."""


def plan_record(
    plan: Plan,
    estimate: CostEstimate,
    by_cell: Mapping[str, CostEstimate],
    most: Mapping[str, Mapping[str, float]] = EMPTY,
) -> dict[str, Any]:
    """Return a plan as plain values, in the order of the contract.

    Parameters
    ----------
    plan : Plan
    estimate : CostEstimate
    by_cell : mapping of cell name to CostEstimate
    most : mapping of cell name to mapping
        Upper bounds for one question; see `cortexdsl.plan.forecast.cost.most_of_question`.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": plan.experiment,
        "title": plan.title,
        "spec": plan.spec_path,
        "spec_digest": plan.digest,
        "seed": plan.seed,
        "replicates": plan.replicates,
        "questions": {label: [question.id for question in task.questions] for label, task in plan.tasks.items()},
        "question_digests": {label: list(task.question_digests) for label, task in plan.tasks.items()},
        "datasets": {label: _dataset(task) for label, task in plan.tasks.items()},
        "agents": _agents(plan),
        "cells": [_cell(cell, by_cell.get(cell.name), most.get(cell.name), plan.named_metrics) for cell in plan.cells],
        "shards": {
            label: [asdict(shard) | {"label": shard.label} for shard in cut] for label, cut in plan.shards.items()
        },
        "metrics": list(plan.metrics),
        "families": [_family(family) for family in plan.families],
        "hypotheses": list(plan.hypotheses),
        "claims_digest": claims_digest(plan.hypotheses),
        "analysis": dict(plan.analysis),
        "limits": asdict(plan.limits),
        "stopping": asdict(plan.stopping) if plan.stopping else None,
        "trainings": [_training(training) for training in plan.trainings],
        "estimate": estimate.record(),
    }


def write_plan(path: Path, record: Mapping[str, Any]) -> None:
    """Write a plan record, atomically."""
    write_lines(path, json.dumps(record, indent=1, ensure_ascii=True).splitlines())


def read_plan(path: Path) -> dict[str, Any]:
    """Read a plan record.

    Raises
    ------
    RecordError
        The file is missing, is not a plan, or is of a later version.
    """
    return _read_record(path, "plan", SCHEMA_VERSION)


def _read_record(path: Path, what: str, version: int) -> dict[str, Any]:
    try:
        record = dict(json.loads(path.read_text(encoding="utf-8")))
        is_later = record["schema_version"] > version
    except OSError as error:
        raise RecordError(f"{path}: there is no {what} ({error.strerror})\n    run the experiment first") from error
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path}: this is not a {what}\n    delete it; the workflow writes it again") from error
    if is_later:
        later = f"written by a later version of cortexdsl (schema {record['schema_version']})"
        raise LaterRecordError(f"{path}: {later}\n    update cortexdsl")
    return record


def families_of(record: Mapping[str, Any]) -> tuple[Family, ...]:
    """Return the families of a plan record."""
    return tuple(
        Family(family["name"], tuple(family["compare"]), family["to"], family["correction"])
        for family in record["families"]
    )


def fixed_in(record: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """Return the counts that the plan fixes for each cell, from a plan record; earlier records lack them."""
    return {cell["cell"]: cell["fixed"] for cell in record["cells"] if cell.get("fixed")}


def most_in(record: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """Return the most that one question of each cell can take, from a plan record; earlier records lack it."""
    return {cell["cell"]: cell["most"] for cell in record["cells"] if cell.get("most")}


def _dataset(task: Task) -> dict[str, Any]:
    """Return the facts about a dataset; of a file only the name, as its folder means nothing on other machines."""
    origin = task.origin
    return {
        "name": task.name,
        "kind": task.kind,
        "metric": task.metric,
        "digest": task.digest,
        "questions_digest": task.questions_digest,
        "source": Path(origin.source).name if Path(origin.source).is_absolute() else origin.source,
        "rows": origin.rows,
        "revision": origin.revision,
    }


def _training(training: Training) -> dict[str, Any]:
    text = training.said
    return {
        "training": training.name,
        "method": text.method,
        "dataset": training.task.label,
        "questions": [question.id for question in training.task.questions],
        "validation": sorted(training.validation),
        "samples": text.samples,
        "threshold": text.threshold,
        "optimiser": training.optimiser.model_dump(mode="json"),
        "shards": [asdict(shard) | {"label": shard.label} for shard in training.shards],
        "phases": [
            {
                "phase": phase.label,
                "slug": slug_of(training.name, phase.label),
                "digest": phase.trained_digest,
                "model": phase.trained.model if phase.trained else None,
            }
            for phase in training.phases
        ],
    }


def _family(family: Family) -> dict[str, Any]:
    return asdict(family) | {"compare": list(family.compare)}


def _cell(
    cell: Cell, estimate: CostEstimate | None, most: Mapping[str, float] | None, named: Sequence[str]
) -> dict[str, Any]:
    return {
        "cell": cell.name,
        "slug": cell.slug,
        "method": cell.method,
        "protocol": cell.debate.protocol,
        "aliases": list(cell.aliases),
        "axes": dict(cell.axes),
        "settings": dict(cell.settings),
        "agents": [agent.name for agents in cell.debate.role_agents.values() for agent in agents],
        "debaters": [agent.name for agent in debating_agents(cell.debate)],
        "match": _match(cell.match) if cell.match else None,
        "digest": cell.digest,
        "estimate": estimate.record() if estimate else None,
        "most": None if most is None else dict(most),
        "fixed": {name: value for name, value in fixed_counts(cell).items() if name in ("rounds", "calls", *named)},
    }


def _match(match: Match) -> dict[str, Any]:
    grows = {"grow": match.grow, "values": list(match.values)} if match.grow else {}
    return {"unit": match.unit, "cell": match.cell, **grows}


def _agents(plan: Plan) -> list[dict[str, Any]]:
    """List every agent of any cell once, with its model; addresses as the spec writes them."""
    agents = {
        agent.name: {
            "name": agent.name,
            "model": agent.model.model,
            "entry": agent.model.name,
            "options": dict(agent.model.options),
            "persona": agent.persona,
            **({"given": dict(agent.vars)} if agent.vars else {}),
        }
        for cell in plan.cells
        for role_agents in cell.debate.role_agents.values()
        for agent in role_agents
    }
    return list(agents.values())


LOOK_VERSION = 1


def read_look(path: Path) -> dict[str, Any]:
    """Read the result of one look.

    Raises
    ------
    RecordError
        The file is missing or is not a look.
    """
    record = _read_record(path, "look", LOOK_VERSION)
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


def batches_run(plan: Plan) -> int | None:
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


def live_in(plan: Plan, batch: int) -> list[str]:
    """Return the slugs of the cells that are debated in a batch: all, unless the look before dropped some.

    Raises
    ------
    RecordError
        That look was not taken.
    """
    every = [cell.slug for cell in plan.cells]
    if batch == 1 or not plan.is_racing:
        return every
    named = set(read_look(Path(plan.layout.look(batch - 1))).get("live", ()))
    return [slug for slug in every if slug in named]


def batches_by_cell(plan: Plan, last: int) -> dict[str, int]:
    """Return the last batch up to `last` in which each cell is debated, by its slug."""
    return {slug: batch for batch in range(1, last + 1) for slug in live_in(plan, batch)}


def batches_of(plan: Plan, slug: str) -> int | None:
    """Return the number of batches of one cell's results; None if the plan has no stopping.

    Raises
    ------
    RecordError
        The last look is still to come.
    """
    last = batches_run(plan)
    return None if last is None else batches_by_cell(plan, last)[slug]


def plan_or_empty(layout: Layout) -> dict[str, Any]:
    """Return the plan record of an experiment; empty if it is missing or damaged: it has an entry in the manifest."""
    try:
        return read_plan(Path(layout.plan))
    except RecordError:
        return {}


def spec_of(layout: Layout) -> str:
    """Return the spec's path, by the plan; a placeholder if there is none."""
    return str(plan_or_empty(layout).get("spec", "SPEC"))

"""Rule `tournament`: rank the cells by the ballots of all judges."""

from __future__ import annotations

import argparse
from pathlib import Path

from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import JobVerb
from cortexdsl.metrics.scores import write_rows
from cortexdsl.metrics.tournament import Entrant, tournament_tables
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_files import debate_files
from cortexdsl.plan.persistence.recording import record_files, seal_manifest
from cortexdsl.records import read_debates


def _work(plan: Plan, args: argparse.Namespace) -> None:
    if plan.tournament is None:
        raise InputError(f"{plan.spec_path}: there is no tournament\n    write analysis: {{tournament: [MODEL]}}")
    judges = [judge.name for judge in plan.tournament.judges]
    tables: dict[str, list[dict[str, object]]] = {}
    for dataset in plan.tasks:
        ballots = {judge: Path(plan.layout.ballots(dataset, judge)) for judge in judges}
        clusters = {question.id: question.cluster or question.id for question in plan.task(dataset).questions}
        entrants = [_entrant(plan, dataset, cell.name, cell.slug) for cell in plan.cells]
        for table, rows in tournament_tables(dataset, entrants, ballots, clusters, plan.analysis["alpha"]).items():
            tables.setdefault(table, []).extend(rows)
    paths = [Path(plan.layout.table(table)) for table in tables]
    for path, rows in zip(paths, tables.values(), strict=True):
        write_rows(path, rows)  # type: ignore[arg-type]
    record_files(plan.layout, paths)
    seal_manifest(plan.layout)


JOB = JobVerb("", _work)


def _entrant(plan: Plan, dataset: str, name: str, slug: str) -> Entrant:
    records = (record for path in debate_files(plan, dataset, slug) for record in read_debates(Path(path)))
    return Entrant(
        name, {(record.header.replicate, record.debate.question_id): record.debate.answer for record in records}
    )

"""Rule `agreement`: compare the judge with exact match, from the judgements of all cells."""

from __future__ import annotations

import argparse
from pathlib import Path

from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import JobVerb
from cortexdsl.metrics.scores import Row, write_rows
from cortexdsl.metrics.tables import agreement_rows
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_files import judgement_files
from cortexdsl.plan.persistence.recording import record_files, seal_manifest
from cortexdsl.tasks.judging import Judgements, text_grade, text_scores

EXACT = "em"


def _work(plan: Plan, args: argparse.Namespace) -> None:
    if plan.judging is None:
        raise InputError(
            f"{plan.spec_path}: nothing is judged\n    write analysis: {{metrics: [judged], judge: {{model: NAME}}}}"
        )
    rows = [row for dataset in plan.judging.datasets for row in _rows(plan, dataset)]
    write_rows(Path(plan.layout.agreement), rows)
    record_files(plan.layout, [plan.layout.agreement])
    seal_manifest(plan.layout)


JOB = JobVerb("", _work)


def _rows(plan: Plan, dataset: str) -> list[Row]:
    by_cell = {
        cell.name: Judgements(Path(path)).by_answer
        for cell in plan.cells
        for path in judgement_files(plan, dataset, cell.slug)
    }
    answers = {answered: None for judged in by_cell.values() for answered in judged}
    task = plan.task(dataset)
    grade = text_grade(task, EXACT) if EXACT in text_scores(task) else None
    exact = {answered: grade(*answered) == 1.0 for answered in answers} if grade else {}
    return list(agreement_rows(dataset, by_cell, exact))

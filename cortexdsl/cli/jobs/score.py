"""`cortexdsl score`: grade the debates of one cell; its part of every table. The workflow calls it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from cortexdsl.analysis.metrics.measures.wording import other_language
from cortexdsl.analysis.metrics.registry import MEASURES, READINGS
from cortexdsl.analysis.metrics.tables.by_answer import answer_rows
from cortexdsl.analysis.metrics.tables.by_round import round_rows
from cortexdsl.analysis.metrics.tables.description import description
from cortexdsl.analysis.metrics.view import Grade, graded, graded_at_once
from cortexdsl.analysis.units.scores import Row, score_rows, write_rows, write_scores
from cortexdsl.analysis.units.table import ASKED
from cortexdsl.cli.arguments import add_cell, add_spec
from cortexdsl.debate.rereading import read_again
from cortexdsl.plan import PARTS, Plan
from cortexdsl.plan.kept.looks import batches_of
from cortexdsl.plan.kept.table_seals import seal_parts
from cortexdsl.plan.parts.judging import JUDGED
from cortexdsl.records import Record, read_debates
from cortexdsl.tasks.grading.judgements import Judgements
from cortexdsl.tasks.text_scores import text_grade, text_scores
from cortexdsl.terms import EMPTY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    add_cell(parser)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    score_cell(args.compiled(args.spec, args.experiment), args.dataset, args.cell)
    return 0


def score_cell(plan: Plan, dataset: str, slug: str) -> None:
    """Grade the debates of a cell and write its part of every table."""
    task = plan.task(dataset)
    paths = plan.debates_of(dataset, slug, batches_of(plan, slug))
    records = [record for path in paths for record in read_debates(Path(path))]
    grade = graded_at_once(records, task.grade_all)
    clusters = {question.id: question.cluster for question in task.questions}

    def part(table: str) -> Path:
        path = Path(plan.layout.part(table, dataset, slug))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    is_judged, said = plan.is_judged(dataset), Path(plan.layout.judgements(dataset, slug))
    judged = {JUDGED: Judgements(said)} if is_judged else {}
    rows = cell_scores(plan, dataset, slug, records, grade, judged)
    if plan.is_racing:  # a question that a cell was never asked is not missing
        asked = len(plan.question_ids(batches_of(plan, slug))[dataset])
        rows = [{**row, ASKED: asked} for row in rows]
    write_scores(part("scores"), rows)
    write_rows(part("rounds"), round_rows(records, grade, clusters))
    write_rows(part("answers"), answer_rows(records, grade))
    for table, frame in description(records, grade).items():
        frame.to_csv(part(table), index=False)
    seal_parts(part(table) for table in PARTS)


def cell_scores(
    plan: Plan, dataset: str, slug: str, records: Sequence[Record], grade: Grade, judged: Mapping[str, Grade] = EMPTY
) -> list[Row]:
    """Return the rows of some debates of a cell in the table of scores: short texts have `em` and `f1` beside."""
    cell, task = plan.cell(slug), plan.task(dataset)
    clusters = {question.id: question.cluster for question in task.questions}
    labels = {"cluster": clusters, "group": {question.id: task.group(question.id) for question in task.questions}}
    also = {name: text_grade(task, name) for name in text_scores(task)}
    rows = score_rows(records, grade, methods={cell.name: cell.method}, also={**also, **judged}, labels=labels)
    asked = {question.id: question for question in task.questions}
    for row, record in zip(rows, records, strict=True):
        row["other_language"] = other_language(record.debate, asked[record.debate.question_id])
    for reading in READINGS:
        for row, more in zip(rows, _read_otherwise(plan, dataset, slug, records, reading), strict=True):
            row.update(more)
    return rows


def _read_otherwise(
    plan: Plan, dataset: str, slug: str, records: Sequence[Record], reading: Literal["strict", "lenient"]
) -> list[Row]:
    """Score debates under one reading of their replies, whichever of the two they were debated with."""
    task, method = replace(plan.task(dataset), reading=reading), plan.cell(slug).debate
    again = [
        replace(
            record,
            debate=read_again(
                record.debate,
                method,
                task.reader(task.item(record.debate.question_id).question),
                seed=plan.seed,
                replicate=record.header.replicate,
            ),
        )
        for record in records
    ]
    grade = graded_at_once(again, task.grade_all)
    views = [graded(record.debate, grade) for record in again]
    return [
        {f"{reading}_score": MEASURES["score"](view), f"{reading}_unparsed": MEASURES["unparsed"](view)}
        for view in views
    ]

"""`cortexdsl score`: one cell's part of every table, or, without a cell, the tables of all cells."""

from __future__ import annotations

import argparse
from pathlib import Path

from cortexdsl.analysis.metrics.by_round import round_rows, round_table
from cortexdsl.analysis.metrics.description import description
from cortexdsl.analysis.metrics.view import graded_at_once
from cortexdsl.analysis.scores import check_complete, read_rows, score_rows, write_rows, write_scores
from cortexdsl.plan import TABLES, Plan, compile_spec
from cortexdsl.records import read_debates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", help="the spec")
    parser.add_argument("--experiment", help="name of the experiment; by default that of the spec")
    parser.add_argument("--dataset", help="label of the dataset; with --cell")
    parser.add_argument("--cell", help="the cell, as in file names; without it the parts of all are joined")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = compile_spec(args.spec, experiment=args.experiment)
    if args.cell:
        score_cell(plan, args.dataset, args.cell)
    else:
        join(plan)
    return 0


def score_cell(plan: Plan, dataset: str, slug: str) -> None:
    """Grade the debates of a cell and write its part of every table."""
    cell, task = plan.cell(slug), plan.task(dataset)
    records = [record for path in plan.debates_of(dataset, slug) for record in read_debates(Path(path))]
    grade = graded_at_once(records, task.grade_all)
    clusters = {question.id: question.cluster for question in task.questions}
    labels = {"cluster": clusters, "group": {question.id: task.group(question.id) for question in task.questions}}

    def part(table: str) -> Path:
        path = Path(plan.layout.part(table, dataset, slug))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    write_scores(part("scores"), score_rows(records, grade, methods={cell.name: cell.method}, labels=labels))
    write_rows(part("rounds"), round_rows(records, grade, clusters))
    for table, frame in description(records, grade).items():
        frame.to_csv(part(table), index=False)


def join(plan: Plan) -> None:
    """Join the parts of every table, after a look that no score is missing and none stands twice."""
    for table in TABLES:
        rows = [row for path in plan.parts(table) for row in read_rows(Path(path))]
        target = Path(plan.layout.table(table))
        if table == "rounds":
            round_table(rows, seed=plan.seed).to_csv(target, index=False)
            continue
        if table == "scores":
            questions = {label: [question.id for question in task.questions] for label, task in plan.tasks.items()}
            check_complete(rows, [cell.name for cell in plan.cells], plan.replicates, questions)
        write_rows(target, rows)

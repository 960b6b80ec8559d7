"""`cortexdsl score`: grade the debates of one cell; its part of every table. The workflow calls it."""

from __future__ import annotations

import argparse
from pathlib import Path

from cortexdsl.analysis.metrics.by_round import round_rows
from cortexdsl.analysis.metrics.description import description
from cortexdsl.analysis.metrics.view import graded_at_once
from cortexdsl.analysis.scores import score_rows, write_rows, write_scores
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.records import read_debates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", help="the spec")
    parser.add_argument("--experiment", help="name of the experiment; by default that of the spec")
    parser.add_argument("--dataset", required=True, help="label of the dataset")
    parser.add_argument("--cell", required=True, help="the cell, as in file names: sparse~keep=median")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    score_cell(compile_spec(args.spec, experiment=args.experiment), args.dataset, args.cell)
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

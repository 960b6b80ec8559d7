"""`cortexdsl score`: grade the debates of one cell, or, without a cell, join the scores of all."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from cortexdsl.analysis.metrics.by_round import round_rows, round_table
from cortexdsl.analysis.scores import check_complete, read_rows, score_rows, write_rows, write_scores
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.records import Record, read_debates
from cortexdsl.tasks.task import Task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", help="the spec")
    parser.add_argument("--experiment", help="name of the experiment; by default that of the spec")
    parser.add_argument("--dataset", help="label of the dataset; with --cell")
    parser.add_argument("--cell", help="the cell, as in file names; without it the scores of all are joined")
    parser.add_argument("--scores", required=True, type=Path, help="the table of scores to write")
    parser.add_argument("--rounds", required=True, type=Path, help="the table of rounds to write")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = compile_spec(args.spec, experiment=args.experiment)
    if args.cell:
        _score(plan, args.dataset, args.cell, args.scores, args.rounds)
    else:
        _join(plan, args.scores, args.rounds)
    return 0


def _score(plan: Plan, dataset: str, slug: str, scores: Path, rounds: Path) -> None:
    cell, task = plan.cell(slug), plan.task(dataset)
    records = [record for path in plan.debates_of(dataset, slug) for record in read_debates(Path(path))]
    grades = Grades(task, records)
    clusters = {question.id: question.cluster for question in task.questions}
    labels = {"cluster": clusters, "group": {question.id: task.group(question.id) for question in task.questions}}
    write_scores(scores, score_rows(records, grades, methods={cell.name: cell.method}, labels=labels))
    write_rows(rounds, round_rows(records, grades, clusters))


class Grades:
    """Grades of all answers in some records, found at once: quicker than one by one for mathematics."""

    def __init__(self, task: Task, records: Iterable[Record]) -> None:
        given = {
            (record.debate.question_id, answer)
            for record in records
            for answer in (
                record.debate.answer,
                *(turn.answer for turn in record.debate.turns if turn.reads == "answer"),
            )
        }
        ordered = sorted(given, key=lambda pair: (pair[0], pair[1] or ""))
        self._found = dict(zip(ordered, task.grade_all(ordered), strict=True))
        self._task = task

    def __call__(self, question_id: str, answer: str | None) -> float:
        """Return the grade of an answer."""
        found = self._found.get((question_id, answer))
        return self._task.grade(question_id, answer) if found is None else found


def _join(plan: Plan, scores: Path, rounds: Path) -> None:
    rows = [row for path in plan.all_scores() for row in read_rows(Path(path))]
    questions = {label: [question.id for question in task.questions] for label, task in plan.tasks.items()}
    check_complete(rows, [cell.name for cell in plan.cells], plan.replicates, questions)
    write_rows(scores, rows)
    spoken = [row for path in plan.per_cell(plan.layout.rounds) for row in read_rows(Path(path))]
    round_table(spoken, seed=plan.seed).to_csv(rounds, index=False)

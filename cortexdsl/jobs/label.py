"""Rule `label`: label the turns of one cell's debates on one dataset, by rules and by the judge.

Reads the cell's debates, and the looks up to the last one. Writes one row for each label of a turn. The judge's calls
are logged with its calls about answers, which no debate reads, because the judge is told the golds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path

from cortexdsl.core import Call, Label, Reply, Turn
from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import AskingVerb, ClientOptions
from cortexdsl.jobs.judge import ask_judge
from cortexdsl.metrics.labels import label_rows, write_labels
from cortexdsl.metrics.rows import LabelRow
from cortexdsl.metrics.turn_rules import labelled_turns
from cortexdsl.metrics.view import DebateView, grade_together, view_debate
from cortexdsl.models.job_tally import CallCounts, JobInfo
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import label_digest
from cortexdsl.plan.job_files import debate_files
from cortexdsl.plan.persistence.recording import record_files
from cortexdsl.plan.persistence.store import batches_run
from cortexdsl.records import Record, read_all
from cortexdsl.tasks.labelling import label_call, label_variables, read_label


async def _work(plan: Plan, args: argparse.Namespace, options: ClientOptions) -> str:
    rows, counts = await label_cell(plan, args.dataset, args.cell, args.out, options)
    unread = sum(row.value is None for row in rows)
    return f"{args.dataset} {args.cell}: {counted(len(rows), 'label')} of turns, {unread} unreadable; {counts}"


JOB = AskingVerb("--dataset --cell --out --connections --errors-again --threads", _work)


async def label_cell(
    plan: Plan, dataset: str, slug: str, out: Path, options: ClientOptions
) -> tuple[Sequence[LabelRow], CallCounts]:
    """Label the turns of a cell's debates, and write the rows.

    Raises
    ------
    InputError
        The spec has no labels.
    ModelError, BudgetError
        As the client does; offline also if a call is in no log.
    """
    if plan.labelling is None:
        raise InputError(f"{plan.spec_path}: no turn is to be labelled\n    write labels: {{repetition: built-in}}")
    labels, judge = plan.labelling.labels, plan.labelling.judge
    paths = debate_files(plan, dataset, slug, batches_run(plan))
    records = read_all(paths)
    views = graded_views(plan, dataset, records)
    asked = list(turn_calls(plan, dataset, views))
    replies: Sequence[Reply] = ()
    counts = CallCounts()
    if judge is not None:
        file, job = Path(plan.layout.label_log(dataset, slug)), label_job(plan, dataset, slug)
        replies, counts = await ask_judge(plan, judge, [call for *_, call in asked], file, job, options)
    judged: list[dict[tuple[str, int], tuple[str | None, str]]] = [{} for _ in views]
    for (number, label, turn, _), reply in zip(asked, replies, strict=True):
        judged[number][label.name, turn.turn] = read_label(reply.text, label.values), reply.key
    rows = [
        row
        for record, view, replied in zip(records, views, judged, strict=True)
        for row in label_rows(record, view, labels, replied)
    ]
    write_labels(out, rows)
    if not options.offline:
        record_files(plan.layout, [out])
    return rows, counts


def label_job(plan: Plan, dataset: str, slug: str) -> JobInfo:
    """Return the job that labels the turns of a cell."""
    return JobInfo(f"{dataset}~{slug}~label", dataset, slug, digest=label_digest(plan, dataset, slug))


def graded_views(plan: Plan, dataset: str, records: Sequence[Record]) -> list[DebateView]:
    """Return debates with their grades, which say which turns are labelled."""
    grade = grade_together(records, plan.task(dataset).grade_all)
    return [view_debate(record.debate, grade) for record in records]


def turn_calls(plan: Plan, dataset: str, views: Sequence[DebateView]) -> Iterator[tuple[int, Label, Turn, Call]]:
    """Yield each judge's call about a turn, with the number of its debate, the label, and the turn."""
    labelling, task = plan.labelling, plan.task(dataset)
    if labelling is None or labelling.judge is None:
        return
    questions = {question.id: question for question in task.questions}
    for number, view in enumerate(views):
        question, golds = questions[view.debate.question_id], task.gold(view.debate.question_id)
        for label in labelling.judged:
            for turn in compress(view.debate.turns, labelled_turns(view, label.where)):
                variables = label_variables(question, golds, view.debate, turn)
                call = label_call(label, labelling.judge, variables, plan.templates.render, seed=plan.seed)
                yield number, label, turn, call

"""Rule `label`: label the turns of one cell's debates on one dataset, by rules and by the judge.

Reads the cell's debates, and the looks up to the last one. Writes one row for each label of a turn. The judge's calls
are logged with its calls about answers, which no debate reads, because the judge is told the golds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cortexdsl.core import Reply
from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import AskingVerb, ClientOptions
from cortexdsl.jobs.judge import ask_judge
from cortexdsl.metrics.labels import label_rows, write_labels
from cortexdsl.metrics.rows import LabelRow
from cortexdsl.metrics.turn_rules import labelled_turns
from cortexdsl.metrics.view import grade_together, view_debate
from cortexdsl.models.job_tally import CallCounts, JobInfo
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import label_digest
from cortexdsl.plan.job_files import debate_files
from cortexdsl.plan.persistence.recording import record_files
from cortexdsl.plan.persistence.store import batches_of
from cortexdsl.records import read_all
from cortexdsl.tasks.labelling import label_call, label_variables, read_label


async def _work(plan: Plan, args: argparse.Namespace, options: ClientOptions) -> str:
    rows, counts = await label_cell(plan, args.dataset, args.cell, args.out, options)
    unread = sum(row.value is None for row in rows)
    return (
        f"{args.dataset} {args.cell}: {counted(len(rows), 'label')} of turns, {unread} unreadable; "
        f"{counted(counts.asked, 'call')} sent, {counts.replayed} replayed, {counts.failed} failed"
    )


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
    labels, judge, task = plan.labelling.labels, plan.labelling.judge, plan.task(dataset)
    questions = {question.id: question for question in task.questions}
    paths = debate_files(plan, dataset, slug, batches_of(plan, slug))
    records = read_all(paths)
    grade = grade_together(records, task.grade_all)
    views = [view_debate(record.debate, grade) for record in records]
    asked = [
        (number, label, turn)
        for number, view in enumerate(views)
        for label in plan.labelling.judged
        for turn, holds in zip(view.debate.turns, labelled_turns(view, label.where), strict=True)
        if holds
    ]
    replies: Sequence[Reply] = ()
    counts = CallCounts()
    if judge is not None:
        calls = []
        for number, label, turn in asked:
            debate = views[number].debate
            golds = task.gold(debate.question_id)
            variables = label_variables(questions[debate.question_id], golds, debate, turn)
            calls.append(label_call(label, judge, variables, plan.templates.render, seed=plan.seed))
        file = Path(plan.layout.judge_calls(dataset), f"{slug}~labels.jsonl")
        job = JobInfo(f"{dataset}~{slug}~label", dataset, slug, digest=label_digest(plan, dataset, slug))
        replies, counts = await ask_judge(plan, judge, calls, file, job, options)
    judged: list[dict[tuple[str, int], tuple[str | None, str]]] = [{} for _ in views]
    for (number, label, turn), reply in zip(asked, replies, strict=True):
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

"""Rule `judge`: a model judges the answers that one cell gave to one dataset.

Reads the cell's debates, and the looks up to the last one. Writes one line for each different answer; the judge's calls
are logged in a folder of their own, which no debate reads, because the judge is told the golds.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.core import Call, Model, Reply
from cortexdsl.engine.concurrency import gather_or_cancel
from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import AskingVerb, ClientOptions
from cortexdsl.models.job_tally import CallCounts, JobInfo
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import judge_digest
from cortexdsl.plan.job_files import debate_files
from cortexdsl.plan.parts import Judging
from cortexdsl.plan.persistence.recording import record_files
from cortexdsl.plan.persistence.store import batches_run
from cortexdsl.records import Record, read_all
from cortexdsl.tasks.judging import Answered, Judgement, judge_call, judgement_lines, read_judgement


async def _work(plan: Plan, args: argparse.Namespace, options: ClientOptions) -> str:
    judgements, counts = await judge_cell(plan, args.dataset, args.cell, args.out, options)
    unread = sum(one.is_right is None for one in judgements)
    judged = f"{counted(len(judgements), 'different answer')} judged, {counted(unread, 'judgement')} unreadable"
    return f"{args.dataset} {args.cell}: {judged}; {counts}"


JOB = AskingVerb("--dataset --cell --out --connections --errors-again --threads", _work)


async def judge_cell(
    plan: Plan, dataset: str, slug: str, out: Path, options: ClientOptions
) -> tuple[Sequence[Judgement], CallCounts]:
    """Have the answers of a cell's debates judged; parameters as in `judge_records`."""
    paths = debate_files(plan, dataset, slug, batches_run(plan))
    records = read_all(paths)
    return await judge_records(plan, dataset, slug, records, out, options, log=plan.cell(slug).slug)


async def judge_records(
    plan: Plan, dataset: str, slug: str, records: Sequence[Record], out: Path, options: ClientOptions, *, log: str
) -> tuple[Sequence[Judgement], CallCounts]:
    """Have the answers of some debates of a cell judged, and write the judgements.

    Parameters
    ----------
    plan : Plan
    dataset, slug : str
    records : sequence of Record
    out : Path
    options : ClientOptions
    log : str
        Name of the call log to write; replies in any log of its folder are not asked for again.

    Raises
    ------
    InputError
        The spec does not ask for judgements of this dataset.
    ModelError, BudgetError
        As the client does; offline also if a call is in no log.
    """
    calls = answer_calls(plan, dataset, records)
    file, job = Path(plan.layout.judge_log(dataset, log)), judge_job(plan, dataset, slug, log)
    replies, counts = await ask_judge(plan, _judging(plan, dataset).model, list(calls.values()), file, job, options)
    judgements = [
        Judgement(*answered, read_judgement(reply.text), reply.key)
        for answered, reply in zip(calls, replies, strict=True)
    ]
    write_lines(out, judgement_lines(judgements))
    if not options.offline:
        record_files(plan.layout, [out])
    return judgements, counts


def judge_job(plan: Plan, dataset: str, slug: str, log: str) -> JobInfo:
    """Return the job that has the answers of a cell judged, with a call log of this name."""
    return JobInfo(f"{dataset}~{log}~judge", dataset, slug, digest=judge_digest(plan, dataset, slug))


def answer_calls(plan: Plan, dataset: str, records: Iterable[Record]) -> dict[Answered, Call]:
    """Return the judge's call about each different answer of some debates."""
    judging, task, render = _judging(plan, dataset), plan.task(dataset), plan.templates.render
    questions, debates = {question.id: question for question in task.questions}, [record.debate for record in records]
    answers = dict.fromkeys((one.question_id, one.answer) for one in debates if one.answer is not None)
    return {
        (name, answer): judge_call(judging.model, questions[name], task.gold(name), answer, render, seed=plan.seed)
        for name, answer in answers
    }


async def ask_judge(
    plan: Plan, judge: Model, calls: Sequence[Call], file: Path, job: JobInfo, options: ClientOptions
) -> tuple[Sequence[Reply], CallCounts]:
    """Send calls to a judge, and log them where no debate reads them: the judge of answers is told the golds.

    If an engine answers the judge, the rounds of files have asked all of them.

    Parameters
    ----------
    plan : Plan
    judge : Model
    calls : sequence of Call
    file : Path
        The call log to write; replies in any log of its folder are not asked for again.
    job : JobInfo
    options : ClientOptions

    Raises
    ------
    ModelError, BudgetError
        As the client does; offline also if a call is in no log.
    """
    if judge.engine is not None:
        options = replace(options, offline=True, errors_again=False)
    gate = asyncio.Semaphore(max(1, options.limits.connections))
    async with options.open(plan, file, job) as client:

        async def ask(call: Call) -> Reply:
            async with gate:
                return await client(call)

        replies = await gather_or_cancel([ask(call) for call in calls])
        client.check_failures()
        await client.sync()
    if not options.offline:
        record_files(plan.layout, [file])
    return replies, client.counts


def _judging(plan: Plan, dataset: str) -> Judging:
    if plan.judging is None or not plan.is_judged(dataset):
        raise InputError(
            f"{plan.spec_path}: no answer to {dataset} is to be judged\n"
            "    write analysis: {metrics: [judged], judge: NAME}"
        )
    return plan.judging

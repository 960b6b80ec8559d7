"""Rule `judge`: a model judges the answers that one cell gave to one dataset.

Reads the cell's debates, and the looks up to the last one. Writes one line for each different answer; the judge's calls
are logged in a folder of their own, which no debate reads, because the judge is told the golds.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.core import Ask, Limits, Model
from cortexdsl.engine.concurrency import gather_or_cancel
from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import (
    add_cell,
    add_connections,
    add_errors_again,
    add_out,
    add_spec,
    add_threads,
    limits_of,
    plan_of_job,
    run_alone,
)
from cortexdsl.models.client import open_client
from cortexdsl.models.job_tally import CallCounts, JobInfo
from cortexdsl.models.shared_state import SharedState
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import judge_digest
from cortexdsl.plan.job_files import debate_files
from cortexdsl.plan.jobs.consent import check_consent
from cortexdsl.plan.parts import Judging
from cortexdsl.plan.persistence.journal import record_files
from cortexdsl.plan.persistence.store import batches_of
from cortexdsl.records import Record, read_debates
from cortexdsl.tasks.judging import Answered, Judgement, Rendering, judge_call, judgement_lines, read_judgement
from cortexdsl.tasks.task import Task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    add_cell(parser)
    add_out(parser, "the judgements")
    add_connections(parser)
    add_errors_again(parser)
    add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    return run_alone(attend, args)


async def attend(args: argparse.Namespace, shared: SharedState | None = None) -> str:
    """Run the verb, and return its message; parameters as in `jobs.debate.attend`."""
    plan = plan_of_job(args.spec, args.experiment)
    check_consent(plan)
    job = plan, args.dataset, args.cell, args.out, limits_of(plan, args, shared)
    judgements, counts = await _judge(*job, errors_again=args.errors_again, shared=shared)
    unread = sum(one.is_right is None for one in judgements)
    return (
        f"{args.dataset} {args.cell}: {counted(len(judgements), 'different answer')} judged, "
        f"{counted(unread, 'judgement')} unreadable; "
        f"{counted(counts.asked, 'call')} sent, {counts.replayed} replayed, {counts.failed} failed"
    )


def ask_failures_again(plan: Plan, dataset: str, cell: str) -> CallCounts:
    """Repeat the failed calls of a cell's judgements; other judgements come from the call logs.

    Raises
    ------
    ModelError, BudgetError
    """
    out = Path(plan.layout.judgements(dataset, cell))
    return asyncio.run(_judge(plan, dataset, cell, out, plan.limits, errors_again=True))[1]


def replay(plan: Plan, dataset: str, cell: str, out: Path) -> None:
    """Judge the answers of a cell from the judge's call logs alone.

    Raises
    ------
    ModelError
        A call is in no log.
    """
    asyncio.run(_judge(plan, dataset, cell, out, plan.limits, offline=True))


async def _judge(
    plan: Plan,
    dataset: str,
    slug: str,
    out: Path,
    limits: Limits,
    *,
    offline: bool = False,
    errors_again: bool = False,
    shared: SharedState | None = None,
) -> tuple[Sequence[Judgement], CallCounts]:
    paths = debate_files(plan, dataset, slug, batches_of(plan, slug))
    records = [record for path in paths for record in read_debates(Path(path))]
    return await judge_records(
        plan,
        dataset,
        slug,
        records,
        out,
        limits,
        log=plan.cell(slug).slug,
        offline=offline,
        errors_again=errors_again,
        shared=shared,
    )


async def judge_records(
    plan: Plan,
    dataset: str,
    slug: str,
    records: Sequence[Record],
    out: Path,
    limits: Limits,
    *,
    log: str,
    offline: bool = False,
    errors_again: bool = False,
    shared: SharedState | None = None,
) -> tuple[Sequence[Judgement], CallCounts]:
    """Have the answers of some debates of a cell judged, and write the judgements.

    Parameters
    ----------
    plan : Plan
    dataset, slug : str
    records : sequence of Record
    out : Path
    limits : Limits
    log : str
        Name of the call log to write; replies in any log of its folder are not asked for again.
    offline : bool
        Whether to take calls from logs alone.
    errors_again : bool
        Whether to repeat failed calls.
    shared : SharedState or None
        What jobs in one event loop share.

    Raises
    ------
    InputError
        The spec does not ask for judgements of this dataset.
    """
    judging, task = _judging(plan, dataset), plan.task(dataset)
    debates = [record.debate for record in records]
    answers = [(debate.question_id, debate.answer) for debate in debates if debate.answer is not None]
    folder = Path(plan.layout.judge_calls(dataset))
    client = open_client(
        None if offline else folder / f"{log}.jsonl",
        folder=folder,
        limits=limits,
        ledgers=Path(plan.layout.spent),
        addresses=Path(plan.layout.addresses),
        job=JobInfo(
            f"{dataset}~{log}~judge", dataset, slug, spec=plan.spec_name, digest=judge_digest(plan, dataset, slug)
        ),
        offline=offline,
        errors_again=errors_again,
        shared=shared,
    )
    async with client:
        judgements = await judge_answers(
            answers, task, judging.model, client, plan.templates.render, seed=plan.seed, connections=limits.connections
        )
        client.check_failures()
        await client.sync()
    write_lines(out, judgement_lines(judgements))
    if not offline:
        record_files(plan.layout, [out, folder / f"{log}.jsonl"])
    return judgements, client.counts


async def judge_answers(
    answers: Iterable[Answered], task: Task, judge: Model, ask: Ask, render: Rendering, *, seed: int, connections: int
) -> list[Judgement]:
    """Have answers judged, each different one once; the judge is told the golds, and no agent reads its replies.

    Parameters
    ----------
    answers : iterable of (question id, answer)
    task : Task
    judge : Model
    ask : callable
        Sends a call, and logs it in the judge's own call log.
    render : callable
    seed : int
        Of the experiment.
    connections : int
        Answers judged at once.

    Returns
    -------
    list of Judgement
        In order of appearance; `is_right` is None if the reply failed or cannot be read.
    """
    questions = {question.id: question for question in task.questions}
    unique = list(dict.fromkeys(answers))
    gate = asyncio.Semaphore(max(1, len(unique) if judge.is_batched else connections))

    async def one(question_id: str, answer: str) -> Judgement:
        async with gate:
            call = judge_call(judge, questions[question_id], task.gold(question_id), answer, render, seed=seed)
            reply = await ask(call)
        return Judgement(question_id, answer, read_judgement(reply.text), reply.key)

    return await gather_or_cancel([one(*answered) for answered in unique])


def _judging(plan: Plan, dataset: str) -> Judging:
    if plan.judging is None or not plan.is_judged(dataset):
        raise InputError(
            f"{plan.spec_path}: no answer to {dataset} is to be judged\n"
            "    write analysis: {metrics: [judged], judge: {model: NAME}}"
        )
    return plan.judging

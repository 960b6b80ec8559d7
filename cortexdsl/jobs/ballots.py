"""Rule `ballots`: a judge of a tournament compares the final answers of all cells on one dataset, in both orders.

Reads the debates of all cells. Writes one line for each two different answers to a question; the calls are logged in a
folder that no debate reads.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.core import Call, Model
from cortexdsl.jobs.arguments import AskingVerb, ClientOptions
from cortexdsl.jobs.judge import ask_judge
from cortexdsl.models.job_tally import CallCounts, JobInfo
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import ballots_digest
from cortexdsl.plan.job_files import debate_files
from cortexdsl.plan.persistence.recording import record_files
from cortexdsl.records import read_debates
from cortexdsl.tasks.balloting import Ballot, Compared, ballot_calls, ballot_lines, compared_answers, read_ballot


async def _work(plan: Plan, args: argparse.Namespace, options: ClientOptions) -> str:
    ballots, counts = await vote(plan, args.dataset, args.judge, args.out, options)
    unread = sum(not one.is_read for one in ballots)
    return f"{args.dataset} {args.judge}: {counted(len(ballots), 'ballot')}, {unread} of them unreadable; {counts}"


JOB = AskingVerb("--dataset --judge --out --connections --errors-again --threads", _work)


async def vote(
    plan: Plan, dataset: str, judge: str, out: Path, options: ClientOptions
) -> tuple[list[Ballot], CallCounts]:
    """Have a judge compare the answers of all cells to a dataset, and write its ballots.

    Raises
    ------
    InputError
        The tournament has no such judge.
    ModelError, BudgetError
        As the client does; offline also if a call is in no log.
    """
    model = plan.tournament_judge(judge)
    answers = [
        (record.debate.question_id, record.debate.answer)
        for cell in plan.cells
        for path in debate_files(plan, dataset, cell.slug)
        for record in read_debates(Path(path))
    ]
    pairs, file = compared_answers(answers), Path(plan.layout.ballot_log(dataset, judge))
    calls = pair_calls(plan, dataset, model, pairs)
    replies, counts = await ask_judge(plan, model, calls, file, ballot_job(plan, dataset, judge), options)
    ballots = [
        Ballot(*pair, (read_ballot(forth.text), read_ballot(back.text)), (forth.key, back.key))
        for pair, forth, back in zip(pairs, replies[::2], replies[1::2], strict=True)
    ]
    write_lines(out, ballot_lines(ballots))
    if not options.offline:
        record_files(plan.layout, [out])
    return ballots, counts


def ballot_job(plan: Plan, dataset: str, judge: str) -> JobInfo:
    """Return the job in which a judge compares the answers to a dataset."""
    return JobInfo(f"{dataset}~ballots~{judge}", dataset, digest=ballots_digest(plan, dataset, judge))


def pair_calls(plan: Plan, dataset: str, judge: Model, pairs: Sequence[Compared]) -> list[Call]:
    """Return a judge's two calls about each two answers."""
    questions, render = {question.id: question for question in plan.task(dataset).questions}, plan.templates.render
    return [
        call
        for question_id, first, second in pairs
        for call in ballot_calls(judge, questions[question_id], first, second, render, seed=plan.seed)
    ]

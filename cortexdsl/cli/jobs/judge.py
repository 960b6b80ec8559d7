"""`cortexdsl judge`: ask the judge about the answers that one cell gave to one dataset. The workflow calls it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cortexdsl.cli.arguments import add_cell, add_connections, add_errors_again, add_out, add_spec, add_threads
from cortexdsl.errors import InputError
from cortexdsl.models.door import Commons, Counts, Job, open_door
from cortexdsl.plan import Plan
from cortexdsl.plan.kept.looks import batches_of
from cortexdsl.plan.parts.judging import Judging
from cortexdsl.records import Record, read_debates
from cortexdsl.records.files import write_lines
from cortexdsl.run import judge_answers
from cortexdsl.tasks.grading.judgements import Judgement, judgement_lines
from cortexdsl.terms import Limits


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
    print(asyncio.run(attend(args)), file=sys.stderr)
    return 0


async def attend(args: argparse.Namespace, commons: Commons | None = None) -> str:
    """Run the verb, and return what there is to say of it; parameters as in `cli.jobs.debate.attend`."""
    plan = args.compiled(args.spec, args.experiment)
    alone = replace(plan.limits, connections=args.connections or plan.limits.connections)
    limits = alone if commons is None else plan.limits
    again = args.errors_again
    found, counts = await _judge(plan, args.dataset, args.cell, args.out, limits, errors_again=again, commons=commons)
    unread = sum(one.is_right is None for one in found)
    return (
        f"{args.dataset} {args.cell}: {len(found)} different answers judged, {unread} judgements unreadable; "
        f"{counts.asked} calls sent, {counts.replayed} replayed, {counts.failed} failed"
    )


def ask_failures_again(plan: Plan, dataset: str, cell: str) -> Counts:
    """Judge the answers of a cell again: judgements from the call logs, and what failed by asking the judge.

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
        A call that is in no log.
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
    commons: Commons | None = None,
) -> tuple[Sequence[Judgement], Counts]:
    paths = plan.debates_of(dataset, slug, batches_of(plan, slug))
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
        commons=commons,
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
    commons: Commons | None = None,
) -> tuple[Sequence[Judgement], Counts]:
    """Have the answers of some debates of a cell judged, and write the judgements.

    Parameters
    ----------
    plan : Plan
    dataset, slug : str
    records : sequence of Record
    out : Path
    limits : Limits
    log : str
        Name of the call log that is written to; what any log beside it holds is not asked again.
    offline : bool
        Whether to take calls from logs alone.
    errors_again : bool
        Whether to ask calls again that failed.
    commons : Commons or None
        What jobs in one loop share.

    Raises
    ------
    InputError
        Nothing of the dataset is judged.
    """
    judging, task = _judging(plan, dataset), plan.task(dataset)
    debates = [record.debate for record in records]
    answers = [(debate.question_id, debate.answer) for debate in debates if debate.answer is not None]
    folder = Path(plan.layout.judge_calls(dataset))
    door_of_job = open_door(
        None if offline else folder / f"{log}.jsonl",
        folder=folder,
        limits=limits,
        ledgers=Path(plan.layout.ledgers),
        job=Job(f"{dataset}~{log}~judge", dataset, slug, spec=plan.spec_name, digest=plan.judge_digest(dataset, slug)),
        offline=offline,
        errors_again=errors_again,
        commons=commons,
    )
    async with door_of_job as door:
        found = await judge_answers(
            answers, task, judging.model, door, plan.templates.render, seed=plan.seed, connections=limits.connections
        )
        door.check_failures()
    write_lines(out, judgement_lines(found))
    return found, door.counts


def _judging(plan: Plan, dataset: str) -> Judging:
    if plan.judging is None or not plan.is_judged(dataset):
        raise InputError(
            f"{plan.spec_path}: no answer to {dataset} is to be judged\n"
            "    write analysis: {metrics: [judged], judge: {model: NAME}}"
        )
    return plan.judging

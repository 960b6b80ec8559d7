"""`cortexdsl debate`: run one shard of debates. The workflow calls it; it may be called by hand."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from cortexdsl.cli.arguments import (
    add_cell,
    add_connections,
    add_digest,
    add_errors_again,
    add_out,
    add_spec,
    add_threads,
)
from cortexdsl.debate.adapt import matched, with_identities, with_pool
from cortexdsl.errors import InputError
from cortexdsl.knowledge.pool import read_pools
from cortexdsl.models.door import Commons, Counts, Job, open_door
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.plan import Plan
from cortexdsl.plan.jobs.toolbox import check_trust, open_tools
from cortexdsl.plan.kept.declaration import declaration_of
from cortexdsl.plan.kept.ledger import declare
from cortexdsl.plan.training.weights import with_trained
from cortexdsl.records import Header, read_debates
from cortexdsl.run import Shift, debate_shard
from cortexdsl.terms import Cell, Debate, Limits, Method, Question
from cortexdsl.train.adapters import serve_adapters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    add_cell(parser)
    parser.add_argument("--shard", required=True, help="replicate and shard: r1-s01")
    add_out(parser, "the debate records")
    add_digest(parser)
    add_connections(parser)
    add_errors_again(parser)
    add_trust(parser)
    add_threads(parser)


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add the argument with which a function that a spec names may run."""
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="FUNCTION",
        help="let tools of the spec call package.module:function, which is code that runs here; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    print(asyncio.run(attend(args)), file=sys.stderr)
    return 0


async def attend(args: argparse.Namespace, commons: Commons | None = None) -> str:
    """Run the verb, and return what there is to say of it.

    Parameters
    ----------
    args : Namespace
    commons : Commons or None
        What it shares with other jobs of this process, connections included; by default nothing.
    """
    plan = args.compiled(args.spec, args.experiment)
    meant = plan.debate_digest(args.dataset, args.cell, args.shard)  # refuses a job that the spec does not have
    if args.digest and args.digest != meant:
        raise InputError(
            f"{args.spec} has changed since the workflow started\n    start snakemake again: what is finished is kept"
        )
    declare(plan.layout, declaration_of(plan))  # before the first call: the workflow may know of an edit only here
    alone = replace(plan.limits, connections=args.connections or plan.limits.connections)
    job = plan, args.dataset, args.cell, args.shard, args.out, alone if commons is None else plan.limits
    counts = await _debate(*job, errors_again=args.errors_again, trusted=args.trust, commons=commons)
    return (
        f"{args.dataset} {args.cell} {args.shard}: {counts.asked} calls sent, {counts.replayed} replayed, "
        f"{counts.failed} failed"
    )


def ask_failures_again(plan: Plan, dataset: str, cell: str, shard: str, trusted: Collection[str]) -> Counts:
    """Debate a finished shard again: its replies from the call logs, and its failures from the models.

    Functions that are `trusted` may be called.

    Raises
    ------
    ModelError, BudgetError
    """
    declare(plan.layout, declaration_of(plan))
    out = Path(plan.layout.debates(dataset, cell, shard))
    return asyncio.run(_debate(plan, dataset, cell, shard, out, plan.limits, errors_again=True, trusted=trusted))


def replay(plan: Plan, dataset: str, cell: str, shard: str, out: Path) -> None:
    """Run a shard from its call logs alone.

    Raises
    ------
    ModelError
        A call that is in no log.
    """
    asyncio.run(_debate(plan, dataset, cell, shard, out, plan.limits, offline=True))


async def _debate(
    plan: Plan,
    dataset: str,
    slug: str,
    label: str,
    out: Path,
    limits: Limits,
    *,
    offline: bool = False,
    errors_again: bool = False,
    trusted: Collection[str] = (),
    commons: Commons | None = None,
) -> Counts:
    log = Path(plan.layout.call_log(dataset, slug, label))
    shift, cell = shift_of(plan, dataset, slug, label, limits), plan.cell(slug)
    name = f"{dataset}~{slug}~{label}", dataset, slug, label
    if not offline:
        check_trust(plan, cell, trusted)
        await serve_adapters(plan, cell.debate.models)
    door = open_door(
        None if offline else log,
        folder=log.parent,
        limits=limits,
        ledgers=Path(plan.layout.ledgers),
        job=Job(*name, plan.spec_name, plan.debate_digest(dataset, slug, label)),
        offline=offline,
        errors_again=errors_again,
        commons=commons,
    )
    async with door:
        embedder = Embedder(door, plan.models)
        async with open_tools(plan, cell, door, embedder, offline=offline) as identities:
            return await debate_shard(with_tools(shift, identities), door, embedder, plan.templates, out)


def with_tools(shift: Shift, identities: Mapping[str, str]) -> Shift:
    """Return what a job does once its tools are open."""
    return replace(shift, method_for=lambda question: with_identities(shift.method_for(question), identities))


def shift_of(plan: Plan, dataset: str, slug: str, label: str, limits: Limits) -> Shift:
    """Return what one job of a plan does."""
    cell, shard = plan.cell(slug), plan.shard(dataset, label)
    return Shift(
        header=Header(plan.experiment, dataset, cell.name, shard.replicate),
        task=plan.task(dataset),
        questions=plan.questions(dataset, shard),
        method_for=_method_for(plan, cell, dataset, label),
        seed=plan.seed,
        connections=limits.connections,
    )


def _method_for(plan: Plan, cell: Cell, dataset: str, shard: str) -> Callable[[Question], Method]:
    """Return the method for a question: a cell's own, with the budget and the passages of that question."""
    pools = read_pools([Path(path) for path in plan.pools(dataset, cell)])
    budgets: Mapping[str, Debate] = {}
    budget_cell = plan.budget_of(cell)
    if budget_cell is not None:
        path = Path(plan.layout.debates(dataset, budget_cell.slug, shard))
        budgets = {record.debate.question_id: record.debate for record in read_debates(path)}

    trained = with_trained(cell.debate)

    def method_for(question: Question) -> Method:
        method = trained
        if cell.match is not None:
            method = matched(method, budgets[question.id], cell.match.unit)
        return with_pool(method, pools[question.id]) if pools else method

    return method_for

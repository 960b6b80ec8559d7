"""Rule `debate`: the debates of one shard of questions under one cell.

Reads the declaration, knowledge pools, and the debates whose calls limit this cell (`match`). Writes the records, and
the call log, which is not an output: it outlives a failed job, which goes on where the log ends.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from cortexdsl.core import (
    AS_WRITTEN,
    EMPTY,
    NOTHING,
    Ablation,
    Ask,
    Call,
    Cell,
    Debate,
    DebateCosts,
    Floats,
    Message,
    Method,
    OtherQuestion,
    Ports,
    Question,
    Reply,
)
from cortexdsl.engine.concurrency import gather_or_cancel
from cortexdsl.engine.methods import names_in, with_identities, with_pool
from cortexdsl.engine.placebo import draw_other_question
from cortexdsl.engine.run import run_debate
from cortexdsl.engine.seeds import seeded_random
from cortexdsl.jobs.arguments import AskingVerb, ClientOptions, check_digest
from cortexdsl.jobs.costs import debate_costs
from cortexdsl.metrics.matching import DebateBudget, budget_in, run_within
from cortexdsl.metrics.replies import debate_calls
from cortexdsl.models.call_log.costs import cost_of
from cortexdsl.models.client import Client
from cortexdsl.models.job_tally import CallCounts, JobInfo
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.models.transports.registry import has_functions
from cortexdsl.plan.compiled import check_cell
from cortexdsl.plan.digests import templates_of
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import debate_digest
from cortexdsl.plan.job_files import pool_files
from cortexdsl.plan.jobs.programs import check_sandbox, check_solutions
from cortexdsl.plan.jobs.toolbox import open_tools
from cortexdsl.plan.persistence.declaration import declaration_of
from cortexdsl.plan.persistence.fits import with_fits
from cortexdsl.plan.persistence.recording import declare, record_files
from cortexdsl.plan.training import serve_adapters, with_trained
from cortexdsl.records import Header, Record, read_debates, write_debates
from cortexdsl.records.unread import unread_by_step, unread_to_json
from cortexdsl.tasks.retrieval.pools import read_pools
from cortexdsl.tasks.task import Task
from cortexdsl.templates.templates import Templates

AT_ONCE_PER_CONNECTION = 2  # debates at once for each call that may be in flight: a debate also computes


@dataclass(frozen=True, slots=True)
class ShardWork:
    """The debates of one job.

    Attributes
    ----------
    header : Header
        What its records belong to.
    task : Task
    questions : sequence of Question
        Those of the shard, in order.
    method : Method
        Of the cell.
    prepared : callable
        A method as it is for a question, with its knowledge pool and the identities of its tools.
    budgets : mapping of question id to DebateBudget
        Of a matched cell: what the other debates cost.
    cell : Cell
    sizes : mapping of agent to float or None
        Parameters that models use for a token.
    seed : int
        Of the experiment.
    without : Ablation
        What its debates leave out.
    """

    header: Header
    task: Task
    questions: Sequence[Question]
    cell: Cell
    method: Method
    prepared: Callable[[Method, Question], Method]
    seed: int
    without: Ablation = NOTHING
    budgets: Mapping[str, DebateBudget] = field(default_factory=lambda: EMPTY)
    sizes: Mapping[str, float | None] = field(default_factory=lambda: EMPTY)


async def _work(plan: Plan, args: argparse.Namespace, options: ClientOptions) -> str:
    place = args.dataset, args.cell, args.shard
    check_digest(args, debate_digest(plan, *place))  # refuses a job that the spec does not have
    check_cell(plan, plan.cell(args.cell))
    check_sandbox(plan)
    check_solutions(plan, [args.dataset])
    declare(plan.layout, declaration_of(plan))  # before the first call: an edited spec may start no rule `declare`
    counts = await run_shard(plan, *place, args.out, options)
    return f"{args.dataset} {args.cell} {args.shard}: {counts}"


JOB = AskingVerb("--dataset --cell --shard --out --digest --connections --errors-again --trust --threads", _work)


def prepare(plan: Plan, cell: str) -> None:
    """Compute what all jobs of a cell need and a plan keeps: digests, sizes of models, compiled templates."""
    declaration_of(plan)
    plan.call_sizes(plan.cell(cell))
    plan.templates.prepare(templates_of(plan.cell(cell).debate))


async def run_shard(plan: Plan, dataset: str, slug: str, label: str, out: Path, options: ClientOptions) -> CallCounts:
    """Run the debates of a shard and write their records; replies to known calls come from the call logs.

    Raises
    ------
    ModelError, BudgetError
        As the client does; offline also if a call is in no log.
    """
    place = dataset, slug, label
    log, cell = Path(plan.layout.call_log(*place)), plan.cell(slug)
    work = shard_work(plan, *place)
    is_offline = options.offline or bool(plan.engines)  # the rounds of files have asked everything
    if not is_offline:
        await serve_adapters(plan, cell.debate.models)
    job = JobInfo("~".join(place), *place, digest=debate_digest(plan, *place))
    async with replace(options, offline=is_offline).open(plan, log, job) as client:
        embedder = Embedder(client, plan.models)
        async with open_tools(plan, cell, client, embedder, offline=is_offline) as identities:
            counts = await debate_shard(with_tools(work, identities), client, embedder, plan.templates, out)
    if not options.offline:
        record_files(plan.layout, [out, log])
    return counts


async def debate_shard(
    work: ShardWork, client: Client, embedder: Embedder, templates: Templates, out: Path
) -> CallCounts:
    """Run the debates of a shard and write their records, in the order of the questions.

    After an error the calls in flight are still logged; the job started again goes on where the log ends. If too many
    calls have failed, no records are written.

    Returns
    -------
    CallCounts
        Calls that were sent, taken from logs, and failed.
    """
    gate = asyncio.Semaphore(debates_at_once(client.budget.limits.connections))
    client.tally.debates(0, len(work.questions))
    debate_of = debater(work, client, embedder, templates)

    async def one(question: Question) -> Debate:
        async with gate:
            done = await debate_of(question, work.budgets.get(question.id))
            client.tally.debates(client.tally.debates_done + 1, len(work.questions))
            return done

    debates = await gather_or_cancel([one(question) for question in work.questions])
    client.tally.unread = unread_to_json(unread_by_step(debates))
    client.check_failures()
    await client.sync()
    write_debates(out, (Record(work.header, each) for each in debates))
    return client.counts


def debater(
    work: ShardWork,
    client: Client,
    embedder: Embedder,
    templates: Templates,
    elsewhere: Callable[[Awaitable[Any]], Awaitable[Any]] | None = None,
) -> Callable[[Question, DebateBudget | None], Awaitable[Debate]]:
    """Return what runs the debate of a question, within the budget of a matched cell.

    `elsewhere` waits for work of other threads and machines for a debate, apart from the replies of engines; by default
    this work is not counted.
    """

    def ports_of(question: Question) -> Ports:
        task = work.task
        reader = task.reader(question, names_in(work.method))
        count = elsewhere or _uncounted

        async def ask(call: Call) -> Reply:
            """Read the reply in a thread as soon as it comes, because reading a program runs it."""
            reply: Reply = await (count(client(call)) if call.model.engine is None else client(call))
            is_answer = call.model == AS_WRITTEN or not (call.model.is_tool or reply.requests)
            if task.programs is not None and is_answer:
                await count(asyncio.to_thread(reader.read, "answer", reply.text))
            return reply

        async def similarity(embedding: str, texts: Sequence[str]) -> Floats:
            cosines: Floats = await count(embedder(embedding, texts))
            return cosines

        is_plain = task.programs is None and elsewhere is None
        sending: Ask = client if is_plain else ask
        compare = embedder if elsewhere is None else similarity
        return Ports(sending, renderer(templates, task, question), reader, compare, other, has_functions)

    def other(question: Question, chance: random.Random) -> OtherQuestion:
        drawn = draw_other_question(work.task.questions, question, chance)
        return OtherQuestion(drawn, ports_of(drawn), lambda method: work.prepared(method, drawn))

    async def debate_of(question: Question, budget: DebateBudget | None) -> Debate:
        ports = ports_of(question)

        def run(method: Method) -> Awaitable[Debate]:
            return run_debate(
                work.prepared(method, question),
                question,
                ports,
                seed=work.seed,
                replicate=work.header.replicate,
                ablation=work.without,
            )

        if budget is None:
            return await run(work.method)
        costs_of = partial(costs_in, work, client)
        chance = seeded_random("match", work.seed, work.header.replicate, question.id).random()
        return (await run_within(work.cell, work.method, budget, run, costs_of, chance)).debate

    return debate_of


def _uncounted(work: Awaitable[Any]) -> Awaitable[Any]:
    return work


def costs_in(work: ShardWork, client: Client, debate: Debate) -> DebateCosts:
    """Return what is known of the calls of a debate that has just ended."""
    records = {call.call: client.logs.record(call.call) for call in debate_calls(debate)}
    return DebateCosts({key: cost_of(record) for key, record in records.items() if record is not None}, work.sizes)


def debates_at_once(connections: int) -> int:
    """Return how many of the debates of a job run at once."""
    return max(1, connections * AT_ONCE_PER_CONNECTION)


def renderer(templates: Templates, task: Task, question: Question) -> Callable[..., tuple[Message, ...]]:
    """Return what renders the prompts of debates about a question."""
    about_task = task.formats_of(question.id)

    def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        return templates.render(prompt, {**view, **about_task})

    return render


def with_tools(work: ShardWork, identities: Mapping[str, str]) -> ShardWork:
    """Return the work with the identities of its opened tools in its methods."""
    return replace(work, prepared=lambda method, question: with_identities(work.prepared(method, question), identities))


def shard_work(plan: Plan, dataset: str, slug: str, label: str, *, with_budgets: bool = True) -> ShardWork:
    """Return the debates of one job of a plan, with the budgets that finished debates of a matched cell leave them."""
    cell, shard = plan.cell(slug), plan.shard(dataset, label)

    def prepared(method: Method) -> Method:
        return with_fits(plan, with_trained(method), shard.replicate)

    return ShardWork(
        header=Header(plan.experiment, dataset, cell.name, shard.replicate),
        task=plan.task(dataset),
        questions=plan.questions(dataset, shard),
        cell=replace(cell, steps=tuple(replace(step, method=prepared(step.method)) for step in cell.steps)),
        method=prepared(cell.debate),
        prepared=_prepared(plan, cell, dataset),
        seed=plan.seed,
        budgets=_budgets(plan, cell, dataset, label) if with_budgets else EMPTY,
        sizes=plan.call_sizes(cell),
    )


def _prepared(plan: Plan, cell: Cell, dataset: str) -> Callable[[Method, Question], Method]:
    """Return what gives a method the passages of a question."""
    pools = read_pools([Path(path) for path in pool_files(plan, dataset, cell)])

    def prepared(method: Method, question: Question) -> Method:
        return with_pool(method, pools[question.id]) if pools else method

    return prepared


def _budgets(plan: Plan, cell: Cell, dataset: str, shard: str) -> Mapping[str, DebateBudget]:
    """Return what the debates that a cell is matched to cost, by question; empty if it is not matched."""
    other = plan.budget_of(cell)
    if other is None or cell.match is None:
        return EMPTY
    records = list(read_debates(Path(plan.layout.debates(dataset, other.slug, shard))))
    costs = debate_costs(plan, dataset, other, records, [cell.match.metric])
    return {record.debate.question_id: budget_in(record.debate, cell.match, costs) for record in records}

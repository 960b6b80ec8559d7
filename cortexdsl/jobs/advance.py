"""Rule `advance`: run the debates of all cells until they need replies that no round has brought (docs/files.md).

Writes the requests that the debates then wait for, in one file for each part of an engine. The last advance of an
experiment writes none, but the call logs, by which the debates are replayed. Until then replies are appended to open
logs, which Snakemake does not delete: from these, a job that starts again continues.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, TypeAlias

from cortexdsl.core import Cell, Debate, DebateCosts, Question, Reply
from cortexdsl.errors import CortexError, ModelError
from cortexdsl.files import sync_folder, write_file
from cortexdsl.jobs.arguments import ClientOptions, add_shared, add_spec, check_digest, plan_of_job
from cortexdsl.jobs.debate import ShardWork, costs_in, debater, shard_work, with_tools
from cortexdsl.jobs.judge_rounds import JudgeCalls, judge_calls, vote_calls
from cortexdsl.metrics.matching import DebateBudget, budget_in
from cortexdsl.models.call_log.append_log import whole_lines
from cortexdsl.models.client import Client
from cortexdsl.models.job_tally import JobInfo
from cortexdsl.models.rounds.replies import ReplyFiles, are_empty
from cortexdsl.models.rounds.requests import RequestSpool
from cortexdsl.models.rounds.sender import RoundSender
from cortexdsl.models.rounds.stuck import Elsewhere, until_stuck
from cortexdsl.models.rounds.stuck import run as run_loop
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.numbers import counted
from cortexdsl.plan.compiled import check_cell
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import debate_digest, rounds_digest
from cortexdsl.plan.job_files import judge_logs, reply_files, round_logs, round_parts
from cortexdsl.plan.jobs.consent import check_consent
from cortexdsl.plan.jobs.programs import check_sandbox, check_solutions
from cortexdsl.plan.jobs.toolbox import open_tools
from cortexdsl.plan.persistence.declaration import declaration_of
from cortexdsl.plan.persistence.recording import declare, record_files
from cortexdsl.plan.shards import Shard
from cortexdsl.records import Record

_JOINING = ".joining"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    parser.add_argument("--round", type=int, required=True, help="the round whose requests are written, from 1")
    parser.add_argument("--last", action="store_true", help="all rounds are over: write the call logs")
    add_shared(parser, "--digest --connections --errors-again --trust --threads")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = plan_of_job(args.spec, args.experiment, args.threads)
    check_digest(args, rounds_digest(plan))
    for cell in plan.cells:
        check_cell(plan, cell)
    check_consent(plan, args.trust)
    check_sandbox(plan)
    check_solutions(plan, plan.datasets)
    declare(plan.layout, declaration_of(plan))
    gc.freeze()
    gc.disable()  # there is little garbage before a shard ends
    try:
        print(run_loop(advance(plan, args.round, ClientOptions.of(plan, args), is_last=args.last)), file=sys.stderr)
    finally:
        gc.enable()
    return 0


async def advance(plan: Plan, number: int, options: ClientOptions, *, is_last: bool = False) -> str:
    """Advance all debates to a round, and return a message.

    Raises
    ------
    ModelError
        An engine cannot answer a call, or there are calls without a reply after the last round. The files of all rounds
        are then removed: the next run begins a first round, with the calls that no log has.
    BudgetError
        The requests may pass a limit, or too many calls have failed.
    """
    layout = plan.layout
    parts = {name: [Path(layout.requests(number, name, k)) for each, k in round_parts(plan) if each == name]
             for name in plan.engines}  # fmt: skip
    earlier = [Path(path) for before in range(1, number) for path in reply_files(plan, before)]
    if number > 1 and are_empty(map(Path, reply_files(plan, number - 1))):
        if not is_last:
            for path in (path for paths in parts.values() for path in paths):
                write_file(path, ())
            return f"round {number}: the debates had ended before"
        if _has_logs(plan):
            return _end(plan, number - 1)
    with closing(ReplyFiles(earlier)) as replies, closing(RequestSpool()) as spool:
        async with SharedState() as shared:
            sender = RoundSender(replies, spool, shared.runtime, shared.secrets)
            step = _Round(plan, replace(options, shared=shared), sender)
            for dataset in plan.shards:
                with ExitStack() as opened:  # the folders of judges, which would be read for each shard
                    for folder in {Path(log).parent for log in judge_logs(plan, dataset)}:
                        opened.callback(shared.release, shared.open_folder(folder))
                    await step.advance(dataset)
            if step.failure is None and is_last and sender.missing:
                step.failure = _unanswered(plan, number - 1, sender)
            if step.failure is not None:
                if isinstance(step.failure, ModelError):
                    shutil.rmtree(layout.rounds, ignore_errors=True)
                raise step.failure
            budget = shared.budget(options.limits, Path(layout.spent))
            if sender.missing:
                budget.check_round(sender.booked)
        if is_last:
            return _end(plan, number - 1)
        for name, paths in parts.items():
            spool.write(name, paths)
    return f"round {number}: {counted(len(spool), 'request')}, {counted(step.ended, 'debate')} have ended"


DebateOf: TypeAlias = Callable[[Question, DebateBudget | None], Awaitable[Debate]]
CostsOf: TypeAlias = Callable[[Debate], DebateCosts]


@dataclass(slots=True)
class _Round:
    """One round of all debates.

    Attributes
    ----------
    ended : int
        Debates that have all their replies.
    failure : CortexError or None
        The first error of a debate. The others advance all the same, so that their replies are logged.
    """

    plan: Plan
    options: ClientOptions
    sender: RoundSender
    ended: int = 0
    failure: CortexError | None = None

    async def advance(self, dataset: str) -> None:
        """Advance all debates about a dataset, and ask the judges about those that have ended."""
        answers: list[tuple[str, str | None]] = []
        for shard in self.plan.shards[dataset]:
            ended = await self._advance(dataset, shard)
            await self._ask(judge_calls(self.plan, dataset, ended))
            records = [record.debate for own in ended.values() for record in own if self.plan.tournament is not None]
            answers += ((debate.question_id, debate.answer) for debate in records)
            del ended, records
            gc.collect()  # debates that were left are cycles of frames, and a later shard has as many
        await self._ask(vote_calls(self.plan, dataset, answers))

    async def _advance(self, dataset: str, shard: Shard) -> dict[str, list[Record]]:
        """Advance the debates of all cells about the questions of one shard, and return those that have ended."""
        plan, elsewhere = self.plan, Elsewhere()
        async with AsyncExitStack() as stack:
            tasks: dict[tuple[str, str], asyncio.Task[Debate]] = {}
            works: dict[str, tuple[ShardWork, Client]] = {}
            # The cell that a budget is taken from, which has no budget itself, comes first.
            for cell in sorted(plan.cells, key=lambda cell: cell.match is not None):
                place = dataset, cell.slug, shard.label
                job = JobInfo("~".join(place), *place, digest=debate_digest(plan, *place))
                client = await stack.enter_async_context(self._client(plan.layout.call_log(*place), job))
                embedder = Embedder(client, plan.models)
                identities = await stack.enter_async_context(open_tools(plan, cell, client, embedder))
                # A budget of an earlier run says nothing of the debates of this one.
                work = with_tools(replace(shard_work(plan, *place, with_budgets=False)), identities)
                works[cell.slug] = work, client
                debate_of = debater(work, client, embedder, plan.templates, elsewhere)
                other = plan.budget_of(cell)
                for question in work.questions:
                    before = None if other is None else tasks[other.slug, question.id]
                    costs = None if other is None else partial(costs_in, *works[other.slug])
                    made = _debate(debate_of, question, cell, before, costs)
                    tasks[cell.slug, question.id] = asyncio.create_task(made)
            await until_stuck(list(tasks.values()), elsewhere)
            records: dict[str, list[Record]] = {}
            for slug, (work, client) in works.items():
                own = [tasks[slug, question.id] for question in work.questions]
                ended = await self._close(client, own)
                client.tally.debates(sum(ended), len(ended))
                self.ended += sum(ended)
                records[slug] = [Record(work.header, task.result()) for task in compress(own, ended)]
            return records

    async def _ask(self, judges: Iterable[JudgeCalls]) -> None:
        """Ask the judges that engines answer about debates that have ended."""
        async with AsyncExitStack() as stack:
            asked: list[tuple[Client, list[asyncio.Task[Reply]]]] = []
            for log, job, calls in judges:
                client = await stack.enter_async_context(self._client(log, job))
                asked.append((client, [asyncio.create_task(client(call)) for call in calls]))
            await until_stuck([task for _, tasks in asked for task in tasks], Elsewhere())
            for client, tasks in asked:
                await self._close(client, tasks)

    def _client(self, log: str, job: JobInfo) -> Client:
        """Open the client of a job whose calls this round asks; it appends to the open log of this call log."""
        closed = Path(log)
        _join(closed)
        client = self.options.open(self.plan, _opened(closed), job)
        client.rounds = self.sender
        client.tally.count_earlier(client.logs.totals(closed))
        return client

    async def _close(self, client: Client, tasks: Sequence[asyncio.Task[Any]]) -> list[bool]:
        """Return which tasks of a client have ended, after bringing its log to disk."""
        ended = [self._has_ended(task) for task in tasks]
        client.tally.at_end = "done" if all(ended) else "waiting"
        if self.failure is None:
            client.check_failures()
        await client.sync()
        return ended

    def _has_ended(self, task: asyncio.Task[Any]) -> bool:
        error = None if task.cancelled() else task.exception()
        if error is None:
            return not task.cancelled()
        if not isinstance(error, CortexError):
            raise error
        self.failure = self.failure or error
        return False


async def _debate(
    debate_of: DebateOf, question: Question, cell: Cell, before: asyncio.Task[Debate] | None, costs: CostsOf | None
) -> Debate:
    """Run a debate; that of a matched cell after the one whose budget it has."""
    if before is None or costs is None or cell.match is None:
        return await debate_of(question, None)
    other = await asyncio.shield(before)
    return await debate_of(question, budget_in(other, cell.match, costs(other)))


def _unanswered(plan: Plan, rounds: int, sender: RoundSender) -> ModelError:
    missing = ", ".join(f"{counted(number, 'call')} to {name}" for name, number in sorted(sender.missing.items()))
    why = f"; the last failure: {sender.last_failure}" if sender.last_failure else ""
    return ModelError(
        f"after {counted(rounds, 'round')} of files there is no reply to {missing}{why}\n"
        f"    see {plan.layout.root}/logs/rounds, and run again: what was answered is kept, the rest is asked again"
    )


def _has_logs(plan: Plan) -> bool:
    """Return whether this machine has the replies of all debates in its logs."""
    return all(_opened(Path(log)).exists() for log in round_logs(plan))


def _end(plan: Plan, rounds: int) -> str:
    """Write the call logs, and return a message."""
    record_files(plan.layout, list(_close_logs(plan)))
    return f"{counted(rounds, 'round')} of files are over"


def _close_logs(plan: Plan) -> Iterator[Path]:
    """Make the open logs a part of the call logs, and yield the paths of these."""
    for closed in map(Path, round_logs(plan)):
        opened = _opened(closed)
        if opened.exists():
            opened.replace(opened.with_suffix(_JOINING) if closed.exists() else closed)
            sync_folder(closed.parent)
        _join(closed)
        yield closed


def _opened(log: Path) -> Path:
    """Return the call log of what rounds have asked until they are over: it becomes a part of this one."""
    return log.with_name(f"{log.stem}~open.jsonl")


def _join(closed: Path) -> None:
    """Join an open log that has ended to the call log; no job reads it, so that none counts its calls twice."""
    joining = _opened(closed).with_suffix(_JOINING)
    if joining.exists():
        write_file(closed, _joined(closed, joining))
        joining.unlink()


def _joined(*logs: Path) -> Iterator[bytes]:
    """Yield the lines of logs, each once: a job that was killed may have joined them before."""
    seen: set[int] = set()
    for log in logs:
        for _, line in whole_lines(log) if log.exists() else ():
            if hash(line) not in seen:
                seen.add(hash(line))
                yield line if line.endswith(b"\n") else line + b"\n"

"""Rule `pool`: the passages that one knowledge source finds for the questions of one dataset.

Writes the pool, and a log of searches, which outlives a failed job.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import ClientOptions, add_shared, add_spec, plan_of_job, run_alone
from cortexdsl.models.call_log.append_log import AppendLog, parse, whole_lines
from cortexdsl.models.job_tally import JobInfo
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import pool_digest
from cortexdsl.plan.jobs.consent import check_consent
from cortexdsl.plan.persistence.recording import record_files
from cortexdsl.tasks.retrieval.pools import build_pool
from cortexdsl.tasks.retrieval.sources import KnowledgeEntry, entry_of, open_sources


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    parser.add_argument("--source", required=True, help="name of the knowledge entry")
    add_shared(parser, "--dataset --out --connections --threads")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    return run_alone(attend, args)


async def attend(args: argparse.Namespace, shared: SharedState | None = None) -> str:
    """Run the verb, and return its message; parameters as in `jobs.debate.attend`."""
    plan = plan_of_job(args.spec, args.experiment)
    check_consent(plan)
    if args.source not in plan.knowledge:
        known = ", ".join(plan.knowledge) or "none"
        raise InputError(f"{args.spec}: there is no knowledge entry {args.source!r}; there are: {known}")
    entry = entry_of(args.source, plan.knowledge[args.source], Path(plan.spec_path).parent)
    if shared is not None:
        return await _build(plan, entry, args, ClientOptions.of(plan, args, shared), shared)
    async with SharedState() as own:
        return await _build(plan, entry, args, replace(ClientOptions.of(plan, args), shared=own), own)


async def _build(
    plan: Plan, entry: KnowledgeEntry, args: argparse.Namespace, options: ClientOptions, shared: SharedState
) -> str:
    """Build the pools; results are logged at once, so that no search is repeated after a crash."""
    log, calls = (args.out.parent / kind / args.out.name for kind in ("searches", "calls"))
    digest = pool_digest(plan, args.dataset, args.source)
    job = JobInfo(f"{args.dataset}~pool~{entry.name}", args.dataset, digest=digest)
    with AppendLog(log) as writer:
        searches = [record for _, line in whole_lines(log) if (record := parse(line))]
        client = options.open(plan, calls, job)
        async with client, open_sources([entry], Embedder(client, plan.models).embed) as sources:
            questions = plan.task(args.dataset).questions
            gate = shared.gate(entry.asks, options.limits.connections)
            lines = await build_pool(questions, sources, searches, writer.append, gate)
            await client.sync()
    write_lines(args.out, lines)
    record_files(plan.layout, [args.out, log, calls])
    return (
        f"{args.dataset} {entry.name}: {counted(len(lines), 'question')}, "
        f"{counted(len(searches), 'search', 'searches')} kept before"
    )

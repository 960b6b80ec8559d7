"""Rule `pool`: the passages that one knowledge source finds for the questions of one dataset.

Writes the pool, and a log of searches, which outlives a failed job.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.jobs.arguments import AskingVerb, ClientOptions
from cortexdsl.models.call_log.append_log import AppendLog, parse, whole_lines
from cortexdsl.models.job_tally import JobInfo
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import pool_digest
from cortexdsl.plan.persistence.recording import record_files
from cortexdsl.tasks.retrieval.pools import build_pool
from cortexdsl.tasks.retrieval.sources import SERPER, open_sources


async def _work(plan: Plan, args: argparse.Namespace, options: ClientOptions) -> str:
    async with nullcontext(options.shared) if options.shared else SharedState() as shared:
        return await _build(plan, args, replace(options, shared=shared), shared)


JOB = AskingVerb("--source --dataset --out --connections --threads", _work)


async def _build(plan: Plan, args: argparse.Namespace, options: ClientOptions, shared: SharedState) -> str:
    """Build the pools; results are logged at once, so that no search is repeated after a crash."""
    source = plan.source(args.source)
    log, calls = (args.out.parent / kind / args.out.name for kind in ("searches", "calls"))
    digest = pool_digest(plan, args.dataset, args.source)
    job = JobInfo(f"{args.dataset}~pool~{args.source}", args.dataset, digest=digest)
    with AppendLog(log) as writer:
        searches = [record for _, line in whole_lines(log) if (record := parse(line))]
        client = options.open(plan, calls, job)
        folder, embed = Path(plan.spec_path).parent, Embedder(client, plan.models).embed
        async with client, open_sources({args.source: source}, folder, embed) as sources:
            questions = plan.task(args.dataset).questions
            # Searches at one address share the limit of its connections.
            asks = source.api_base or SERPER if source.retriever == "search" else args.source
            gate = shared.gate(asks, options.limits.connections)
            lines = await build_pool(questions, sources, searches, writer.append, gate)
            await client.sync()
    write_lines(args.out, lines)
    record_files(plan.layout, [args.out, log, calls])
    return (
        f"{args.dataset} {args.source}: {counted(len(lines), 'question')}, "
        f"{counted(len(searches), 'search', 'searches')} kept before"
    )

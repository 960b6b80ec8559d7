"""`cortexdsl pool`: ask one knowledge source about the questions of one dataset. The workflow calls it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from cortexdsl.cli.arguments import add_connections, add_dataset, add_out, add_spec, add_threads
from cortexdsl.errors import InputError
from cortexdsl.knowledge.entries import Entry, open_sources, read_entry
from cortexdsl.knowledge.pool import build_pool
from cortexdsl.models.door import Commons, Job, open_door
from cortexdsl.models.logs.appendlog import AppendLog, parse, whole_lines
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.plan import Plan
from cortexdsl.records.files import write_lines
from cortexdsl.terms import Limits

SUMMARY = "build the knowledge pools of a dataset (a workflow job)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    add_dataset(parser)
    parser.add_argument("--source", required=True, help="name of the knowledge entry")
    add_out(parser, "the pools")
    add_connections(parser, "searches in flight")
    add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    print(asyncio.run(attend(args)), file=sys.stderr)
    return 0


async def attend(args: argparse.Namespace, commons: Commons | None = None) -> str:
    """Run the verb, and return what there is to say of it; parameters as in `cli.jobs.debate.attend`."""
    plan = args.compiled(args.spec, args.experiment)
    if args.source not in plan.knowledge:
        there = ", ".join(plan.knowledge) or "none"
        raise InputError(f"{args.spec}: there is no knowledge entry {args.source!r}; there are: {there}")
    values = plan.knowledge[args.source].model_dump(exclude_none=True)
    entry = read_entry(args.source, values, Path(plan.spec_path).parent)
    if commons is not None:
        return await _build(plan, entry, args, plan.limits, commons)
    limits = replace(plan.limits, connections=args.connections or plan.limits.connections)
    async with Commons() as own:
        return await _build(plan, entry, args, limits, own)


async def _build(plan: Plan, entry: Entry, args: argparse.Namespace, limits: Limits, commons: Commons) -> str:
    """Build the pools; what is found is appended to a log at once, so that a crash asks nothing again."""
    log = args.out.parent / "searches" / args.out.name
    digest = plan.pool_digest(args.dataset, args.source)
    with AppendLog(log) as writer:
        kept = [record for _, line in whole_lines(log) if (record := parse(line))]
        door_of_job = open_door(
            args.out.parent / "calls" / args.out.name,
            limits=limits,
            ledgers=Path(plan.layout.ledgers),
            job=Job(f"{args.dataset}~pool~{entry.name}", args.dataset, spec=plan.spec_name, digest=digest),
            commons=commons,
        )
        async with door_of_job as door, open_sources([entry], Embedder(door, plan.models).embed) as sources:
            questions = plan.task(args.dataset).questions
            gate = commons.gate(entry.asks, limits.connections)
            lines = await build_pool(questions, sources, kept, writer.append, gate)
    write_lines(args.out, lines)
    return f"{args.dataset} {entry.name}: {len(lines)} questions, {len(kept)} searches kept before"

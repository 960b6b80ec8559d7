"""`cortexdsl pool`: ask one knowledge source about the questions of one dataset. The workflow calls it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from cortexdsl.errors import InputError
from cortexdsl.knowledge.entries import Entry, open_sources, read_entry
from cortexdsl.knowledge.pool import build_pool
from cortexdsl.models.door import Job, open_door
from cortexdsl.models.logs.appendlog import AppendLog, parse, whole_lines
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.records.files import write_lines

SUMMARY = "build the knowledge pools of a dataset (a workflow job)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", help="the spec")
    parser.add_argument("--experiment", help="name of the experiment; by default that of the spec")
    parser.add_argument("--dataset", required=True, help="label of the dataset")
    parser.add_argument("--source", required=True, help="name of the knowledge entry")
    parser.add_argument("--out", required=True, type=Path, help="the pools to write")
    parser.add_argument("--connections", type=int, help="searches in flight at most")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = compile_spec(args.spec, experiment=args.experiment)
    if args.source not in plan.knowledge:
        there = ", ".join(plan.knowledge) or "none"
        raise InputError(f"{args.spec}: there is no knowledge entry {args.source!r}; there are: {there}")
    values = plan.knowledge[args.source].model_dump(exclude_none=True)
    entry = read_entry(args.source, values, Path(plan.spec_path).parent)
    asyncio.run(_build(plan, entry, args))
    return 0


async def _build(plan: Plan, entry: Entry, args: argparse.Namespace) -> None:
    """Build the pools; what is found is appended to a log at once, so that a crash asks nothing again."""
    log = args.out.parent / "searches" / args.out.name
    connections = args.connections or plan.limits.connections
    with AppendLog(log) as writer:
        kept = [record for _, line in whole_lines(log) if (record := parse(line))]
        door_of_job = open_door(
            args.out.parent / "calls" / args.out.name,
            limits=plan.limits,
            ledgers=Path(plan.layout.ledgers),
            job=Job(f"{args.dataset}~pool~{entry.name}", args.dataset),
        )
        async with door_of_job as door, open_sources([entry], Embedder(door, plan.models).embed) as sources:
            questions = plan.task(args.dataset).questions
            lines = await build_pool(questions, sources, kept, writer.append, connections)
    write_lines(args.out, lines)
    print(f"{args.dataset} {entry.name}: {len(lines)} questions, {len(kept)} searches kept before", file=sys.stderr)

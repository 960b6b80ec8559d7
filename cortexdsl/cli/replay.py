"""`cortexdsl replay`: run an experiment again from its call logs alone, and say whether its records are the same."""

from __future__ import annotations

import argparse
import filecmp
import tempfile
from pathlib import Path

from cortexdsl.cli import debate
from cortexdsl.plan import Plan, compile_spec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", help="the spec; its results folder holds the call logs")
    parser.add_argument("--experiment", help="name of the experiment; by default that of the spec")


def run(args: argparse.Namespace) -> int:
    """Run the verb: 0 where every record is equal byte for byte, 1 where one differs."""
    plan = compile_spec(args.spec, experiment=args.experiment)
    differing = 0
    jobs = _jobs(plan)
    with tempfile.TemporaryDirectory() as folder:
        for dataset, cell, shard in jobs:
            again = Path(folder) / "again.jsonl"
            debate.replay(plan, dataset, cell, shard, again)
            recorded = Path(plan.layout.debates(dataset, cell, shard))
            if not recorded.exists() or not filecmp.cmp(again, recorded, shallow=False):
                differing += 1
                print(f"differs: {recorded}" if recorded.exists() else f"missing: {recorded}")
    print(
        f"{len(jobs) - differing} of {len(jobs)} jobs replayed from their call logs byte for byte; no model was called"
    )
    return 1 if differing else 0


def _jobs(plan: Plan) -> list[tuple[str, str, str]]:
    return [
        (dataset, cell.slug, shard.label)
        for dataset in plan.tasks
        for cell in plan.cells
        for shard in plan.shards[dataset]
    ]

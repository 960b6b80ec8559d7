"""Verb `replay`: run an experiment again from its call logs alone, and compare the records byte by byte."""

from __future__ import annotations

import argparse
import asyncio
import filecmp
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from cortexdsl.jobs.arguments import ClientOptions, add_spec, plan_of_results
from cortexdsl.jobs.ballots import vote
from cortexdsl.jobs.debate import run_shard
from cortexdsl.jobs.judge import judge_cell
from cortexdsl.jobs.label import label_cell
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.jobs.schedule import asking_jobs
from cortexdsl.plan.persistence.store import batches_run

Job: TypeAlias = Callable[[Path, ClientOptions], Coroutine[Any, Any, object]]
"""Makes the records of a job again, in a file."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser, "the spec; its results folder holds the call logs")


def run(args: argparse.Namespace) -> int:
    """Run the verb; the exit status is 0 if every record is equal byte by byte, else 1."""
    plan = plan_of_results(args)
    differing = 0
    jobs = list(_jobs(plan))
    with tempfile.TemporaryDirectory() as folder:
        for run_again, recorded in jobs:
            again = Path(folder) / "again.jsonl"
            asyncio.run(run_again(again, ClientOptions(plan.limits, offline=True)))
            if not recorded.exists() or not filecmp.cmp(again, recorded, shallow=False):
                differing += 1
                print(f"differs: {recorded}" if recorded.exists() else f"missing: {recorded}")
    print(
        f"{len(jobs) - differing} of {counted(len(jobs), 'job')} "
        "replayed from their call logs byte for byte; no model was called"
    )
    return 1 if differing else 0


def _jobs(plan: Plan) -> Iterator[tuple[Job, Path]]:
    """Yield a function that makes each file again, and its path: debates, then judgements, labels and ballots."""
    makes: dict[str, Any] = {"debate": run_shard, "judge": judge_cell, "label": label_cell, "ballots": vote}
    last = batches_run(plan) or 0
    for job in asking_jobs(plan):
        if job.rule in makes and job.batch <= last:
            yield partial(makes[job.rule], plan, *job.place), Path(job.output)

"""Rule `labels`: the labels of all cells as one table."""

from __future__ import annotations

import argparse
from pathlib import Path

from cortexdsl.jobs.arguments import add_spec, plan_of_job
from cortexdsl.metrics.labels import read_labels, write_labels
from cortexdsl.plan.job_files import all_labels
from cortexdsl.plan.persistence.recording import record_files, seal_manifest
from cortexdsl.plan.persistence.verification import check_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = plan_of_job(args.spec, args.experiment)
    parts, table = all_labels(plan), plan.layout.table("labels")
    check_files(plan.layout, parts)
    write_labels(Path(table), [row for part in parts for row in read_labels(Path(part))])
    record_files(plan.layout, [table])
    seal_manifest(plan.layout)
    return 0

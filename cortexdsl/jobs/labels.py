"""Rule and verb `labels`: the labels of all cells as one table, and their agreement with human ones."""

from __future__ import annotations

import argparse
from collections import defaultdict
from math import isfinite
from pathlib import Path

from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import add_spec, plan_of_job, plan_of_results
from cortexdsl.metrics.labels import read_labels, write_labels
from cortexdsl.metrics.scores import read_rows
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_files import all_labels
from cortexdsl.plan.persistence.recording import record_files, seal_manifest
from cortexdsl.plan.persistence.verification import check_files
from cortexdsl.stats.tables.label_agreement import label_agreement

PLACE = ("dataset", "cell", "replicate", "question_id", "turn", "label")
"""The columns of labels.csv that name a turn and its label."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser)
    parser.add_argument(
        "--human",
        type=Path,
        metavar="FILE",
        help="compare with human labels: what the explorer wrote, or a copy of labels.csv with your own values or none",
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = plan_of_results(args) if args.human else plan_of_job(args.spec, args.experiment)
    if plan.labelling is None:
        raise InputError(f"{plan.spec_path}: no turn is to be labelled\n    write labels: {{repetition: built-in}}")
    if args.human is not None:
        print(compared(plan, args.human))
        return 0
    parts, table = all_labels(plan), plan.layout.table("labels")
    check_files(plan.layout, parts)
    write_labels(Path(table), [row for part in parts for row in read_labels(Path(part))])
    record_files(plan.layout, [table])
    seal_manifest(plan.layout)
    return 0


def compared(plan: Plan, path: Path) -> str:
    """Return a line for each label: its agreement with the human labels of a file.

    Raises
    ------
    InputError
        A row is not of a labelled turn, repeats another row, or has a value outside the set of its label.
    """
    assert plan.labelling is not None
    values = {label.name: label.values for label in plan.labelling.labels}
    table = Path(plan.layout.table("labels"))
    known = {tuple(str(getattr(row, name)) for name in PLACE): row for row in read_labels(table)}
    pairs: dict[str, list[tuple[str, str | None, str]]] = defaultdict(list)
    seen: set[tuple[str, ...]] = set()
    for number, row in enumerate(read_rows(path), 2):
        place = tuple(str(row.get(name)) for name in PLACE)
        human = row.get("value")
        if human is None:
            continue
        where = f"{path}:{number}"
        if place not in known:
            raise InputError(f"{where}: {table} has no such label\n    keep its first six columns")
        if place in seen:
            raise InputError(f"{where}: a second value for the same label of a turn\n    keep one of them")
        seen.add(place)
        if human not in values[place[-1]]:
            allowed = ", ".join(values[place[-1]])
            raise InputError(f"{where}: {human!r} is not a value of {place[-1]}\n    values: {allowed}")
        own = known[place]
        pairs[own.label].append((f"{own.dataset}/{own.question_id}", own.value, str(human)))
    if not pairs:
        raise InputError(f"{path}: no row has a value\n    copy {table}, and write your values into its column value")
    width = max(map(len, pairs))
    lines = []
    for name, of_label in pairs.items():
        one = label_agreement(of_label, values[name])
        interval = f" [{one.ci_low:.2f}, {one.ci_high:.2f}]" if isfinite(one.ci_low) else ""
        lines.append(
            f"{name:{width}}  kappa {one.kappa:.2f}{interval}, equal {one.agree:.1%} of "
            f"{counted(one.turns, 'turn')} of {counted(one.questions, 'question')}, {one.unread} unreadable"
        )
    return "\n".join(lines)

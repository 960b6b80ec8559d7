"""Verb `cortexdsl verify`: check every file of an experiment, or of an RO-Crate, against what its jobs wrote."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from cortexdsl.errors import InputError
from cortexdsl.export.crate_check import check_crate, is_crate
from cortexdsl.jobs.arguments import add_results
from cortexdsl.jobs.options import FLAG, VerbParser
from cortexdsl.numbers import counted
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.journal import is_experiment
from cortexdsl.plan.persistence.verification import Difference, Verification, verify_results
from cortexdsl.plan.record import spec_of
from cortexdsl.text_layout import wrapped

_SHOWN = 5
"""Files of a crate that are named for one reason."""


def add_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    add_results(parser)
    parser.add("--json", "print the result as JSON", **FLAG)


def run(args: argparse.Namespace) -> int:
    """Run the verb; the exit status is 0 if everything is in order, else 1."""
    if is_crate(args.results):
        return _crate(args)
    layout = Layout(args.results.as_posix().rstrip("/"))
    if not Path(layout.root).is_dir():
        raise InputError(f"{layout.root}: there is no such folder of results; cortexdsl run makes it")
    if not is_experiment(layout):
        raise InputError(f"{layout.root}: not the results of an experiment: there is no ledger and no call")
    outcome = verify_results(layout, f"cortexdsl run {spec_of(layout)}")
    if args.json:
        print(json.dumps({"folder": layout.root, "is_whole": not outcome.findings, **asdict(outcome)}))
    else:
        print("\n".join(_lines(layout, outcome)))
    return 1 if outcome.findings else 0


def _crate(args: argparse.Namespace) -> int:
    """Check an RO-Crate; the exit status is 0 if everything is in order, else 1."""
    outcome = check_crate(args.results)
    found = outcome.findings
    if args.json:
        said = {"crate": str(args.results), "is_whole": not found, "files": outcome.files}
        print(json.dumps(said | {"findings": [asdict(one) for one in found]}))
        return 1 if found else 0
    by_kind: dict[tuple[str, str], list[str]] = {}
    for one in found:
        by_kind.setdefault((one.what, one.remedy), []).append(one.path)
    for (what, remedy), paths in by_kind.items():
        more = f"and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        print("\n".join([*paths[:_SHOWN], *filter(None, [more])]))
        print("\n".join([*wrapped(what, 4), *wrapped(f"what to do: {remedy}", 4)]))
    files = counted(outcome.files, "file")
    if found:
        what = f"{counted(len(found), 'thing is', 'things are')} not in order ({files} read)"
    else:
        what = f"{files}, each as the crate says, and {' and '.join(outcome.results)} as its experiment wrote it"
    print("\n".join(wrapped(f"{args.results}: {what}.")))
    return 1 if found else 0


def _finding(one: Difference, folder: str = "") -> Iterator[str]:
    yield f"{folder}{one.path}"
    yield from wrapped(one.what, 4)
    yield from wrapped(f"what to do: {one.remedy}", 4)


def _lines(layout: Layout, outcome: Verification) -> Iterator[str]:
    """Yield the outcome: each finding with its remedy, the notes, and what was checked."""
    for finding in outcome.findings:
        yield from _finding(finding, f"{layout.root}/")
    for note in outcome.notes:
        yield from wrapped(f"note: {note}")
    checked = f"{counted(outcome.files, 'file')}, {outcome.size / 1e6:,.1f} MB"
    if outcome.findings:
        things = counted(len(outcome.findings), "thing is", "things are")
        yield from wrapped(f"{layout.root}: {things} not in order ({checked} read).")
    else:
        said = "all as they were written, and the chain of the ledger is whole."
        yield from wrapped(f"{layout.root}: {checked}: {said}")

"""What several verbs share: their arguments, and how a job runs."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from cortexdsl.core import Limits
from cortexdsl.errors import RecordError
from cortexdsl.jobs.options import VerbParser
from cortexdsl.models.shared_state import SharedState
from cortexdsl.plan.compiled import read_compiled
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout, experiment_name, results_folder
from cortexdsl.plan.persistence.run_record import stop_note
from cortexdsl.symlinks import opened_results


def add_results(parser: VerbParser) -> None:
    """Add the results of an experiment, by its name or their folder."""
    line = "the experiment's name, or the folder of its results: results/quickstart"
    parser.add("results", line, type=results_place)


def add_spec(parser: argparse.ArgumentParser, which: str = "the spec") -> None:
    """Add the spec, and the name of its experiment."""
    parser.add_argument("spec", help=which)
    parser.add_argument("--experiment", help="the name of the experiment (default: that of the spec)")


def plan_of_job(spec: str, experiment: str | None) -> Plan:
    """Return the plan of a job: the one that the workflow compiled, or else that of the spec as it is now.

    The second is for experiments that train models, whose questions to learn from the compiler chooses, and for a job
    that somebody starts by hand.
    """
    layout = results_of_job(spec, experiment)
    if Path(layout.compiled).exists():
        return read_compiled(layout)
    from cortexdsl.plan.compiler import compile_spec  # late: a job that loads its plan need not import the language

    return compile_spec(spec, experiment)


def results_of_job(spec: str, experiment: str | None) -> Layout:
    """Return where the results of a job's experiment are."""
    return Layout(f"results/{experiment or experiment_name(Path(spec))}")


def add_dataset(parser: argparse.ArgumentParser) -> None:
    """Add the dataset of a job."""
    parser.add_argument("--dataset", required=True, help="label of the dataset")


def add_cell(parser: argparse.ArgumentParser) -> None:
    """Add the dataset and the cell of a job."""
    add_dataset(parser)
    parser.add_argument("--cell", required=True, help="the cell, as in file names: sparse~keep=median")


def add_out(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the file that a job writes."""
    parser.add_argument("--out", required=True, type=Path, help=f"{what} to write")


def add_digest(parser: argparse.ArgumentParser) -> None:
    """Add the digest that the spec must still have for this job."""
    parser.add_argument("--digest", help="refuse to run if the meaning of the spec has changed")


def add_connections(
    parser: argparse.ArgumentParser,
    what: str = "calls that wait for a reply at the same time, for each address and API key",
) -> None:
    """Add the limit on what a job may have in flight."""
    parser.add_argument("--connections", type=int, help=f"the most {what}")


def add_errors_again(parser: argparse.ArgumentParser, what: str = "send failed calls of earlier runs again") -> None:
    """Add the flag that repeats failed calls."""
    parser.add_argument("--errors-again", action="store_true", help=what)


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add the number of processors that the workflow gives a job."""
    parser.add_argument(
        "--threads",
        type=int,
        help="processors that it may use; 0: it only waits for servers, in the event loop of the worker",
    )


def run_alone(attend: Callable[[argparse.Namespace], Awaitable[str]], args: argparse.Namespace) -> int:
    """Run a job that waits for model servers in an event loop of its own, and print its message."""

    async def message() -> str:
        return await attend(args)

    print(asyncio.run(message()), file=sys.stderr)
    return 0


def limits_of(plan: Plan, args: argparse.Namespace, shared: SharedState | None = None) -> Limits:
    """Return the limits of a job: those of the run if it shares its connections, otherwise with its part of them."""
    return plan.limits if shared else replace(plan.limits, connections=args.connections or plan.limits.connections)


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add the functions that tools of a spec may call: permission for them, given by name (`plan.jobs.consent`)."""
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="FUNCTION",
        help="permit tools of the spec to call this function, package.module:function. It runs on this machine. "
        "Repeatable",
    )


def warn_if_stopped(folder: Path) -> None:
    """Print a warning if the last run of an experiment ended early, for verbs that read its files."""
    if note := stop_note(folder):
        print(f"warning: {folder}: {note}", file=sys.stderr)


def results_place(text: str) -> Path:
    """Return the folder of results that an argument names: a path, or the name of an experiment (`quickstart`)."""
    try:
        return opened_results(results_folder(text))
    except RecordError as error:  # argparse replaces the text of other errors
        raise argparse.ArgumentTypeError(str(error)) from None

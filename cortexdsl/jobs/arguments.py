"""What several verbs share: their arguments, and how a job runs."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cortexdsl.core import Limits
from cortexdsl.errors import InputError, RecordError
from cortexdsl.jobs.options import VerbParser
from cortexdsl.models.client import Client, open_client
from cortexdsl.models.job_tally import JobInfo
from cortexdsl.models.shared_state import SharedState
from cortexdsl.plan.compiled import CHANGED_REMEDY, read_compiled
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.jobs.consent import check_consent
from cortexdsl.plan.jobs.programs import with_programs
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


def plan_of_job(spec: str, experiment: str | None, threads: int | None = None) -> Plan:
    """Return the plan of a job: the one that the workflow compiled, or else that of the spec as it is now.

    The second is for experiments that train models, whose questions to learn from the compiler chooses, and for a job
    that somebody starts by hand. Programs of models are run by the tasks of the plan, `threads` at once.
    """
    layout = results_of_job(spec, experiment)
    if Path(layout.compiled).exists():
        return with_programs(read_compiled(layout), threads)
    from cortexdsl.plan.compiler import compile_spec  # late: a job that loads its plan need not import the language

    return with_programs(compile_spec(spec, experiment), threads)


def plan_of_results(args: argparse.Namespace) -> Plan:
    """Return the plan of a spec whose results a verb goes through, after checking that they hold no foreign link."""
    from cortexdsl.plan.compiler import compile_spec

    plan = with_programs(compile_spec(args.spec, experiment=args.experiment))
    opened_results(Path(plan.layout.root))
    return plan


def results_of_job(spec: str, experiment: str | None) -> Layout:
    """Return where the results of a job's experiment are."""
    return Layout(f"results/{experiment or experiment_name(Path(spec))}")


SHARED: Mapping[str, Mapping[str, Any]] = {
    "--dataset": {"required": True, "help": "label of the dataset"},
    "--cell": {"required": True, "help": "the cell, as in file names: sparse~keep=median"},
    "--judge": {"required": True, "help": "the judge of a tournament: an entry of models"},
    "--training": {"required": True, "help": "the entry of train"},
    "--learned": {"required": True, "help": "the entry of learned"},
    "--source": {"required": True, "help": "name of the knowledge entry"},
    "--phase": {"required": True, "help": "its phase: 1-critic"},
    "--shard": {"required": True, "help": "replicate and shard: r1-s01"},
    "--out": {"required": True, "type": Path, "help": "the file to write"},
    "--batch": {"required": True, "type": int, "help": "the batch of questions that is finished, from 1"},
    "--digest": {"help": "refuse to run if the meaning of the spec has changed"},
    "--connections": {
        "type": int,
        "help": "the most calls or searches that wait for a reply at the same time, for each address and API key",
    },
    "--errors-again": {"action": "store_true", "help": "send failed calls of earlier runs again"},
    "--threads": {
        "type": int,
        "help": "processors that it may use; 0: it only waits for servers, in the event loop of the worker",
    },
    "--trust": {
        "action": "append",
        "default": [],
        "metavar": "FUNCTION",
        "help": "permit tools of the spec to call this function, package.module:function. It runs on this machine. "
        "Repeatable",
    },
}
"""Arguments that several verbs have, with their settings."""


def add_shared(parser: argparse.ArgumentParser, names: str) -> None:
    """Add some of the arguments that several verbs have."""
    for name in names.split():
        parser.add_argument(name, **SHARED[name])


def check_digest(args: argparse.Namespace, digest: str) -> None:
    """Refuse a job whose meaning is not the one that its rule has named.

    Raises
    ------
    InputError
    """
    if args.digest and args.digest != digest:
        raise InputError(f"{args.spec} has changed since the workflow started\n    {CHANGED_REMEDY}")


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How the client of a job works.

    Attributes
    ----------
    limits : Limits
        Of the job: those of the run if it shares its connections, otherwise with its part of them.
    offline : bool
        Whether to take calls from logs alone.
    errors_again : bool
        Whether to repeat failed calls.
    shared : SharedState or None
        What it shares with other jobs of this process, connections included; None: nothing.
    """

    limits: Limits
    offline: bool = False
    errors_again: bool = False
    shared: SharedState | None = None

    @classmethod
    def of(cls, plan: Plan, args: argparse.Namespace, shared: SharedState | None = None) -> ClientOptions:
        """Return what the arguments of a job say."""
        connections = None if shared else args.connections
        limits = replace(plan.limits, connections=connections or plan.limits.connections)
        return cls(limits, errors_again=getattr(args, "errors_again", False), shared=shared)

    def open(self, plan: Plan, log: Path, job: JobInfo) -> Client:
        """Open the client of a job of a plan, which writes this call log and reads all of its folder."""
        return open_client(
            None if self.offline else log,
            folder=log.parent,
            limits=self.limits,
            ledgers=Path(plan.layout.spent),
            addresses=Path(plan.layout.addresses),
            job=replace(job, spec=plan.spec_name),
            offline=self.offline,
            errors_again=self.errors_again,
            shared=self.shared,
        )


@dataclass(frozen=True, slots=True)
class JobVerb:
    """A verb that does the work of a rule on a plan: its arguments besides the spec, and its work."""

    arguments: str
    work: Callable[[Plan, argparse.Namespace], object]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's arguments."""
        add_spec(parser)
        add_shared(parser, self.arguments)

    def run(self, args: argparse.Namespace) -> int:
        """Run the verb."""
        self.work(plan_of_job(args.spec, args.experiment), args)
        return 0


@dataclass(frozen=True, slots=True)
class AskingVerb:
    """A verb whose job asks models or sources: its arguments besides the spec, and its work, which returns a message.

    The job runs by itself, or in the event loop of the worker's job server, with the state that is shared there.
    """

    arguments: str
    work: Callable[[Plan, argparse.Namespace, ClientOptions], Awaitable[str]]
    add_arguments = JobVerb.add_arguments

    def run(self, args: argparse.Namespace) -> int:
        """Run the verb in an event loop of its own, and print its message."""
        print(asyncio.run(self.attend(args)), file=sys.stderr)
        return 0

    async def attend(self, args: argparse.Namespace, shared: SharedState | None = None) -> str:
        """Run the verb, and return its message.

        Parameters
        ----------
        args : argparse.Namespace
        shared : SharedState or None
            What the job shares with others that run in the same event loop.

        Raises
        ------
        InputError
            The spec needs a permission that its user has not given, or has changed so that this job has no place in it.
        """
        plan = plan_of_job(args.spec, args.experiment, args.threads)
        check_consent(plan, getattr(args, "trust", ()))
        return await self.work(plan, args, ClientOptions.of(plan, args, shared))


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

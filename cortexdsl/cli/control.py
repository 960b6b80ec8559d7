"""Verbs that change a running experiment from another terminal: `pause`, `resume` and `limit`."""

from __future__ import annotations

import argparse
from pathlib import Path

from cortexdsl.display.progress import layout_in
from cortexdsl.errors import InputError, RecordError
from cortexdsl.jobs.options import FLAG, VerbParser
from cortexdsl.models.control import SPENDING
from cortexdsl.models.spending import limited_amounts, spent_so_far
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout, experiment_name, spec_path
from cortexdsl.plan.persistence import controls
from cortexdsl.plan.persistence.run_record import is_locked
from cortexdsl.plan.record import read_plan

_EXPERIMENT = "its name, its spec, or the folder of its results"
_WORDS = {
    "calls": ("N", int, "the most requests"),
    "tokens": ("N", int, "the most tokens, input and output"),
    "dollars": ("X", float, "the most dollars"),
    "seconds": ("S", float, "the most seconds of all jobs together"),
}


def add_pause_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("experiment", _EXPERIMENT)
    parser.add("--why", "the reason, for the ledger (the history of the experiment)", default="", metavar="TEXT")


def add_resume_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("experiment", _EXPERIMENT)


def add_limit_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("experiment", _EXPERIMENT)
    for word, (letter, kind, line) in _WORDS.items():
        parser.add(f"--{word}", line, type=kind, metavar=letter)
    parser.add("--spec", "go back to the limits of the spec", **FLAG)
    parser.epilog = "Without options it prints what is in force. Running jobs follow within seconds."


def run_pause(args: argparse.Namespace) -> int:
    """Run the verb."""
    layout = _layout(args.experiment)
    name = _name(layout)
    earlier = controls.pause(layout, " ".join(args.why.split()))
    if earlier is not None:
        print(f"{name}: paused already, since {earlier.at} by {earlier.by}")
        return 0
    is_at_work = is_locked(Path(layout.root))
    then = "calls in flight are finished, and no further call is sent" if is_at_work else (
        "no run is in progress; the next one waits")  # fmt: skip
    print(f"{name}: paused; {then}\n    continue: cortexdsl resume {name}")
    return 0


def run_resume(args: argparse.Namespace) -> int:
    """Run the verb."""
    layout = _layout(args.experiment)
    name = _name(layout)
    earlier = controls.resume(layout)
    if earlier is None:
        print(f"{name}: not paused")
        return 0
    print(f"{name}: resumed; it was paused since {earlier.at} by {earlier.by}")
    if not is_locked(Path(layout.root)):
        print(f"    no run is in progress; start one: cortexdsl run {name}")
    return 0


def run_limit(args: argparse.Namespace) -> int:
    """Run the verb."""
    layout = _layout(args.experiment)
    name, plan = _name(layout), _plan(layout)
    limits = {word: value for word in SPENDING if (value := getattr(args, word)) is not None}
    if args.spec and limits:
        raise InputError("--spec goes alone: it takes all changes back\n    run the verb twice")
    for word, value in limits.items():
        if not value >= 0:
            raise InputError(f"--{word} {value}: this is not a limit\n    write a positive number")
    if args.spec:
        controls.back_to_spec(plan)
    elif limits:
        controls.change(plan, limits)
    lines = controls.in_words(plan)
    print(f"{name}: " + ("the limits of the spec hold" if not lines else "in force instead of what the spec says:"))
    for line in lines:
        print(f"    {line}")
    if limits:
        print(f"Running jobs follow within seconds, and later runs keep it. Back: cortexdsl limit {name} --spec")
    _warn_of_spent(layout, limits)
    return 0


def _warn_of_spent(layout: Layout, limits: dict[str, float]) -> None:
    spent = limited_amounts(spent_so_far(Path(layout.spent)))
    for word, value in limits.items():
        if spent[word] >= value:
            print(f"{word}: {spent[word]:,.6g} are spent already, so that jobs stop at their next call")


def _layout(experiment: str) -> Layout:
    """Return the paths of an experiment that has begun or has a spec.

    Raises
    ------
    InputError
    """
    if experiment.endswith((".yaml", ".yml")):
        return layout_in(experiment_name(spec_path(experiment)))
    layout = layout_in(experiment)
    if not Path(layout.root).is_dir():
        return layout_in(experiment_name(spec_path(_name(layout))))
    return layout


def _name(layout: Layout) -> str:
    return layout.root.removeprefix("results/")


def _plan(layout: Layout) -> Plan:
    """Compile the spec of an experiment.

    Raises
    ------
    InputError
        There is no spec.
    """
    name = _name(layout)
    try:
        return compile_spec(read_plan(Path(layout.plan)).spec, name)
    except RecordError:
        return compile_spec(spec_path(name).as_posix(), name)

"""The command line's verbs: find what runs a verb, run it, and turn errors into one message and an exit status.

Exit status: 0 success; 1 the experiment failed; 2 the input is wrong.
"""

from __future__ import annotations

import argparse
import difflib
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from io import TextIOWrapper
from pkgutil import iter_modules

from cortexdsl import __version__
from cortexdsl.errors import CortexError, InputError
from cortexdsl.jobs.options import VerbParser
from cortexdsl.plain_text import plain_output

DAILY, SPECS, DEBATES, RESULTS = "every day", "specs and data", "finished debates", "results"
FOREIGN, JOBS = "tables and replies of other programs", "called by the workflow"
"""The groups of verbs in the help; jobs are the rules of the workflow."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: the group and the line of the help, and the module that is imported only to run it.

    The module has the functions `add_arguments` and `run`. If it has several verbs, their names have the verb in them:
    `add_check_arguments` and `run_check`.
    """

    group: str
    module: str
    line: str


JOB_PACKAGES = ("cortexdsl.jobs", "cortexdsl_train.jobs")
"""Folders with the work of rules: each module but `_SHARED` is the verb with its name."""
_SHARED = {"arguments", "costs", "judge_rounds", "options", "plan", "serve"}


def _job_verbs() -> dict[str, Verb]:
    """Return the verbs that the rules of the workflow call, by the names of their modules; nothing is imported."""
    places = {package: list(getattr(find_spec(package), "submodule_search_locations", ())) for package in JOB_PACKAGES}
    return {
        module.name: Verb(JOBS, f"{package}.{module.name}", f"do the work of the rule {module.name}")
        for package, folders in places.items()
        for module in iter_modules(folders)
        if module.name not in _SHARED
    }


_OWN: dict[str, Verb] = {
    "new": Verb(DAILY, "cortexdsl.cli.specs", "write a new spec to start from"),
    "check": Verb(DAILY, "cortexdsl.cli.check", "list the mistakes of a spec with their places"),
    "trust": Verb(
        DAILY,
        "cortexdsl.cli.check",
        "permit a spec to run commands and code, to read other files, and to call other addresses",
    ),
    "plan": Verb(DAILY, "cortexdsl.cli.planning", "estimate what a spec will cost, before anything is spent"),
    "run": Verb(DAILY, "cortexdsl.cli.experiments", "run an experiment to its report, and show its progress"),
    "status": Verb(DAILY, "cortexdsl.cli.experiments", "show the progress of an experiment, from any terminal"),
    "pause": Verb(DAILY, "cortexdsl.cli.control", "pause a running experiment: it sends no further call"),
    "resume": Verb(DAILY, "cortexdsl.cli.control", "let a paused experiment continue"),
    "limit": Verb(DAILY, "cortexdsl.cli.control", "change the limits of an experiment while it runs"),
    "report": Verb(DAILY, "cortexdsl.cli.results", "write or print the report of an experiment"),
    "data": Verb(SPECS, "cortexdsl.cli.data", "list and sample datasets"),
    "power": Verb(SPECS, "cortexdsl.cli.planning", "compute which differences a spec can detect"),
    "explain": Verb(SPECS, "cortexdsl.cli.specs", "list the protocols, or draw the steps of one and who hears whom"),
    "compile": Verb(SPECS, "cortexdsl.cli.specs", "print a Snakefile that runs a spec, with one rule per cell"),
    "schema": Verb(SPECS, "cortexdsl.cli.specs", "print the JSON Schema of specs or protocols"),
    "completion": Verb(
        SPECS, "cortexdsl.cli.specs", "print a script for a shell, which then completes cortexdsl commands"
    ),
    "whatif": Verb(
        DEBATES,
        "cortexdsl.jobs.whatif",
        "leave an agent, edge, round or step out of finished debates, and say what that changes",
    ),
    "labels": Verb(DEBATES, "cortexdsl.jobs.labels", "compare the labels of turns with human ones"),
    "regrade": Verb(DEBATES, "cortexdsl.jobs.regrade", "score finished debates again; no model is called"),
    "replay": Verb(DEBATES, "cortexdsl.jobs.replay", "run an experiment again from its call logs, without a model"),
    "ledger": Verb(
        RESULTS, "cortexdsl.cli.results", "list what was declared, run and changed, and check that nothing was edited"
    ),
    "verify": Verb(
        RESULTS, "cortexdsl.cli.results", "check every file of an experiment, and say what is damaged and what to do"
    ),
    "view": Verb(RESULTS, "cortexdsl.cli.results", "look at debates in a browser"),
    "show": Verb(RESULTS, "cortexdsl.cli.records", "print debates turn by turn"),
    "gate": Verb(RESULTS, "cortexdsl.cli.gate", "require claims, and end with a status for continuous integration"),
    "export": Verb(RESULTS, "cortexdsl.cli.records", "write scores and records to files for other programs"),
    "compare": Verb(FOREIGN, "cortexdsl.cli.compare", "compare the cells of any table of scores"),
    "grade": Verb(FOREIGN, "cortexdsl.cli.foreign", "read and grade replies from any program"),
    "import": Verb(FOREIGN, "cortexdsl.cli.foreign", "convert transcripts of other programs to debate records"),
    "batch": Verb(
        FOREIGN, "cortexdsl.cli.batch", "answer a file of requests by batches of OpenAI or Anthropic, at half the price"
    ),
}
"""The verbs of people, in the order of the help."""
VERBS: Mapping[str, Verb] = _OWN | {name: verb for name, verb in _job_verbs().items() if name not in _OWN}
"""Every verb in the order of the help."""

_SUMMARY = "Multi-agent debate experiments: written as YAML, run by Snakemake, judged by significance tests."
_USAGE = """cortexdsl VERB ...
       cortexdsl VERB --help
       cortexdsl --version"""


@dataclass(frozen=True, slots=True)
class Command:
    """Interface of a verb's module: add arguments to a parser, and run the verb to its exit status."""

    add_arguments: Callable[[VerbParser], None]
    run: Callable[[argparse.Namespace], int]


def command_of(verb: str) -> Command:
    """Import the module of a verb and return what it does."""
    module = import_module(VERBS[verb].module)
    add_arguments = getattr(module, f"add_{verb}_arguments", None)
    if add_arguments is None:
        command = getattr(module, "JOB", module)
        return Command(command.add_arguments, command.run)
    return Command(add_arguments, getattr(module, f"run_{verb}"))


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal may lack some characters: escape them
            stream.reconfigure(errors="backslashreplace")
    with plain_output():
        return _run(arguments)


def _run(arguments: Sequence[str]) -> int:
    status = 0
    try:
        parsed = parse(arguments)
        status = parsed.run(parsed)
        sys.stdout.flush()
    except BrokenPipeError:  # `cortexdsl ... | head`: the reader has ended, which is not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (CortexError, OSError) as error:
        status, message = failure(error)
        print(message, file=sys.stderr)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return status


def failure(error: CortexError | OSError) -> tuple[int, str]:
    """Return the exit status and the message of an error."""
    if isinstance(error, CortexError):
        return 2 if isinstance(error, InputError) else 1, f"error: {error}"
    # For example a full disk, or a folder that cannot be written.
    return 1, f"error: {error.filename or 'input or output'}: {error.strerror or error}"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; the value's `run` runs the verb."""
    words = list(arguments)
    verb = next((word for word in words if not word.startswith("-")), None)
    # Words after -- are for Snakemake; argparse would mix them with the verb's own.
    end = words.index("--") if verb == "run" and "--" in words else len(words)
    parser = _parser(verb)
    if not words:
        parser.error("name a verb; cortexdsl --help lists all verbs")
    if verb is not None and verb not in VERBS:
        near = difflib.get_close_matches(verb, [name for name, one in VERBS.items() if one.group != JOBS], n=1)
        hint = f"did you mean {near[0]}?" if near else "cortexdsl --help lists all verbs"
        parser.error(f"there is no verb {verb!r}; {hint}")
    parsed = parser.parse_args(words[:end])
    parsed.handed_on = words[end + 1 :]
    return parsed


@cache
def _parser(verb: str | None) -> argparse.ArgumentParser:
    """Return the parser for command lines of one verb; a worker parses many of them."""
    return parser_of([verb])


def parser_of(complete: Collection[str | None]) -> argparse.ArgumentParser:
    """Return the parser of all verbs, with the arguments of those in `complete`: each of these is imported."""
    parser = _Parser(prog="cortexdsl", usage=_USAGE)
    parser.add_argument("--version", action="version", version=f"cortexdsl {__version__}")
    parsers = parser.add_subparsers(
        dest="verb", metavar="VERB", required=True, prog="cortexdsl", parser_class=VerbParser
    )
    for name, verb in VERBS.items():
        verb_parser = parsers.add_parser(name, help=verb.line, description=verb.line[0].upper() + verb.line[1:] + ".")
        if name in complete:
            command = command_of(name)
            command.add_arguments(verb_parser)
            verb_parser.set_defaults(run=command.run)
    return parser


class _Parser(argparse.ArgumentParser):
    """The parser of the whole command, whose help groups the verbs."""

    def format_help(self) -> str:
        """Return the help, at most 80 columns wide."""
        lines = [f"usage: {_USAGE}", "", *_wrapped(_SUMMARY, ""), ""]
        groups = dict.fromkeys(verb.group for verb in VERBS.values())
        width = max(len(name) for name, verb in VERBS.items() if verb.group != JOBS)
        for group in groups:
            lines += [f"{group}:", *_group_lines(group, width), ""]
        return "\n".join([*lines, "exit status: 0 success, 1 the experiment failed, 2 the input is wrong", ""])


def _group_lines(group: str, width: int) -> Iterable[str]:
    """Describe the verbs of a group; those that only the workflow calls are only named."""
    verbs = {name: verb for name, verb in VERBS.items() if verb.group == group}
    if group == JOBS:
        return _wrapped(", ".join(verbs), "  ")
    lines = []
    for name, verb in verbs.items():
        first, *rest = _wrapped(verb.line, " " * (width + 4))
        lines += [f"  {name:<{width}}  {first.lstrip()}", *rest]
    return lines


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 80, initial_indent=indent, subsequent_indent=indent)

"""The verbs: finds a verb's module, runs it, and turns errors into one clear message and an exit status.

Exit status: 0 success; 1 the experiment failed; 2 the input is wrong.
"""

from __future__ import annotations

import argparse
import difflib
import os
import signal
import sys
import textwrap
from collections.abc import Collection, Sequence
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from types import ModuleType
from typing import TYPE_CHECKING

from cortexdsl import __version__
from cortexdsl.errors import CortexError, InputError

if TYPE_CHECKING:
    from cortexdsl.plan import Compiled

ROOMS = {
    "specs": {
        "new": "write a new spec to start from",
        "data": "list and sample datasets",
        "check": "say at once what is wrong in a spec, and where",
        "plan": "say what a spec will cost before anything is spent",
        "power": "say what differences a plan can detect",
        "explain": "draw a protocol's schedule and who hears whom",
        "compile": "print what a spec means to Snakemake, as rules that run by themselves",
        "schema": "print the JSON Schema of specs or protocols",
        "completion": "print a script with which a shell completes this command",
    },
    "experiments": {
        "run": "run an experiment to its report, and show how it goes",
        "status": "say how far an experiment is, from any terminal",
        "whatif": "leave an agent, edge, round or step out of finished debates, and say what that changes",
        "regrade": "score finished debates again; no model is called",
        "replay": "run an experiment again from its call logs alone",
    },
    "results": {
        "report": "write or print the report of an experiment",
        "ledger": "list what was declared, run and changed, and check that nothing was edited",
        "view": "look at debates in a browser",
        "show": "show debates as they were spoken",
        "export": "write scores and records for other programs",
    },
    "foreign": {
        "compare": "compare the cells of any table of scores",
        "grade": "read and grade replies from any program",
        "import": "bring transcripts from other programs in as debate records",
    },
    "jobs": {
        "debate": "run one shard of debates (a workflow job)",
        "pool": "build the knowledge pools of a dataset (a workflow job)",
        "train": "let a model learn from the pairs of one phase (a workflow job)",
        "judge": "have the answers of one cell judged by a model (a workflow job)",
        "score": "score the debates of one cell (a workflow job)",
        "join": "join the scores of all cells (a workflow job)",
        "look": "ask whether every claim is decided already (a workflow job)",
        "trajectories": "run the debates that a phase of a training learns from (a workflow job)",
        "pairs": "choose what a phase of a training learns from (a workflow job)",
        "agreement": "say how far the judge agrees with exact match (a workflow job)",
        "verdict": "test the families and claims of an experiment (a workflow job)",
    },
}
"""Every verb by the folder that its module lies in, and its line in the help."""
VERBS = {verb: line for room in ROOMS.values() for verb, line in room.items()}
DAILY = ("new", "check", "plan", "run", "status", "report")
GROUPS = {
    "every day": DAILY,
    "specs and data": tuple(verb for verb in ROOMS["specs"] if verb not in DAILY),
    "finished debates": tuple(verb for verb in ROOMS["experiments"] if verb not in DAILY),
    "results": tuple(verb for verb in ROOMS["results"] if verb not in DAILY),
    "tables and replies of other programs": tuple(ROOMS["foreign"]),
}
"""The verbs that people use, as the help groups them; jobs are called by the workflow alone."""

_WIDTH = max(len(verb) for group in GROUPS.values() for verb in group)
_SUMMARY = "Multi-agent debate experiments: written as YAML, run by Snakemake, judged by significance tests."
_USAGE = """cortexdsl VERB ...
       cortexdsl VERB --help
       cortexdsl --version"""


def run(arguments: Sequence[str], compiled: Compiled | None = None) -> int:
    """Run a command line and return its exit status; parameters as in `parse`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # letters that a terminal lacks are no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        parsed = parse(arguments, compiled)
        status: int = parsed.run(parsed)
        sys.stdout.flush()
    except BrokenPipeError:  # `cortexdsl ... | head`: the reader has gone, which is no failure of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (CortexError, OSError) as error:
        status, said = failure(error)
        print(said, file=sys.stderr)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return status


def failure(error: CortexError | OSError) -> tuple[int, str]:
    """Return the exit status and the one message of an error."""
    if isinstance(error, CortexError):
        return 2 if isinstance(error, InputError) else 1, f"error: {error}"
    # A full disk, a folder that may not be written.
    return 1, f"error: {error.filename or 'input or output'}: {error.strerror or error}"


def parse(arguments: Sequence[str], compiled: Compiled | None = None) -> argparse.Namespace:
    """Read a command line, to a value whose `run` runs its verb.

    Parameters
    ----------
    arguments : sequence of str
    compiled : callable of (spec, experiment) or None
        Compiles the specs of workflow jobs; by default `cortexdsl.plan.compile_spec`.
    """
    given = list(arguments)
    asked = next((word for word in given if not word.startswith("-")), None)
    # What stands after -- is for another program, here Snakemake (argparse would mix it with the verb's own).
    end = given.index("--") if asked == "run" and "--" in given else len(given)
    parser = _parser(asked)
    if asked is not None and asked not in VERBS:
        near = difflib.get_close_matches(asked, VERBS, n=1)
        hint = f"did you mean {near[0]}?" if near else "cortexdsl --help lists all verbs"
        parser.error(f"there is no verb {asked!r}; {hint}")
    parsed = parser.parse_args(given[:end])
    parsed.handed_on = given[end + 1 :]
    if compiled is not None:
        parsed.compiled = compiled
    return parsed


@cache
def _parser(verb: str | None) -> argparse.ArgumentParser:
    """Return the parser for a command line about one verb; a worker reads many such lines."""
    return parser_of([verb])


def parser_of(whole: Collection[str | None]) -> argparse.ArgumentParser:
    """Return the parser of all verbs; only of some are the arguments looked up, which loads what they import."""
    parser = _Parser(prog="cortexdsl", usage=_USAGE)
    parser.add_argument("--version", action="version", version=f"cortexdsl {__version__}")
    verbs = parser.add_subparsers(
        dest="verb", metavar="VERB", required=True, prog="cortexdsl", parser_class=argparse.ArgumentParser
    )
    for verb, summary in VERBS.items():
        verb_parser = verbs.add_parser(verb, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if verb in whole:
            module = module_of(verb)
            module.add_arguments(verb_parser)
            verb_parser.set_defaults(run=module.run)
    return parser


class _Parser(argparse.ArgumentParser):
    """The parser of the whole command: its help groups the verbs by what people do with them."""

    def format_help(self) -> str:
        """Return the help, at most 80 columns wide."""
        lines = [f"usage: {_USAGE}", "", *_wrapped(_SUMMARY, ""), ""]
        for heading, verbs in GROUPS.items():
            lines.append(f"{heading}:")
            for verb in verbs:
                first, *rest = _wrapped(VERBS[verb], " " * (_WIDTH + 4))
                lines += [f"  {verb:<{_WIDTH}}  {first.lstrip()}", *rest]
            lines.append("")
        lines += ["called by the workflow:", *_wrapped(", ".join(ROOMS["jobs"]), "  "), ""]
        return "\n".join([*lines, "exit status: 0 success, 1 the experiment failed, 2 the input is wrong", ""])


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 80, initial_indent=indent, subsequent_indent=indent)


def module_of(verb: str) -> ModuleType:
    """Import the module of a verb: it has `add_arguments` and `run`."""
    room = next(room for room, verbs in ROOMS.items() if verb in verbs)
    return import_module(f"cortexdsl.cli.{room}.{verb}{'_' if iskeyword(verb) else ''}")

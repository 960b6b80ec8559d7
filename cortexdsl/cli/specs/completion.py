"""`cortexdsl completion`: print a script with which a shell completes verbs, options, specs and experiments."""

from __future__ import annotations

import argparse
from pathlib import Path

import shtab

from cortexdsl.cli import verbs
from cortexdsl.cli.place import results_place

SHELLS = ("bash", "zsh")

# Names of specs and of begun experiments, as the shell finds them where the user is: no Python starts for a key press.
_SPECS = r"""find -L specs -name "[!_]*.yaml" 2>/dev/null | sed -e "s|^specs/||" -e "s|\.yaml$||" """
_BEGUN = r"""find -L results -maxdepth 3 -name plan.json 2>/dev/null | sed -e "s|^results/||" -e "s|/plan\.json$||" """
_FUNCTIONS = {
    "bash": f"""\
_cortexdsl_specs() {{ compgen -W "$({_SPECS})" -- "$1"; compgen -f -- "$1"; }}
_cortexdsl_begun() {{ compgen -W "$({_BEGUN})" -- "$1"; }}
_cortexdsl_places() {{ _cortexdsl_begun "$1"; compgen -f -- "$1"; }}
""",
    "zsh": f"""\
_cortexdsl_specs() {{ local -a found=(${{(f)"$({_SPECS})"}}); compadd -a found; _files; }}
_cortexdsl_begun() {{ local -a found=(${{(f)"$({_BEGUN})"}}); compadd -a found; }}
_cortexdsl_places() {{ _cortexdsl_begun; _files; }}
""",
}
_NAMED = {"spec": "_cortexdsl_specs", "experiment": "_cortexdsl_begun"}  # arguments, and what completes them
_READ_AS = {results_place: dict.fromkeys(SHELLS, "_cortexdsl_places"), Path: shtab.FILE}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="whose script; docs/run.md says where it goes")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    parser = verbs.parser_of(verbs.VERBS)
    _mark(parser)
    print(shtab.complete(parser, args.shell, preamble=_FUNCTIONS[args.shell]))
    return 0


def _mark(parser: argparse.ArgumentParser) -> None:
    """Say of every argument what its words may be, by what it is called and what it is read as."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _mark(each)
        elif action.dest in _NAMED and not action.option_strings:
            action.complete = dict.fromkeys(SHELLS, _NAMED[action.dest])  # type: ignore[attr-defined]
        elif action.type in _READ_AS:
            action.complete = _READ_AS[action.type]  # type: ignore[attr-defined]

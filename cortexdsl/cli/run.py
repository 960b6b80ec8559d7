"""`cortexdsl run`: run an experiment to its report by the workflow that ships with the package."""

from __future__ import annotations

import argparse
import json
import os
import sys

from cortexdsl.errors import InputError
from cortexdsl.plan import compile_spec
from cortexdsl.watch.command import remember, workflow_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", help="the spec, or its name under specs/")
    parser.add_argument("--cores", default="all", metavar="N", help="jobs at once; by default one a core")
    parser.add_argument("--errors-again", action="store_true", help="ask failed calls of earlier runs again")
    parser.epilog = "What stands after -- is handed on to Snakemake: cortexdsl run mine -- --dry-run"


def run(args: argparse.Namespace) -> int:
    """Run the verb: this process becomes Snakemake, so that signals and exit status are its own."""
    if args.cores != "all" and not (args.cores.isdecimal() and int(args.cores) > 0):
        raise InputError(f"--cores {args.cores}: is no number of jobs\n    write --cores 4, or --cores all")
    compile_spec(args.spec)  # what is wrong in it is said before Snakemake starts
    command = snakemake_command(args.spec, args.cores, args.handed_on, errors_again=args.errors_again)
    remember(sys.argv[1:])
    sys.stdout.flush()
    os.execv(command[0], command)


def snakemake_command(spec: str, cores: str, handed_on: list[str], *, errors_again: bool) -> list[str]:
    """Return the command line that runs a spec: the shipped workflow with its display, then what was handed on."""
    config = [f"spec={json.dumps(spec)}", *(["errors_again=true"] if errors_again else [])]
    folder = workflow_folder()
    return [
        sys.executable, "-m", "snakemake", "--snakefile", str(folder / "Snakefile"),
        *(["--logger", "cortexdsl"] if "--logger" not in handed_on else []),
        "--config", *config, "--cores", cores, *handed_on,
    ]  # fmt: skip

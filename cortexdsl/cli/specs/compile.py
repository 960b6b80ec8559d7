"""`cortexdsl compile`: print what a spec means to Snakemake."""

from __future__ import annotations

import argparse

from cortexdsl.plan import compile_spec
from cortexdsl.plan.jobs.rules import rules_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", help="the spec")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    print(rules_text(compile_spec(args.spec)), end="")
    return 0

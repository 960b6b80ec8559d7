"""`cortexdsl report`: write an experiment's page, figures and tables, or print its report."""

from __future__ import annotations

import argparse
import sys

from cortexdsl.cli.place import results_place
from cortexdsl.report.text import terminal_report

SUMMARY = "write or print the report of an experiment"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "results", type=results_place, help="the experiment's name, or the folder of its results: results/quickstart"
    )
    parser.add_argument("--text", action="store_true", help="print the report; write nothing")
    parser.add_argument("--no-figures", action="store_true", help="draw nothing, which takes most of the time")
    parser.add_argument("--threads", type=int, default=1, help="figures that are drawn at once (default: 1)")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.text:
        sys.stdout.write(terminal_report(args.results, is_coloured=sys.stdout.isatty()))
    else:
        from cortexdsl.report.build import build_report  # what draws: half of what printing a report would cost

        print(build_report(args.results, has_figures=not args.no_figures, threads=args.threads))
    return 0

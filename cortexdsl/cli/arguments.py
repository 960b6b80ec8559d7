"""Arguments that several verbs have: each is written down once, and says the same everywhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from cortexdsl.plan import compile_spec


def add_spec(parser: argparse.ArgumentParser, which: str = "the spec") -> None:
    """Add the spec, the name of its experiment, and what compiles it: a worker has one that remembers."""
    parser.set_defaults(compiled=compile_spec)
    parser.add_argument("spec", help=which)
    parser.add_argument("--experiment", help="name of the experiment; by default that of the spec")


def add_dataset(parser: argparse.ArgumentParser) -> None:
    """Add the dataset that a job is about."""
    parser.add_argument("--dataset", required=True, help="label of the dataset")


def add_cell(parser: argparse.ArgumentParser) -> None:
    """Add the dataset and the cell that a job is about."""
    add_dataset(parser)
    parser.add_argument("--cell", required=True, help="the cell, as in file names: sparse~keep=median")


def add_out(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the file that a job writes."""
    parser.add_argument("--out", required=True, type=Path, help=f"{what} to write")


def add_digest(parser: argparse.ArgumentParser) -> None:
    """Add what a job must still mean."""
    parser.add_argument("--digest", help="refuse to run if the spec means something else by now")


def add_connections(parser: argparse.ArgumentParser, what: str = "calls in flight to one endpoint") -> None:
    """Add how much a job may have in flight."""
    parser.add_argument("--connections", type=int, help=f"{what} at most")


def add_errors_again(
    parser: argparse.ArgumentParser, what: str = "ask calls again that failed in earlier runs"
) -> None:
    """Add the wish to ask failures again."""
    parser.add_argument("--errors-again", action="store_true", help=what)


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add the processors that the workflow gives a job."""
    parser.add_argument("--threads", type=int, help="processors it takes; 0: it only waits, beside others in one loop")

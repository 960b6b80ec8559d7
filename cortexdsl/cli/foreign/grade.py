"""`cortexdsl grade`: read and grade replies from any program."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from cortexdsl.errors import DataError
from cortexdsl.tasks.rows import grade_rows
from cortexdsl.tasks.sources.files import rows_of
from cortexdsl.tasks.summary import summarise

SUMMARY = "read and grade replies from any program"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "file", type=Path, help="JSON Lines (or CSV, Parquet) of task, question, options (if any), gold and output"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", type=Path, metavar="FILE", help="write one graded row a line to this file")
    where.add_argument("--json", action="store_true", help="print one graded row a line, in the order of the input")
    parser.add_argument(
        "--reading", choices=("lenient", "strict"), default="lenient", help="the reading that scores (lenient)"
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    rows = list(rows_of(args.file))
    if not rows:
        raise DataError(f"{args.file}: no rows\n    give rows of task, question, options (if any), gold and output")
    graded = grade_rows(rows, args.reading)
    lines = [json.dumps(each.row(), ensure_ascii=False) for each in graded]
    if args.json:
        print("\n".join(lines))
        return 0
    if args.out is not None:
        args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(summarise(graded).text())
    if args.out is not None:
        print(f"{len(lines)} graded rows are in {args.out}", file=sys.stderr)
    return 0

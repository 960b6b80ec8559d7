"""Verbs for what other programs wrote: `cortexdsl grade` (replies) and `cortexdsl import` (transcripts)."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from cortexdsl.errors import DataError, InputError
from cortexdsl.jobs.options import FLAG, REPEATABLE, VerbParser
from cortexdsl.numbers import counted
from cortexdsl.tasks.reading.kinds import KINDS
from cortexdsl.tasks.replies import grade_rows, summary
from cortexdsl.tasks.sources.files import rows_of


def add_grade_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("file", "a JSON Lines, CSV or Parquet file: task, question, options (if any), gold, output", type=Path)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", type=Path, metavar="FILE", help="write the graded rows to this file, one per line")
    where.add_argument("--json", help="print the graded rows as JSON, one per line, in the order of the input", **FLAG)
    readings = ("lenient", "strict")
    parser.add(
        "--reading", "which reading of a reply is scored (default: lenient)", choices=readings, default="lenient"
    )


def run_grade(args: argparse.Namespace) -> int:
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
    print(summary(graded))
    if args.out is not None:
        print(f"{len(lines)} graded rows are in {args.out}", file=sys.stderr)
    return 0


def add_import_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    line = "JSON Lines, one debate per line; a file of MALLM, Inspect or Every Eval Ever (docs/old-runs.md)"
    parser.add("transcripts", line, type=Path)
    parser.add("--out", "the results folder to write, results/NAME", type=Path, required=True, metavar="FOLDER")
    parser.add("--dataset", "the dataset of lines that do not name one (default: the file's name)")
    parser.add("--cell", "the cell of lines that do not name one (default: imported)", default="imported")
    parser.add("--kind", "the kind of answers to questions without choices (default: by the golds)", choices=KINDS)
    line = "a column that has another name in your file, such as answer=gold; repeatable"
    parser.add("--field", line, metavar="WORD=COLUMN", **REPEATABLE)


def run_import(args: argparse.Namespace) -> int:
    """Run the verb."""
    from cortexdsl.logs.plain import read_transcripts  # imports pandas
    from cortexdsl.metrics.foreign import foreign_debates, write_foreign

    fields = dict(_pair(text) for text in args.field)
    dataset = args.dataset or args.transcripts.stem
    transcripts = read_transcripts(args.transcripts, dataset=dataset, cell=args.cell, fields=fields)
    imports = foreign_debates(transcripts, args.out.name, args.kind)
    if not imports:
        raise InputError(f"{args.transcripts}: no transcript in it")
    write_foreign(args.out, imports)
    for each in imports:
        turns = [turn for record in each.records for turn in record.debate.turns]
        unread = sum(turn.answer is None for turn in turns)
        print(
            f"{each.dataset}: {counted(len(each.records), 'debate')}, "
            f"{counted(len(turns), 'turn')}, {unread} without a readable answer"
            f" (read as {each.kind})" + ("" if each.task else "; no gold answers, so no scores")
        )
    print(f"written to {args.out}")
    return 0


def _pair(text: str) -> tuple[str, str]:
    word, equals, column = text.partition("=")
    if not (word and equals and column):
        raise InputError(f"--field {text!r}: write WORD=COLUMN, such as answer=gold")
    return word, column

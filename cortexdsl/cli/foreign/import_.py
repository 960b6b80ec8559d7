"""`cortexdsl import`: bring transcripts from other programs in as debate records, and describe them."""

from __future__ import annotations

import argparse
from pathlib import Path

from cortexdsl.analysis.units.foreign import foreign_debates, write_foreign
from cortexdsl.errors import InputError
from cortexdsl.records import read_transcripts
from cortexdsl.tasks.reading.kinds import KINDS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("transcripts", type=Path, help="JSON Lines, one debate a line (docs/records.md)")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="results folder, results/NAME")
    parser.add_argument("--dataset", help="of lines that name none (default: the file's name)")
    parser.add_argument("--cell", default="imported", help="of lines that name none (default: imported)")
    parser.add_argument("--kind", choices=KINDS, help="answer kind of questions without choices (default: from golds)")
    parser.add_argument(
        "--field", action="append", default=[], metavar="WORD=COLUMN",
        help="a column that is called otherwise, such as answer=gold; may be repeated",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    fields = dict(_pair(text) for text in args.field)
    dataset = args.dataset or args.transcripts.stem
    transcripts = read_transcripts(args.transcripts, dataset=dataset, cell=args.cell, fields=fields)
    found = foreign_debates(transcripts, args.out.name, args.kind)
    if not found:
        raise InputError(f"{args.transcripts}: no transcript in it")
    write_foreign(args.out, found)
    for each in found:
        turns = [turn for record in each.records for turn in record.debate.turns]
        unread = sum(turn.answer is None for turn in turns)
        print(
            f"{each.dataset}: {len(each.records)} debates, {len(turns)} turns, {unread} without a readable answer"
            f" (read as {each.kind})" + ("" if each.task else "; no gold answers, so no scores")
        )
    print(f"written to {args.out}")
    return 0


def _pair(text: str) -> tuple[str, str]:
    word, equals, column = text.partition("=")
    if not (word and equals and column):
        raise InputError(f"--field {text!r}: write WORD=COLUMN, such as answer=gold")
    return word, column

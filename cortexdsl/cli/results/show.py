"""`cortexdsl show`: list debates, or print some of them as they were spoken."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from cortexdsl.analysis.units.scores import read_rows
from cortexdsl.cli.place import results_place
from cortexdsl.errors import InputError, RecordError
from cortexdsl.plan.kept.store import read_plan
from cortexdsl.records import Record, debate_files, debate_to_json, read_debates
from cortexdsl.records.readable import debate_line, transcript_text
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Question

HEAD = ("dataset", "cell", "replicate", "question", "answer", "ended after", "score")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "place",
        type=results_place,
        help="an experiment, its results folder, a folder of debates, or one file of records",
    )
    parser.add_argument("--question", metavar="ID", help="print the debates of this question as they were spoken")
    parser.add_argument("--dataset", help="only this dataset")
    parser.add_argument("--cell", help="only this cell")
    parser.add_argument("--replicate", type=int, help="only this replicate")
    parser.add_argument("--json", action="store_true", help="print the records themselves, one a line")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    found = _matching(args)
    if args.json:
        count = _print(debate_to_json(record.debate, record.header) for record in found)
    elif args.question is not None:
        width, tasks = min(shutil.get_terminal_size().columns, 120), _tasks(args.place)
        count = _print(transcript_text(record, width, *_asked(tasks, record)) for record in found)
    else:
        count = _print(_table(found, args.place))
    if not count:
        raise InputError(f"{args.place}: no debate matches; `cortexdsl show {args.place}` lists all")
    return 0


def _print(texts: Iterable[str]) -> int:
    count = 0
    encoding = sys.stdout.encoding or "utf-8"
    for count, text in enumerate(texts, start=1):  # noqa: B007 - how many there were
        print(text.encode(encoding, "backslashreplace").decode(encoding))
    return count


def _tasks(place: Path) -> Mapping[str, Task]:
    """Return the datasets of the experiment that a place belongs to; none, and a word why, where they are not known."""
    plan = next((path for folder in (place, *place.parents) if (path := folder / "plan.json").is_file()), None)
    if plan is None:
        return {}
    from cortexdsl.plan.known import known_tasks  # compiles the spec, which a list need not

    try:
        tasks, lacking = known_tasks(read_plan(plan))
    except RecordError as error:  # cut short, or of a later version: the records can be read all the same
        tasks, lacking = {}, str(error)
    if lacking:
        print(f"warning: texts of questions are not shown: {lacking}", file=sys.stderr)
    return tasks


def _asked(tasks: Mapping[str, Task], record: Record) -> tuple[Question | None, tuple[str, ...]]:
    item = tasks[record.header.dataset].item(record.debate.question_id) if record.header.dataset in tasks else None
    return (None, ()) if item is None else (item.question, item.gold)


def _matching(args: argparse.Namespace) -> Iterator[Record]:
    for path in debate_files(args.place):
        for record in read_debates(path):
            header = record.header
            asked = (args.question, args.dataset, args.cell, args.replicate)
            has = (record.debate.question_id, header.dataset, header.cell, header.replicate)
            if all(wish is None or wish == value for wish, value in zip(asked, has, strict=True)):
                yield record


def _table(found: Iterator[Record], place: Path) -> Iterator[str]:
    scores = _scores(place)
    rows = []
    for record in found:
        header, debate = record.header, record.debate
        key = (header.dataset, header.cell, str(header.replicate), debate.question_id)
        rows.append((*debate_line(record), scores.get(key, "")))
    shown = len(HEAD) - (not scores)
    table = [row[:shown] for row in (HEAD, *rows)] if rows else []
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _scores(place: Path) -> dict[tuple[str, ...], str]:
    path = place / "scores.csv"
    if not path.is_file():
        return {}
    keys = ("dataset", "cell", "replicate", "question_id")
    return {tuple(str(row.get(key)) for key in keys): str(row.get("score") or "") for row in read_rows(path)}

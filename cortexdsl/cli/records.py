"""Verbs for debate records: `cortexdsl show` prints them, `cortexdsl export` writes them for other programs.

`export` imports what it needs when it runs, since `show` needs none of it.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from cortexdsl.checksums import write_lines
from cortexdsl.core import Debate, Question
from cortexdsl.display.console import counting
from cortexdsl.errors import InputError, RecordError
from cortexdsl.jobs.arguments import results_place, warn_if_stopped
from cortexdsl.jobs.options import FLAG, VerbParser
from cortexdsl.metrics.scores import read_rows, scores_by_debate, write_rows
from cortexdsl.numbers import counted
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.verification import check_own_files, check_records
from cortexdsl.plan.record import read_plan
from cortexdsl.records import Record, debate_files, debate_to_json, read_debates
from cortexdsl.records.rows import RECORD_TABLES, well_formed
from cortexdsl.records.text import Prompts, debate_line, transcript_text
from cortexdsl.tasks.task import Task
from cortexdsl.text_layout import aligned

HEAD = ("dataset", "cell", "replicate", "question", "answer", "ended after", "score")


def add_show_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add(
        "place", "an experiment, its results folder, a folder of debates, or one file of records", type=results_place
    )
    parser.add("--question", "print the debates of this question", metavar="ID")
    parser.add("--dataset", "only this dataset")
    parser.add("--cell", "only this cell")
    parser.add("--replicate", "only this replicate", type=int)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", help="print the records, one per line", **FLAG)
    form.add_argument("--prompts", help="with --question: print the prompt of each turn, too", **FLAG)


def run_show(args: argparse.Namespace) -> int:
    """Run the verb."""
    warn_if_stopped(args.place)
    if args.prompts and args.question is None:
        raise InputError("--prompts prints the prompts of one question\n    say which: --question ID")
    found = _matching(args)
    records = (record for _, record in found)
    if args.json:
        count = _print(debate_to_json(record.debate, record.header) for record in records)
    elif args.question is not None:
        width, tasks = min(shutil.get_terminal_size().columns, 120), _tasks(args.place)
        with _prompts() if args.prompts else nullcontext(lambda path, debate: None) as prompts_of:
            count = _print(
                transcript_text(record, width, *_question_of(tasks, record), prompts_of(path, record.debate))
                for path, record in found
            )
    else:
        count = _print(_table(records, args.place))
    if not count:
        raise InputError(f"{args.place}: no debate matches; `cortexdsl show {args.place}` lists all")
    return 0


def _print(texts: Iterable[str]) -> int:
    count = 0
    encoding = sys.stdout.encoding or "utf-8"
    for count, text in enumerate(texts, start=1):  # noqa: B007 - the number of texts
        print(text.encode(encoding, "backslashreplace").decode(encoding))
    return count


def _tasks(place: Path) -> Mapping[str, Task]:
    """Return the datasets of the experiment of a place; if unknown none, with a warning that says why."""
    plan = next((path for folder in (place, *place.parents) if (path := folder / "plan.json").is_file()), None)
    if plan is None:
        return {}
    from cortexdsl.plan.persistence.history import recorded_tasks  # late: it compiles the spec

    try:
        tasks, lacking = recorded_tasks(read_plan(plan))
    except RecordError as error:  # incomplete, or of a later version: the records can still be read
        tasks, lacking = {}, str(error)
    if lacking:
        print(f"warning: texts of questions are not shown: {lacking}", file=sys.stderr)
    return tasks


def _question_of(tasks: Mapping[str, Task], record: Record) -> tuple[Question | None, tuple[str, ...]]:
    item = tasks[record.header.dataset].item(record.debate.question_id) if record.header.dataset in tasks else None
    return (None, ()) if item is None else (item.question, item.gold)


def _files(place: Path) -> list[Path]:
    """Return the files of a place's debate records, after checking them against what their jobs wrote.

    Raises
    ------
    DataError, RecordError
    """
    files = debate_files(place)
    if Path(Layout(place.as_posix()).ledger).is_file():
        check_records(Layout(place.as_posix()))
    else:
        check_own_files(files)
    return files


@contextmanager
def _prompts() -> Iterator[Callable[[Path, Debate], Prompts]]:
    """Yield a function that finds the prompts of a debate; it takes the file of the debate's record, too."""
    from cortexdsl.explorer.experiment import RecordedCalls  # late, as for `export`
    from cortexdsl.export.source import prompts

    with closing(RecordedCalls()) as recorded:

        def prompts_of(path: Path, debate: Debate) -> Prompts:
            calls = recorded.of(str(path), [turn.call for turn in debate.all_turns if turn.call])
            return {key: None if call is None else prompts(call) for key, call in calls.items()}

        yield prompts_of


def _matching(args: argparse.Namespace) -> Iterator[tuple[Path, Record]]:
    """Yield the debates that are asked for, with the files in which they are."""
    for path in _files(args.place):
        for record in read_debates(path):
            header = record.header
            wanted = (args.question, args.dataset, args.cell, args.replicate)
            has = (record.debate.question_id, header.dataset, header.cell, header.replicate)
            if all(word is None or word == value for word, value in zip(wanted, has, strict=True)):
                yield path, record


def _table(records: Iterator[Record], place: Path) -> Iterator[str]:
    scores = scores_by_debate(place / "scores.csv")
    rows = []
    for record in records:
        header, debate = record.header, record.debate
        key = (header.dataset, header.cell, str(header.replicate), debate.question_id)
        rows.append((*debate_line(record), scores.get(key, "")))
    shown = len(HEAD) - (not scores)
    if rows:
        yield from aligned([row[:shown] for row in (HEAD, *rows)], right=False)


FORMATS = ("csv", "parquet", "jsonl")


def add_export_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("place", "an experiment, its results folder, a folder of debates, or one file", type=results_place)
    parser.add("--table", "the table to write (default: scores)", choices=["scores", *RECORD_TABLES], default="scores")
    parser.add("--format", "the format of the file (default: the ending of its name)", choices=FORMATS)
    parser.add("--to", "write a folder for another program; ro-crate can be a .zip", choices=list(_WRITTEN))
    parser.add("--out", "the file, or with --to the folder, to write", type=Path, required=True, metavar="PATH")


def run_export(args: argparse.Namespace) -> int:
    """Run the verb."""
    warn_if_stopped(args.place)
    if args.to:
        return _program(args)
    form = args.format or args.out.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise InputError(f"{args.out}: name a file that ends in .csv, .parquet or .jsonl, or give --format")
    if args.table == "debates" and form == "csv":
        raise InputError(
            "a debate is nested and has no CSV form; export turns or edges, or debates as .jsonl or .parquet"
        )
    rows = _scores(args.place) if args.table == "scores" else _records(args.place, args.table)
    WRITERS[form](args.out, rows)
    print(f"{counted(len(rows), 'row')} written to {args.out}")
    _publish_ledger(args.place, args.out.with_name(f"{args.out.stem}.ledger.jsonl"))
    return 0


def _publish_ledger(place: Path, target: Path) -> None:
    """Copy the ledger to the folder of an export, so that declarations are published with it."""
    ledger = Path(Layout(place.as_posix()).ledger)
    if ledger.is_file():
        target.write_bytes(ledger.read_bytes())
        print(f"its ledger: {target}")


def _program(args: argparse.Namespace) -> int:
    """Write the folder of another program, or an archive."""
    from cortexdsl.export.source import ExportSource

    if not Path(Layout(args.place.as_posix()).plan).is_file():
        raise InputError(f"{args.place}: --to takes the results of an experiment, a folder with plan.json")
    is_archive = args.to == "ro-crate" and args.out.suffix.lower() == ".zip"
    if args.out.exists() and not args.out.is_dir() and not is_archive:
        raise InputError(f"{args.out}: --to writes a folder, and this is a file")
    check_records(Layout(args.place.as_posix()))
    if lacking := ExportSource(args.place).lacking:
        print(f"questions and golds are not all known: {lacking}", file=sys.stderr)
    print(_WRITTEN[args.to](args.place, args.out))
    if args.to != "ro-crate":  # which holds it
        _publish_ledger(args.place, args.out / "ledger.jsonl")
    return 0


def _inspect(place: Path, out: Path) -> str:
    from cortexdsl.export.inspect_logs import export_inspect

    return f"{len(export_inspect(place, out))} logs written to {out}; to see them: inspect view --log-dir {out}"


def _huggingface(place: Path, out: Path) -> str:
    from cortexdsl.export.hub import export_hub

    return f"{', '.join(f'{count} {name}' for name, count in export_hub(place, out).items())} written to {out}"


def _every_eval_ever(place: Path, out: Path) -> str:
    from cortexdsl.export.every_eval_ever import export_every_eval_ever

    cells = counted(len(export_every_eval_ever(place, out)), "cell")
    return f"{cells} written to {out}; to compare them: cortexdsl compare {out}"


def _ro_crate(place: Path, out: Path) -> str:
    from cortexdsl.export.crate import export_crate

    return f"{counted(export_crate(place, out), 'file')} written to {out}; to check them: cortexdsl verify {out}"


_WRITTEN: dict[str, Callable[[Path, Path], str]] = {
    "inspect": _inspect,
    "huggingface": _huggingface,
    "every-eval-ever": _every_eval_ever,
    "ro-crate": _ro_crate,
}


def _records(place: Path, table: str) -> list[dict[str, Any]]:
    files = counting(_files(place), f"exporting {table}")
    records = (record for path in files for record in read_debates(path))
    return [well_formed(row) for row in RECORD_TABLES[table](records)]


def _scores(place: Path) -> list[dict[str, Any]]:
    """Return score rows with numbers as numbers; ids and labels stay text even if they look like numbers."""
    import pandas as pd

    from cortexdsl.stats.tables.score_table import read_table

    path = place / "scores.csv" if place.is_dir() else place
    check_own_files([path])
    table = read_table(path)
    rows: list[dict[str, Any]] = [dict(row) for row in read_rows(path)]
    for column in table.metrics:
        name = "score" if column == "accuracy" else column
        for row, value in zip(rows, table.column(name), strict=True):
            row[name] = None if pd.isna(value) else int(value) if value.is_integer() else float(value)
    for row in rows:
        row["replicate"] = int(row["replicate"]) if str(row["replicate"]).isdigit() else row["replicate"]
    return rows


FORMULA = re.compile(r"[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%?")


def without_formula(value: Any) -> Any:
    """Return a cell that spreadsheets show as text: one that they would take for a formula begins with an apostrophe.

    Models and datasets write the texts of these cells. Numbers are unchanged, and so is every text in JSON and Parquet.
    """
    if isinstance(value, str) and FORMULA.match(value) and not NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def _csv(path: Path, rows: list[dict[str, Any]]) -> None:
    write_rows(path, [{name: without_formula(value) for name, value in row.items()} for row in rows])


def _jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    write_lines(path, (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows))


def _parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    import pandas as pd

    try:
        import pyarrow  # noqa: F401 - pandas imports it only after it has opened the file
    except ImportError:
        raise InputError("Parquet files need pyarrow: install cortexdsl[data], or export .csv or .jsonl") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    pd.DataFrame(rows).to_parquet(part, index=False)
    part.replace(path)


WRITERS: dict[str, Callable[[Path, list[dict[str, Any]]], None]] = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}

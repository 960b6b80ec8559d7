"""`cortexdsl export`: scores and records as CSV, Parquet or JSON Lines; logs for Inspect; a dataset for the hub."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from cortexdsl.analysis.units.scores import read_rows, write_rows
from cortexdsl.analysis.units.table import read_table
from cortexdsl.cli.counting import counting
from cortexdsl.cli.place import results_place
from cortexdsl.errors import InputError
from cortexdsl.export.gathered import Gathered
from cortexdsl.export.hub import export_hub
from cortexdsl.export.inspect import export_inspect
from cortexdsl.plan.kept.table_seals import check_own_table
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.records import Record, debate_files, read_debates
from cortexdsl.records.files import write_lines
from cortexdsl.records.flat import debate_rows, edge_rows, turn_rows, well_formed

RECORDS: dict[str, Callable[[Iterable[Record]], Iterator[dict[str, Any]]]] = {
    "debates": debate_rows,
    "turns": turn_rows,
    "edges": edge_rows,
}
FORMATS = ("csv", "parquet", "jsonl")
PROGRAMS = ("inspect", "huggingface")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "place", type=results_place, help="an experiment, its results folder, a folder of debates, or one file"
    )
    parser.add_argument("--table", choices=["scores", *RECORDS], default="scores", help="default: scores")
    parser.add_argument("--format", choices=FORMATS, help="by default what the name of the file ends with")
    parser.add_argument(
        "--to", choices=PROGRAMS, help="a folder for another program: logs for Inspect, or a dataset with its card"
    )
    out = "the file, or with --to the folder, to write"
    parser.add_argument("--out", type=Path, required=True, metavar="PATH", help=out)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
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
    print(f"{len(rows)} rows written to {args.out}")
    _publish_ledger(args.place, args.out.with_name(f"{args.out.stem}.ledger.jsonl"))
    return 0


def _publish_ledger(place: Path, beside: Path) -> None:
    """What is published goes with what was declared."""
    ledger = Path(Layout(place.as_posix()).ledger)
    if ledger.is_file():
        beside.write_bytes(ledger.read_bytes())
        print(f"its ledger: {beside}")


def _program(args: argparse.Namespace) -> int:
    if not Path(Layout(args.place.as_posix()).plan).is_file():
        raise InputError(f"{args.place}: --to takes the results of an experiment, a folder with plan.json")
    if args.out.exists() and not args.out.is_dir():
        raise InputError(f"{args.out}: --to writes a folder, and this is a file")
    if lacking := Gathered(args.place).lacking:
        print(f"questions and golds are not all known: {lacking}", file=sys.stderr)
    if args.to == "inspect":
        logs = export_inspect(args.place, args.out)
        print(f"{len(logs)} logs written to {args.out}; to see them: inspect view --log-dir {args.out}")
    else:
        counts = export_hub(args.place, args.out)
        print(f"{', '.join(f'{count} {name}' for name, count in counts.items())} written to {args.out}")
    _publish_ledger(args.place, args.out / "ledger.jsonl")
    return 0


def _records(place: Path, table: str) -> list[dict[str, Any]]:
    files = counting(list(debate_files(place)), f"exporting {table}")
    records = (record for path in files for record in read_debates(path))
    return [well_formed(row) for row in RECORDS[table](records)]


def _scores(place: Path) -> list[dict[str, Any]]:
    """Return score rows with numbers as numbers: ids and labels stay text, whatever they look like."""
    path = place / "scores.csv" if place.is_dir() else place
    check_own_table(path)
    table = read_table(path)
    rows: list[dict[str, Any]] = [dict(row) for row in read_rows(path)]
    for column in table.metrics:
        name = "score" if column == "accuracy" else column
        for row, value in zip(rows, table.column(name), strict=True):
            row[name] = None if pd.isna(value) else int(value) if value.is_integer() else float(value)
    for row in rows:
        row["replicate"] = int(row["replicate"]) if str(row["replicate"]).isdigit() else row["replicate"]
    return rows


def _csv(path: Path, rows: list[dict[str, Any]]) -> None:
    write_rows(path, rows)


def _jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    write_lines(path, (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows))


def _parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    try:
        import pyarrow  # noqa: F401 - pandas asks for it only after the file is opened
    except ImportError:
        raise InputError("Parquet files need pyarrow: install cortexdsl[data], or export .csv or .jsonl") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    pd.DataFrame(rows).to_parquet(part, index=False)
    part.replace(path)


WRITERS: dict[str, Callable[[Path, list[dict[str, Any]]], None]] = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}

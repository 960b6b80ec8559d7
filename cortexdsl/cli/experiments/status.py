"""`cortexdsl status`: say how far an experiment is, from its files alone: from any terminal, during a run or after."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict

from rich.console import Console, RenderableType
from rich.live import Live

from cortexdsl.watch.plain import as_plain
from cortexdsl.watch.progress import Progress
from cortexdsl.watch.table import draw
from cortexdsl.watch.trainings import trainings
from cortexdsl.watch.watched import EVERY, Watched, expected_in
from cortexdsl.watch.words import has_many_datasets, in_a_line, name_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("experiment", help="its name, or the folder of its results: results/quickstart")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--watch", action="store_true", help="go on until nothing runs any more, or Ctrl-C")


def run(args: argparse.Namespace) -> int:
    """Run the verb: 1 where jobs have failed, stopped, or fallen silent."""
    watched = Watched(expected_in(args.experiment))
    shown = watched.look()
    if args.watch:
        shown = _follow(watched, args.experiment, is_json=args.json)
    trained = trainings(watched.expected.layout)
    if args.json:
        learned = {"trainings": [asdict(each) for each in trained]} if trained else {}
        print(json.dumps(as_plain(shown) | learned))
    else:
        console = Console(highlight=False)
        if console.is_terminal:
            console.print(draw(shown, console.width))
        else:
            print("\n".join(_lines(shown)))
        for line in (*(each.line() for each in trained), *_remarks(shown)):
            print(line)
    return 1 if shown.all.state in ("failed", "stopped", "silent") else 0


def _follow(watched: Watched, experiment: str, *, is_json: bool) -> Progress:
    """Show an experiment while it runs, and return how it ended."""
    console = Console(highlight=False)
    moves = console.is_terminal and not is_json

    def drawn() -> RenderableType:
        return draw(watched.look(), console.width, max(3, console.height - 6))

    live = Live(get_renderable=drawn, console=console, refresh_per_second=2, transient=True) if moves else None
    if live is not None:
        live.start()
    try:
        shown = watched.look()
        while shown.running:
            time.sleep(EVERY)
            shown = watched.look()
            if is_json:
                print(json.dumps(as_plain(shown)), flush=True)
        return watched.look(is_last=True)
    except KeyboardInterrupt:
        return watched.look()
    finally:
        if live is not None:
            live.stop()


def _lines(shown: Progress) -> list[str]:
    many = has_many_datasets(shown)
    rows = [in_a_line(row, name_of(row, many_datasets=many)) for row in shown.rows]
    return [*rows, in_a_line(shown.all, f"all of {shown.experiment}")] if len(rows) > 1 else rows


def _remarks(shown: Progress) -> list[str]:
    lines = []
    if shown.others.jobs:
        calls = shown.others.calls.get("asked", 0)
        lines.append(f"others: {calls:,} calls by a judge, a knowledge pool, or cells of earlier plans")
    if shown.silent:
        named = ", ".join(shown.silent[:3]) + (f" and {len(shown.silent) - 3} more" if len(shown.silent) > 3 else "")
        lines.append(f"silent for over a minute, so probably dead: {named}\n    run the experiment again to go on")
    for message, jobs in shown.messages.items():
        lines.append(f"{jobs} {'jobs' if jobs > 1 else 'job'} ended: {message}")
    return lines

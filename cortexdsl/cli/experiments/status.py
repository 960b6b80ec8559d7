"""`cortexdsl status`: say how far an experiment is, from its files alone: from any terminal, during a run or after."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from rich.console import Console, RenderableType
from rich.live import Live

from cortexdsl.errors import InputError
from cortexdsl.plan.asked import spec_path
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.watch.plain import as_plain
from cortexdsl.watch.progress import Progress
from cortexdsl.watch.table import draw
from cortexdsl.watch.trainings import trainings
from cortexdsl.watch.watched import EVERY, Watched, expected_in, layout_in
from cortexdsl.watch.words import has_many_datasets, in_a_line, name_of
from cortexdsl.worker.alone import is_at_work


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("experiment", help="its name, or the folder of its results: results/quickstart")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--watch", action="store_true", help="go on until nothing runs any more, or Ctrl-C")


def run(args: argparse.Namespace) -> int:
    """Run the verb: 0 if a run is at work or the experiment is finished, else 1."""
    layout = layout_in(args.experiment)
    root = Path(layout.root)
    if args.watch:
        _wait_for_jobs(layout)
    elif is_at_work(root) and not _has_begun(layout):
        print(f"{root}: a run is at work, no job has started yet")
        return 0
    watched = Watched(expected_in(args.experiment))
    shown = watched.look()
    if args.watch:
        shown = _follow(watched, root, is_json=args.json)
    is_open = bool(shown.running) or is_at_work(root)
    is_finished = shown.all.state == "done" and Path(layout.report).exists()
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
        for line in (*(each.line() for each in trained), *_remarks(shown, is_open=is_open, is_finished=is_finished)):
            print(line)
    return 0 if is_open or is_finished else 1


def _has_begun(layout: Layout) -> bool:
    return Path(layout.plan).exists() or any(Path(layout.ledgers).glob("*.json"))


def _wait_for_jobs(layout: Layout) -> None:
    """Wait while a run plans, or while there is nothing but a spec that may be run; say so once."""
    root, is_said = Path(layout.root), False
    while not Path(layout.plan).exists() and (is_at_work(root) or (not _has_begun(layout) and _has_spec(layout))):
        if not is_said:
            print(f"{root}: no job has started yet; waiting (Ctrl-C ends this)", file=sys.stderr, flush=True)
            is_said = True
        time.sleep(EVERY)


def _has_spec(layout: Layout) -> bool:
    try:
        spec_path(layout.root.removeprefix("results/"))
    except InputError:
        return False
    return True


def _follow(watched: Watched, root: Path, *, is_json: bool) -> Progress:
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
        while shown.running or is_at_work(root):
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


def _remarks(shown: Progress, *, is_open: bool, is_finished: bool) -> list[str]:
    lines = []
    if shown.others.jobs:
        calls = shown.others.calls.get("asked", 0)
        lines.append(f"others: {calls:,} calls by a judge, a knowledge pool, or cells of earlier plans")
    if shown.silent:
        named = ", ".join(shown.silent[:3]) + (f" and {len(shown.silent) - 3} more" if len(shown.silent) > 3 else "")
        why = "probably of an earlier run" if is_open else "probably killed"
        lines.append(f"no news for over a minute, {why}: {named}")
    for message, jobs in shown.messages.items():
        lines.append(f"{jobs} {'jobs' if jobs > 1 else 'job'} ended: {message}")
    if not is_open and not is_finished:
        what = "there is no report" if shown.all.state == "done" else "not finished"
        lines.append(f"{what}, and no run is at work\n    go on: cortexdsl run {shown.experiment}")
    return lines

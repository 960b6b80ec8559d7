"""Progress on a terminal: the table of a run, its live display, and a counter for work that takes long.

The table has one row for each cell, as many as fit, and their sum.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import track
from rich.table import Table
from rich.text import Text

from cortexdsl.display.progress import CellProgress, RunProgress, WatchedRun
from cortexdsl.display.wording import (
    duration,
    has_many_datasets,
    in_a_line,
    money,
    name_of,
    paused_line,
    round_lines,
    short,
    trouble,
)
from cortexdsl.numbers import counted
from cortexdsl.plain_text import printable, unwrapped
from cortexdsl.records.unread import unread_sentences
from cortexdsl.text_layout import shortened

STYLES = {
    "running": "", "paused": "yellow", "failed": "red", "stopped": "yellow", "silent": "yellow", "waiting": "dim",
    "done": "green",
}  # fmt: skip
"""The style of each state, in the order in which rows are shown if there is no room for all."""
ORDER = tuple(STYLES)
FIGURES = 44
"""Columns that the figures of a row take."""


def draw(shown: RunProgress, width: int, room: int | None = None) -> RenderableType:
    """Draw an experiment: a table of its cells, and below it what was retried and what failed.

    Figures are always whole; long names of cells go on in the next line.

    Parameters
    ----------
    shown : Progress
    width : int
        Columns of the terminal.
    room : int or None
        The largest number of lines of cells; running and failed cells come first.
    """
    many = has_many_datasets(shown)
    longest = max((len(name_of(row, many_datasets=many)) for row in shown.rows), default=1)
    space = max(1, width - FIGURES)
    lines = 1 + (longest - 1) // space  # of a row with a long name
    rows = _chosen(shown.rows, room and room // lines)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0), collapse_padding=True)
    table.add_column(shortened(shown.experiment, space), overflow="fold")
    for head in ("debates", "calls", "cost", "left"):
        table.add_column(head, justify="right", no_wrap=True)
    total = [("all", shown.all, "bold")] if len(shown.rows) > 1 else []
    for name, row, style in (*((name_of(row, many_datasets=many), row, STYLES[row.state]) for row in rows), *total):
        left = duration(row.seconds_left) if row.state == "running" else "-" if row.state == "done" else row.state
        calls = short(row.spent.calls.get("asked", 0))
        table.add_row(*map(Text, (name, f"{row.done:,}/{row.total:,}", calls, money(row.spent), left)), style=style)
    return Group(table, *_notes(shown, rows))


def _notes(shown: RunProgress, rows: Sequence[CellProgress]) -> list[Text]:
    """Return the lines below the table: the cells without a row, retries, failed calls."""
    notes = []
    hidden = Counter(row.state for row in shown.rows) - Counter(row.state for row in rows)
    if hidden:
        more = ", ".join(f"{hidden[state]} {state}" for state in ORDER if hidden[state])
        notes.append(Text(f"and {hidden.total()} more cells: {more}", style="dim"))
    if paused := paused_line(shown):
        notes.append(Text(paused, style="yellow"))
    notes += [Text(line) for line in round_lines(shown.round)]
    if wrong := trouble(shown.all.spent):
        notes.append(Text(f"calls: {wrong}", style="red" if shown.all.spent.calls.get("failed") else "dim"))
    return notes


def _chosen(rows: Sequence[CellProgress], room: int | None) -> list[CellProgress]:
    if room is None or len(rows) <= room:
        return list(rows)
    first = sorted(range(len(rows)), key=lambda k: (ORDER.index(rows[k].state), k))[: max(1, room)]
    return [rows[k] for k in sorted(first)]


LINE_EVERY = 30.0  # seconds between two lines of a run
OTHER_LINES = 8  # of a terminal, kept for other messages


class Display:
    """The display of a run: rows that move on a terminal, otherwise a line now and then.

    Parameters
    ----------
    watched : sequence of WatchedRun
    console : Console
        Rows move if it is a terminal and the environment has no variable `CI`.
    """

    def __init__(self, watched: Sequence[WatchedRun], console: Console, clock: Callable[[], float] = time.time) -> None:
        self._watched = watched
        self._console = console
        self._clock = clock
        self._began = self._spoke = clock()
        self._steps = ""
        self._said: set[tuple[str, str, str]] = set()
        self._paused: set[str] = set()
        self._stages: set[str] = set()
        moves = console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI")
        self._live = (
            Live(get_renderable=self._rows, console=console, refresh_per_second=4, transient=True) if moves else None
        )

    def start(self) -> None:
        """Show the first state."""
        for each in self._watched:
            shown = each.look()
            self._said |= {(shown.experiment, row.dataset, row.cell) for row in shown.rows if row.state == "done"}
            if self._live is None:
                left = shown.all.total - shown.all.done
                cells = counted(len(shown.rows), "cell")
                self.say(f"{shown.experiment}: {cells}, {left:,} of {counted(shown.all.total, 'debate')} to do")
        if self._live is not None:
            self._live.start()

    def enter(self, stage: str) -> None:
        """Take that a stage of the run begins; print it once if nothing moves, without the stages that rows show."""
        if self._live is None and stage not in self._stages and stage not in ("planning", "debating"):
            self.say(stage)
        self._stages.add(stage)

    def step(self, steps: str) -> None:
        """Take the present steps of the workflow; if nothing moves, print a line now and then."""
        self._steps = steps
        if self._live is None:
            self._speak()

    def say(self, text: str) -> None:
        """Print a message above the rows."""
        self._console.print(Text(printable(text)), soft_wrap=not self._console.is_terminal)

    def stop(self) -> None:
        """Print the last state."""
        if self._live is not None:
            self._live.stop()
        for each in self._watched:
            shown = each.look(is_last=True)
            if self._live is not None:
                self._console.print(draw(shown, self._console.width))
            else:
                self._finished(shown)
            self.say(self.summary(shown))
            for sentence in unread_sentences(shown.unread):
                self.say(f"  {sentence}")

    def summary(self, shown: RunProgress) -> str:
        """Return the result of a run in one line: debates, calls, tokens, dollars, time, failures."""
        calls = shown.all.spent.calls
        known = calls.get("shared", 0) + calls.get("replayed", 0)
        parts = [
            f"{shown.experiment}: {shown.all.done:,} of {counted(shown.all.total, 'debate')}",
            f"{counted(calls.get('asked', 0), 'call')} sent"
            + (f", {counted(known, 'reply', 'replies')} reused" if known else ""),
            f"{short(shown.all.spent.usage.input_tokens)} + {short(shown.all.spent.usage.output_tokens)} tokens",
            *([money(shown.all.spent)] if shown.all.spent.usage.dollars else []),
            f"{duration(self._clock() - self._began)}",
        ]
        wrong = trouble(shown.all.spent)
        return ", ".join([*parts, *([wrong] if wrong else [])])

    def _rows(self) -> Group:
        room = max(3, (self._console.height - OTHER_LINES) // max(1, len(self._watched)) - 2)
        tables = [draw(each.look(), self._console.width, room) for each in self._watched]
        return Group(*tables, Text(self._steps, style="dim"))

    def _speak(self) -> None:
        """Print newly finished cells, and now and then how far the run is."""
        is_due = self._clock() - self._spoke >= LINE_EVERY
        for shown in [each.look() for each in self._watched]:
            self._finished(shown)
            self._say_pause(shown)
            if shown.round and (key := (shown.experiment, "round", f"{shown.round.number}")) not in self._said:
                self._said.add(key)
                self.say(f"  {round_lines(shown.round)[0]}")
            if is_due and shown.all.state == "running":
                self.say(in_a_line(shown.all, f"{shown.experiment}, {duration(self._clock() - self._began)}"))
        if is_due:
            self._spoke = self._clock()

    def _say_pause(self, shown: RunProgress) -> None:
        """Print once that an experiment was paused, and that it goes on."""
        if (shown.paused is not None) != (shown.experiment in self._paused):
            self._paused ^= {shown.experiment}
            self.say(f"{shown.experiment}: {paused_line(shown) or 'resumed'}")

    def _finished(self, shown: RunProgress) -> None:
        many = has_many_datasets(shown)
        for row in shown.rows:
            key = shown.experiment, row.dataset, row.cell
            if row.state == "done" and key not in self._said:
                self._said.add(key)
                self.say(f"  {in_a_line(row, name_of(row, many_datasets=many))}")


T = TypeVar("T")


def counting(steps: Sequence[T], doing: str) -> Iterator[T]:
    """Yield each step, and show on a terminal how many are done; `doing` names the work: "reading cells again"."""
    yield from track(steps, doing, console=Console(file=unwrapped(sys.stderr)), transient=True)

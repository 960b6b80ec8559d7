"""Progress on a terminal: the table of a run, its live display, and a counter for work that takes long.

The table has one row for each cell, and their sum.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import track
from rich.table import Table
from rich.text import Text

from cortexdsl.display.progress import RunProgress, WatchedRun
from cortexdsl.display.wording import duration, has_many_datasets, in_a_line, money, name_of, remarks, short
from cortexdsl.plain_text import printable, unwrapped
from cortexdsl.records.unread import unread_sentences

STYLES = {
    "running": "", "paused": "yellow", "failed": "red", "stopped": "yellow", "silent": "yellow", "waiting": "dim",
    "done": "green",
}  # fmt: skip
"""The style of each state, in the order of the rows."""
ORDER = tuple(STYLES)


def draw(shown: RunProgress) -> RenderableType:
    """Draw an experiment: remarks, and a table of the sum of its cells and of each, those that run first.

    A terminal without room for all cells shows the first ones. Figures are always whole; long names of cells go on in
    the next line.
    """
    many = has_many_datasets(shown)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0), collapse_padding=True)
    table.add_column(shown.experiment, overflow="fold")
    for head in ("debates", "calls", "cost", "left"):
        table.add_column(head, justify="right", no_wrap=True)
    rows = sorted(shown.rows, key=lambda row: ORDER.index(row.state))
    total = [("all", shown.all, "bold")] if len(rows) > 1 else []
    for name, row, style in (*total, *((name_of(row, many_datasets=many), row, STYLES[row.state]) for row in rows)):
        left = duration(row.seconds_left) if row.state == "running" else "-" if row.state == "done" else row.state
        calls = short(row.spent.calls.get("asked", 0))
        table.add_row(*map(Text, (name, f"{row.done:,}/{row.total:,}", calls, money(row.spent), left)), style=style)
    return Group(*(Text(remark, style="yellow") for remark in remarks(shown)), table)


LINE_EVERY = 30.0  # seconds between two lines of a run


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
        self._stages: set[str] = set()
        moves = console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI")
        self._live = (
            Live(get_renderable=self._rows, console=console, refresh_per_second=4, transient=True) if moves else None
        )

    def start(self) -> None:
        """Show the first state."""
        for each in self._watched if self._live is None else ():
            self.say(in_a_line(each.look(), 0.0))
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
        if self._live is None and self._clock() - self._spoke >= LINE_EVERY:
            self._spoke = self._clock()
            for shown in [each.look() for each in self._watched]:
                self.say("\n  ".join([in_a_line(shown, self._spoke - self._began), *remarks(shown)]))

    def say(self, text: str) -> None:
        """Print a message above the rows."""
        self._console.print(Text(printable(text)), soft_wrap=not self._console.is_terminal)

    def stop(self) -> None:
        """Print the last state."""
        if self._live is not None:
            self._live.stop()
        for each in self._watched:
            shown = each.look(is_last=True)
            self._console.print(draw(shown))
            self.say(in_a_line(shown, self._clock() - self._began))
            for sentence in unread_sentences(shown.unread):
                self.say(f"  {sentence}")

    def _rows(self) -> Group:
        return Group(Text(self._steps, style="dim"), *(draw(each.look()) for each in self._watched))


T = TypeVar("T")


def counting(steps: Sequence[T], doing: str) -> Iterator[T]:
    """Yield each step, and show on a terminal how many are done; `doing` names the work: "reading cells again"."""
    yield from track(steps, doing, console=Console(file=unwrapped(sys.stderr)), transient=True)

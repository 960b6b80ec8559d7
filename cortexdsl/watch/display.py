"""The display of a run: rows that move on a terminal, a plain line now and then anywhere else."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from cortexdsl.records.unread import unread_sentences
from cortexdsl.watch.progress import Progress
from cortexdsl.watch.table import draw
from cortexdsl.watch.watched import Watched
from cortexdsl.watch.words import duration, has_many_datasets, in_a_line, money, name_of, short, trouble, with_earlier

PLAIN_EVERY = 30.0  # seconds between two plain lines
BESIDE = 8  # lines of a terminal that are kept for what else is said


class Display:
    """What a person sees of a run.

    Parameters
    ----------
    watched : sequence of Watched
    console : Console
        Rows move where it is a terminal and nobody has said that this is continuous integration.
    """

    def __init__(self, watched: Sequence[Watched], console: Console, clock: Callable[[], float] = time.time) -> None:
        self._watched = watched
        self._console = console
        self._clock = clock
        self._began = self._spoke = clock()
        self._steps = ""
        self._said: set[tuple[str, str, str]] = set()
        moves = console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI")
        self._live = (
            Live(get_renderable=self._rows, console=console, refresh_per_second=4, transient=True) if moves else None
        )

    def start(self) -> None:
        """Begin."""
        for each in self._watched:
            shown = each.look()
            self._said |= {(shown.experiment, row.dataset, row.cell) for row in shown.rows if row.state == "done"}
            if self._live is None:
                left = shown.all.total - shown.all.done
                cells = "1 cell" if len(shown.rows) == 1 else f"{len(shown.rows)} cells"
                self.say(f"{shown.experiment}: {cells}, {left:,} of {shown.all.total:,} debates to do")
        if self._live is not None:
            self._live.start()

    def step(self, steps: str) -> None:
        """Take in what the workflow is at; where nothing moves, say now and then how far it is."""
        self._steps = steps
        if self._live is None:
            self._speak()

    def say(self, text: str) -> None:
        """Print something beside the rows."""
        self._console.print(Text(text), soft_wrap=True)

    def stop(self) -> None:
        """Leave the last state standing."""
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

    def summary(self, shown: Progress) -> str:
        """Word what an experiment came to, in one line."""
        calls = shown.all.spent.calls
        known = calls.get("shared", 0) + calls.get("replayed", 0)
        parts = [
            f"{shown.experiment}: {shown.all.done:,} of {shown.all.total:,} debates",
            f"{calls.get('asked', 0):,} calls sent" + (f", {known:,} replies reused" if known else ""),
            f"{short(shown.all.spent.input_tokens)} + {short(shown.all.spent.output_tokens)} tokens",
            *([money(shown.all.spent)] if shown.all.spent.dollars else []),
            f"{duration(self._clock() - self._began)}",
        ]
        wrong = trouble(shown.all.spent)
        return ", ".join([*parts, *([wrong] if wrong else [])]) + with_earlier(shown)

    def looks(self) -> list[Progress]:
        """Return how far every experiment is."""
        return [each.look() for each in self._watched]

    def _rows(self) -> Group:
        room = max(3, (self._console.height - BESIDE) // max(1, len(self._watched)) - 2)
        tables = [draw(shown, self._console.width, room) for shown in self.looks()]
        return Group(*tables, Text(self._steps, style="dim"))

    def _speak(self) -> None:
        """Say which cells are finished, and now and then how far all is."""
        is_due = self._clock() - self._spoke >= PLAIN_EVERY
        for shown in self.looks():
            self._finished(shown)
            if is_due and shown.all.state == "running":
                self.say(in_a_line(shown.all, f"{shown.experiment}, {duration(self._clock() - self._began)}"))
        if is_due:
            self._spoke = self._clock()

    def _finished(self, shown: Progress) -> None:
        many = has_many_datasets(shown)
        for row in shown.rows:
            key = shown.experiment, row.dataset, row.cell
            if row.state == "done" and key not in self._said:
                self._said.add(key)
                self.say(f"  {in_a_line(row, name_of(row, many_datasets=many))}")

"""Say how far a verb is that works for long: a bar on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cortexdsl.watch.words import duration

T = TypeVar("T")
PLAIN_EVERY = 10.0  # seconds between two plain lines


def counting(
    steps: Sequence[T], doing: str, console: Console | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[T]:
    """Yield each step, and say on stderr which share of them is done.

    Parameters
    ----------
    steps : sequence
    doing : str
        What is done: "reading cells again".
    console : Console or None
        By default that of stderr. Where it is no terminal a line is said every ten seconds: a short work says none.
    """
    said = console or Console(stderr=True, highlight=False)
    if said.is_terminal:
        columns = TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(compact=True)
        with Progress(*columns, console=said, transient=True) as bar:
            yield from bar.track(steps)
        return
    began = spoke = clock()
    for done, step in enumerate(steps):
        now = clock()
        if now - spoke >= PLAIN_EVERY and done:
            spoke = now
            left = (now - began) / done * (len(steps) - done)
            said.print(f"{doing}: {done:,} of {len(steps):,}, {duration(left)} left", markup=False, soft_wrap=True)
        yield step

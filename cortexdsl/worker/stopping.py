"""Stop a run by Ctrl-C, SIGTERM or SIGHUP: no further job starts, running jobs are ended, and the run ends in order.

A signal handler may interrupt the main thread while it holds a lock of Snakemake's scheduler, and a handler that takes
the same lock never returns. The handler here only writes a byte into a pipe; a thread does the rest.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Collection
from contextlib import suppress

import psutil

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SWEEP_EVERY = 0.2  # seconds; a job that was being started during a sweep is met by the next one


def stop_on_signals(stop: Callable[[str], None], spared: Callable[[], Collection[int]]) -> None:
    """Install the handlers, from the main thread.

    A signal that was ignored when the program started stays ignored: so `nohup`, and scripts that start a command in
    the background, protect it from a closed terminal and from Ctrl-C.

    Parameters
    ----------
    stop : callable
        Called once, in a thread, with the name of the signal. It must keep further jobs from starting.
    spared : callable
        Return the process ids of those children of this process that are no jobs. All others are ended, with what
        they have started: by SIGTERM, after a second signal by SIGKILL.
    """
    readable, writable = os.pipe()
    os.set_blocking(writable, False)

    def note(number: int, _: object) -> None:
        with suppress(BlockingIOError):
            os.write(writable, bytes([number]))

    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, note)
    threading.Thread(target=_attend, args=(readable, stop, spared), name="stop the run", daemon=True).start()


def interrupt_on_signals() -> None:
    """Have signals raise KeyboardInterrupt in the main thread, as Ctrl-C does in Python; ignored ones stay ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def _attend(readable: int, stop: Callable[[str], None], spared: Callable[[], Collection[int]]) -> None:
    stop(signal.Signals(os.read(readable, 1)[0]).name)
    with_signal = signal.SIGTERM
    while True:
        for job in _jobs(spared()):
            with suppress(psutil.Error):
                job.send_signal(with_signal)
        if select.select([readable], [], [], SWEEP_EVERY)[0]:
            os.read(readable, 1)
            with_signal = signal.SIGKILL


def _jobs(spared: Collection[int]) -> list[psutil.Process]:
    """Return the processes of jobs, those that started others last."""
    children = [child for child in psutil.Process().children() if child.pid not in spared]
    below: list[psutil.Process] = []
    for child in children:
        with suppress(psutil.Error):
            below += child.children(recursive=True)
    return [*reversed(below), *children]

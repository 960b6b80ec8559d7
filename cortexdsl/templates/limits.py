"""Limits of time and memory for the first rendering of a template, which is done in a child process.

A template may come from anywhere, and a slip in one (a power, a loop in a loop, a text that doubles) must be an error,
not a machine that hangs. A template that kept the limits once is rendered without a process from then on.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import warnings
from collections.abc import Callable
from math import ceil
from pathlib import Path
from types import FrameType
from typing import NoReturn

SECONDS = 2.0
"""Processor time of a rendering."""

MEGABYTES = 512
"""Memory of a rendering, besides that of the process."""

_MEMORY = Path("/proc/self/statm")


class ExceededError(Exception):
    """The time is over."""


def exceeded_limit(work: Callable[[], object], place: Callable[[BaseException], str]) -> tuple[str, str] | None:
    """Do work in a child process with limits, whatever error it ends with.

    Parameters
    ----------
    work : callable
    place : callable
        From the error at a limit to where the work was.

    Returns
    -------
    (str, str) or None
        Where the work was and which limit it exceeded; the place is empty if it is not known.
    """
    receiving, sending = os.pipe()
    with warnings.catch_warnings():  # of other threads: the child uses nothing of theirs
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _answer(sending, work, place)
    try:
        os.close(sending)
        with os.fdopen(receiving, "rb") as stream:
            outcome = stream.read()
    finally:
        os.waitpid(child, 0)
    # JSON, because the child ran what a template says: nothing that it writes may become code here.
    answer = json.loads(outcome) if outcome else ["", _too_much()]
    return None if answer is None else (answer[0], answer[1])


def _answer(sending: int, work: Callable[[], object], place: Callable[[BaseException], str]) -> NoReturn:
    """Do the work in the child, write which limit it exceeded, and end without any clean-up of the parent's."""
    try:
        over = _limit()
        outcome = None
        try:
            work()
        except Exception as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            if isinstance(error, ExceededError | MemoryError):
                outcome = place(error), _too_much()
            elif over:  # the parent meets any other error itself, and reports it
                outcome = "", _too_much()
        os.write(sending, json.dumps(outcome).encode())
    finally:
        os._exit(0)


def _limit() -> list[bool]:
    """Set the limits, and return a list that is no longer empty when the time is over."""
    over: list[bool] = []

    def stop(_: int, frame: FrameType | None) -> None:
        over.append(True)
        if frame is None or frame.f_lineno is not None:  # else Jinja cannot tell the line: the next signal will do
            raise ExceededError

    signal.set_wakeup_fd(-1)  # it belongs to an event loop of the parent
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 0.01)
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(SECONDS) + 1, ceil(SECONDS) + 1))  # if the signal has no effect
    if _MEMORY.exists():
        pages = int(_MEMORY.read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + MEGABYTES * 2**20
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
    return over


def _too_much() -> str:
    return f"it does too much: more than {SECONDS:g} seconds of processor time, or {MEGABYTES} MB of memory"

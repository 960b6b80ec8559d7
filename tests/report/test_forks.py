"""Functions at work in forks: what they make comes back in order, and what one of them raises is raised."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import pytest

from cortexdsl.report.build import in_forks


def made(number: int) -> tuple[int, int]:
    return number, os.getpid()


def failing() -> tuple[int, int]:
    raise ValueError("no ink")


@pytest.mark.parametrize("threads", [0, 1, 2, 9])
def test_what_is_made_comes_back_in_order(threads: int) -> None:
    """By this process where one is enough; closures need not be pickled."""
    makers: list[Callable[[], tuple[int, int]]] = [partial(made, k) for k in range(5)]
    makers += [lambda: made(5)]
    found = in_forks(makers, threads)
    assert [number for number, _ in found] == list(range(6))
    processes = {process for _, process in found}
    assert (processes == {os.getpid()}) == (threads < 2)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_one_raises_is_raised(threads: int) -> None:
    """As if there were no forks."""
    with pytest.raises(ValueError, match="no ink"):
        in_forks([partial(made, 1), failing, partial(made, 2)], threads)


PROGRAM = """
import os, signal, time
from cortexdsl.report.build import in_forks

def wait():
    os.write(1, b"at work\\n")
    time.sleep(600)

signal.signal(signal.SIGINT, signal.default_int_handler)
in_forks([wait, wait], 2)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_forks_end_with_the_report(number: signal.Signals) -> None:
    """Ctrl-C reaches all of them; the worker kills only the job itself. Output ends when the last process has ended."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as report:
        assert report.stdout is not None
        try:
            assert [report.stdout.readline() for _ in range(2)] == ["at work\n"] * 2
            (os.killpg if number == signal.SIGINT else os.kill)(report.pid, number)
            _, errors = report.communicate(timeout=60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(report.pid, signal.SIGKILL)
    assert "ForkProcess" not in errors

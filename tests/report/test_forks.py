"""Functions at work in forks: what they make comes back in order, and what one of them raises is raised."""

from __future__ import annotations

import os
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

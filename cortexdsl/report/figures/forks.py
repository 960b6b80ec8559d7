"""Figures drawn at once, each by a fork of this process, which has the results and the drawing library already."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def in_forks(makers: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """Return what each of some functions makes, in order, with up to `threads` of them at work at once.

    What they make is sent back pickled; what they make it of is not.

    Raises
    ------
    Exception
        What the first of them that fails raises.
    """
    if threads < 2 or len(makers) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return [make() for make in makers]
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(min(threads, len(makers)), context, _remember, (makers,)) as pool:
        return list(pool.map(_made, range(len(makers))))


_makers: Sequence[Callable[[], object]] = ()


def _remember(makers: Sequence[Callable[[], object]]) -> None:
    global _makers  # noqa: PLW0603 (a fork's own: it is handed them when it begins, and numbers after that)
    _makers = makers


def _made(number: int) -> Any:
    return _makers[number]()

"""Work that goes on at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def all_of(work: Sequence[Awaitable[T]]) -> list[T]:
    """Wait for all, even when one fails, so that no reply on its way is lost; then raise the first failure."""
    done: list[T] = []
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
        done.append(outcome)
    return done


async def all_or_first_failure(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Wait for all; when one fails cancel the others and raise the first failure alone."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]

"""Locks on calls, held by real processes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from cortexdsl.models.call_log import call_locks
from cortexdsl.models.call_log.call_locks import CallLocks

HOLD = """
import asyncio, sys
from pathlib import Path
from cortexdsl.models.call_log.call_locks import CallLocks

async def hold():
    locks = CallLocks(Path(sys.argv[1]))
    async with locks.on(sys.argv[2]):
        print("held", flush=True)
        sys.stdin.read()
        locks.tell()

asyncio.run(hold())
"""


def test_the_lock_of_another_process_is_waited_for(tmp_path: Path) -> None:
    """A real process holds the lock of the call, and lets go of it while the second wait goes on."""
    key = "ff00"
    waits: list[float] = []
    arguments = [sys.executable, "-c", HOLD, str(tmp_path), key]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"

        async def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 2:
                other.communicate()

        locks = CallLocks(tmp_path, sleep=wait)

        async def scene() -> None:
            assert locks.has_news()  # at first
            assert not locks.has_news()
            async with locks.on("ff01"):
                assert waits == []  # of another call
            async with locks.on(key):
                assert len(waits) == 2
                assert locks.has_news()
                assert not locks.has_news()

        asyncio.run(scene())
    locks.close()


def test_calls_that_are_asked_together_lock_adjacent_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """POSIX joins adjacent locks of a process. A lock is compared with all ranges: one a call takes quadratic time."""
    locks, places = CallLocks(tmp_path), list[int]()
    monkeypatch.setattr(call_locks, "_is_granted", lambda file, position: places.append(position) or True)

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            for number in range(500):
                await stack.enter_async_context(locks.on(f"{7919 * number + 1:032x}"))
            await stack.enter_async_context(locks.on(f"{1:032x}"))

    asyncio.run(scene())
    assert places == [*range(500), 0]
    locks.close()


def test_the_file_begins_empty_if_no_process_has_it_open(tmp_path: Path) -> None:
    (tmp_path / ".claims").write_bytes(b"........" * 5)
    CallLocks(tmp_path).close()
    assert (tmp_path / ".claims").read_bytes() == b""

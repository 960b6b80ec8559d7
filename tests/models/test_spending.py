"""The ledger of what is spent knows, after a kill and after damage, all that may have been sent."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cortexdsl.core import Limits, Usage
from cortexdsl.errors import BudgetError
from cortexdsl.models import spending
from cortexdsl.models.budget import Budget
from cortexdsl.models.client import open_client
from cortexdsl.models.spending import LEDGER_FILE, spent_so_far
from tests.models.kit import Fake, Time, call_of


@pytest.fixture
def spent(tmp_path: Path) -> Path:
    folder = tmp_path / "spent"
    folder.mkdir()
    return folder


def reserve(budget: Budget, count: int) -> None:
    for _ in range(count):
        budget.settle(budget.reserve(), Usage(attempts=1, input_tokens=10))


def left(folder: Path, limit: int) -> int:
    """Return how many calls may be sent within a limit."""
    budget, count = Budget(Limits(calls=limit), folder), 0
    try:
        while True:
            budget.reserve()
            count += 1
    except BudgetError:
        return count
    finally:
        budget.close()


def test_after_a_kill_the_sum_is_exact(spent: Path) -> None:
    budget = Budget(Limits(calls=100), spent)
    reserve(budget, 33)  # and the process is killed: nothing is closed
    assert left(spent, 100) == 67
    assert budget.total.attempts == 33


def test_a_ledger_of_an_earlier_moment_is_not_believed_against_the_logs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A copy of the ledger from call 3 is put back at call 9: with a limit of 12 only 3 more calls are sent."""

    async def ask(first: int, count: int, limit: int) -> int:
        fake = Fake()
        log = tmp_path / "calls" / "d" / "own.jsonl"
        client = open_client(log, limits=Limits(calls=limit), ledgers=tmp_path / "spent", transports=fake.transports,
                             runtime=Time().runtime())  # fmt: skip
        async with client:
            for seed in range(first, first + count):
                try:
                    await client(call_of(seed=seed))
                except BudgetError:
                    break
        return len(fake.asked)

    path = tmp_path / "spent" / LEDGER_FILE
    assert asyncio.run(ask(0, 3, 100)) == 3
    shutil.copy(path, tmp_path / "old")
    assert asyncio.run(ask(3, 6, 100)) == 6
    shutil.copy(tmp_path / "old", path)
    assert asyncio.run(ask(9, 50, 12)) == 3
    assert "the ledger had lost what the call logs know" in caplog.text
    assert spent_so_far(tmp_path / "spent").attempts == 12


def test_no_call_waits_for_the_disk(spent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is brought to disk once, when it is closed."""
    synced: list[int] = []
    monkeypatch.setattr(spending, "sync", synced.append)
    budget = Budget(Limits(calls=100), spent)
    reserve(budget, 50)
    assert synced == []
    budget.close()
    assert len(synced) == 1


def _deleted(path: Path, earlier: bytes) -> None:
    path.unlink()


def _cut(path: Path, earlier: bytes) -> None:
    path.write_bytes(b"")


def _overwritten(path: Path, earlier: bytes) -> None:
    path.write_bytes(b"x" * 100)


def _rolled_back(path: Path, earlier: bytes) -> None:
    path.write_bytes(earlier)


def _replaced(path: Path, earlier: bytes) -> None:
    path.with_name("copy").write_bytes(earlier)
    path.with_name("copy").replace(path)


@pytest.mark.parametrize("attack", [_deleted, _cut, _overwritten, _rolled_back, _replaced])
@pytest.mark.parametrize("repeats", [1, 4])
def test_a_limit_holds_if_its_file_is_changed_during_a_run(
    spent: Path, attack: Callable[[Path, bytes], None], repeats: int
) -> None:
    """Two processes, each with one descriptor, send in turn; no call is in a log. Together they send 60 at most."""
    pipes = [os.pipe() for _ in range(4)]
    child = os.fork()
    if child == 0:
        _reserve_when_told(spent, pipes[0][0], pipes[1][1])
    other = os.fork()
    if other == 0:
        _reserve_when_told(spent, pipes[2][0], pipes[3][1])
    sent, earlier = 0, b""
    try:
        for turn in range(80):
            to, answer = (pipes[0][1], pipes[1][0]) if turn % 2 else (pipes[2][1], pipes[3][0])
            os.write(to, b"1")
            sent += int(os.read(answer, 1))
            if turn == 10:
                earlier = (spent / LEDGER_FILE).read_bytes()
            if 20 <= turn < 20 + 3 * repeats and (turn - 20) % 3 == 0:
                attack(spent / LEDGER_FILE, earlier)
    finally:
        for to in (pipes[0][1], pipes[2][1]):
            os.write(to, b"0")
        for process in (child, other):
            os.waitpid(process, 0)
        for end in (end for pipe in pipes for end in pipe):
            os.close(end)
    assert 30 <= sent <= 60


def _reserve_when_told(folder: Path, told: int, answer: int) -> None:
    try:
        budget = Budget(Limits(calls=60), folder)
        while os.read(told, 1) == b"1":
            try:
                budget.reserve()
                os.write(answer, b"1")
            except BudgetError:
                os.write(answer, b"0")
    finally:
        os._exit(0)  # also after an error: this fork never returns to the test runner

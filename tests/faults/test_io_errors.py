"""A disk that is full or fails, at each operation of a small run: one clear error, and the next run goes on."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import signal
import threading
from pathlib import Path

import pytest

from cortexdsl import files
from cortexdsl.errors import RecordError
from cortexdsl.models.call_log.append_log import SYNC_EVERY
from cortexdsl.models.call_log.folder import CallLogs
from cortexdsl.models.call_log.records import call_record
from cortexdsl.models.call_log.syncing import LogSyncs
from cortexdsl.models.transports.interface import Raw, TokenCounts
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.journal import read_journal
from tests.faults.disk import FailingDisk, on_disk
from tests.faults.small_run import JOBS, REQUESTS, Server, call_of, record_of, replay, results, run


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], int]:
    """The results of a run, and how many operations it took."""
    root = tmp_path_factory.mktemp("undisturbed")
    disk = FailingDisk(-1)
    with on_disk(disk):
        run(root, Server())
    return results(root), disk.count


def disturbed(root: Path, disk: FailingDisk, server: Server) -> str:
    """Run on a disk; return the error, if there is one."""
    with on_disk(disk):
        try:
            run(root, server)
        except RecordError as error:
            return str(error)
    return ""


def goes_on(root: Path, server: Server, expected: dict[str, bytes]) -> None:
    """Run again on a disk that works."""
    for job in JOBS:  # what is there is whole, and its calls are kept
        if record_of(root, job).exists():
            assert record_of(root, job).read_bytes() == expected[f"debates/sums/{job}/r1-s1.jsonl"]
            replay(root, job)
    run(root, server)
    assert results(root) == expected
    assert read_journal(Layout(str(root))).faults == ()
    assert not list(root.rglob("*.part"))


def unkept(error: str) -> int:
    """Return how many replies the error says were not kept."""
    found = re.search(r"(\d+) repl(?:y|ies) could not be kept", error)
    return int(found[1]) if found else 0


def test_a_full_disk_at_each_operation_loses_no_reply(
    fast_folder: Path, undisturbed: tuple[dict[str, bytes], int]
) -> None:
    """From the n-th operation on all that needs new space fails, for each n; what was reserved takes the replies."""
    expected, count = undisturbed
    stopped = 0
    for at in range(count):
        root, server = fast_folder / str(at), Server()
        disk = FailingDisk(at, errno.ENOSPC, stays=True)
        error = disturbed(root, disk, server)
        stopped += bool(error)
        if error:
            assert "No space left on device\n    free some space, then run again" in error
            assert unkept(error) == 0
        goes_on(root, server, expected)
        assert set(server.delivered.values()) == {1}, f"operation {at} ({disk.failed}): paid twice"
        assert server.requests == REQUESTS
    assert stopped > count // 3
    print(f"{count} operations, at {stopped} of them the run stopped")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_an_operation_that_fails_once_is_one_error_and_nothing_is_lost_in_silence(
    fast_folder: Path, undisturbed: tuple[dict[str, bytes], int], error: int
) -> None:
    """For each n. A reply that could not be written is counted in the error; all others are paid for once."""
    expected, count = undisturbed
    for at in range(count):
        root, server = fast_folder / str(at), Server()
        disk = FailingDisk(at, error)
        said = disturbed(root, disk, server)
        goes_on(root, server, expected)
        repeated = sum(times - 1 for times in server.delivered.values())
        assert repeated == unkept(said), f"operation {at} ({disk.failed}): {said}"


def test_a_failed_sync_never_ends_green(fast_folder: Path, undisturbed: tuple[dict[str, bytes], int]) -> None:
    """The system may have dropped what it did not write, and the next sync would succeed: the job ends."""
    expected, count = undisturbed
    syncs = 0
    for at in range(count):
        disk = FailingDisk(at, errno.EIO)
        root, server = fast_folder / str(at), Server()
        said = disturbed(root, disk, server)
        if disk.failed in ("fdatasync", "fsync"):
            syncs += 1
            assert "Input/output error" in said, f"operation {at}"
            goes_on(root, server, expected)
    assert syncs > 10


def test_a_sync_that_fails_while_calls_are_sent_stops_the_job(tmp_path: Path) -> None:
    """The sync of every five seconds runs in a thread; its error is raised before the next call, and at the end."""

    async def scene() -> None:
        logs = CallLogs(tmp_path, tmp_path / "own.jsonl")
        syncs = LogSyncs(logs, lambda: 0.0)
        logs.write(call_record("k", call_of(1), Raw("yes", "stop", TokenCounts(3, 2)), seconds=0.5, attempts=1))
        syncs.check()
        with on_disk(FailingDisk(0, errno.EIO)):
            syncs.sync_if_due(SYNC_EVERY)
            await asyncio.sleep(0)
            while logs.writer is not None and logs.writer.fault is None:
                await asyncio.sleep(0)
        with pytest.raises(RecordError, match=r"own\.jsonl: the log cannot be brought to disk: Input/output error"):
            syncs.check()
        with pytest.raises(RecordError, match="Input/output error"):  # the disk works again, and is not believed
            await syncs.sync()
        assert "Input/output error" in str(await syncs.close())

    asyncio.run(scene())


def test_short_writes_are_completed(fast_folder: Path, undisturbed: tuple[dict[str, bytes], int]) -> None:
    """A write may take a part of the data, at each operation."""
    expected, count = undisturbed
    for at in range(count):
        root, server = fast_folder / str(at), Server()
        assert disturbed(root, FailingDisk(at), server) == ""
        assert results(root) == expected
        goes_on(root, server, expected)
        assert server.requests == REQUESTS


@pytest.mark.parametrize("kind", ["write", "pwrite"])
def test_a_short_write_is_continued_where_it_ended(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each system call takes seven bytes at most, as POSIX allows; the file then has all of the data."""
    writes = []

    def short(file: int, data: bytes, *offset: int) -> int:
        writes.append(len(data))
        return real(file, data[:7], *offset)

    real = getattr(os, kind)
    data, path = bytes(range(100)), tmp_path / "file"
    file = files.open_to_write(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, kind, short)
        if kind == "write":
            files.append(file, data, 0)
        else:
            files.overwrite(file, data, 50)
    os.close(file)
    assert path.read_bytes() == (data if kind == "write" else b"\0" * 50 + data)
    assert len(writes) == 15  # of seven bytes each, and the last of two


def test_a_signal_amid_a_write_loses_no_byte() -> None:
    """A pipe takes 64 kB and then blocks: the signal ends the system call there, and only then somebody reads."""
    reads, writes = os.pipe()
    interrupted, received = threading.Event(), bytearray()

    def read() -> None:
        interrupted.wait()
        while block := os.read(reads, 1 << 16):
            received.extend(block)

    reader = threading.Thread(target=read)
    before = signal.signal(signal.SIGALRM, lambda *_: interrupted.set())
    reader.start()
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    data = bytes(range(256)) * 4096
    try:
        files.append(writes, data, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        os.close(writes)
        reader.join()
        os.close(reads)
    assert interrupted.is_set()
    assert received == data

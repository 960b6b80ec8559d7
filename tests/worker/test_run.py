"""The lock of an experiment's folder, and how signals stop a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from cortexdsl.errors import RecordError
from cortexdsl.plan.persistence.run_record import is_locked
from cortexdsl.worker.run import lock_experiment


def test_asking_whether_a_run_is_at_work_does_not_get_in_its_way(tmp_path: Path) -> None:
    """`is_locked` has the lock for a moment: a run that begins then tries again."""
    taken = lock_experiment(tmp_path)
    assert taken is not None

    def given_back(_: float) -> None:
        os.close(taken)

    mine = lock_experiment(tmp_path, given_back)
    assert mine is not None
    assert is_locked(tmp_path)
    os.close(mine)
    assert not is_locked(tmp_path)


def test_a_folder_that_cannot_be_written_is_one_sentence_with_its_remedy(tmp_path: Path) -> None:
    """Here `results` is a file, which no user can write below, root included."""
    (tmp_path / "results").write_text("")
    with pytest.raises(RecordError) as refused:
        lock_experiment(tmp_path / "results" / "e")
    said = str(refused.value).splitlines()
    assert said[0].endswith("results/e/.run: the lock of a run cannot be opened: Not a directory")
    assert said[1] == "    give yourself the right to write there, then run again: what is finished is kept"


PROGRAM = """
import os, signal, subprocess, sys, threading
from cortexdsl.worker.run import stop_on_signals

lock, stopped = threading.Lock(), threading.Event()

def stop(name):
    with lock:
        print(name, flush=True)
        stopped.set()

def child(code):
    process = subprocess.Popen([sys.executable, "-c", code + "print(flush=True); input()"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process
"""
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "


def heed_signals() -> None:
    """Undo what a shell in the background or nohup ignores."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def program(code: str) -> Iterator[subprocess.Popen[str]]:
    """Run the program in a process of its own, which heeds signals at its start."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM + code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,  # noqa: PLW1509
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_that_meets_a_held_lock_stops_the_run(number: signal.Signals) -> None:
    """A handler that took the lock itself would wait for the thread that it interrupts."""
    code = f"""
stop_on_signals(stop, lambda: [])
with lock:
    signal.raise_signal({int(number)})
print(stopped.wait(60), flush=True)
"""
    with program(code) as run:
        assert run.communicate(timeout=60)[0].split() == [number.name, "True"]


def test_the_end_of_a_run_can_wait_until_a_signal_is_told() -> None:
    """A run whose jobs the signal ended may get to its end before the thread that tells of the signal."""
    code = """
settle = stop_on_signals(lambda name: (stopped.wait(0.2), print(name, flush=True)), lambda: [])
settle()
print("none came", flush=True)
signal.raise_signal(signal.SIGINT)
settle()
print("told", flush=True)
"""
    with program(code) as run:
        assert run.communicate(timeout=60)[0].splitlines() == ["none came", "SIGINT", "told"]


def test_a_signal_that_was_ignored_at_the_start_stays_ignored() -> None:
    """As `nohup` and shells start commands in the background; SIGTERM stops these, too."""
    code = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
stop_on_signals(stop, lambda: [])
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    signal.raise_signal(number)
stopped.wait(60)
"""
    with program(code) as run:
        assert run.communicate(timeout=60)[0].split() == ["SIGTERM"]


def test_jobs_end_what_runs_beside_them_does_not_and_a_second_signal_kills() -> None:
    """A job, a job that ignores SIGTERM, and a server."""
    code = f"""
job, stubborn, server = child(""), child({STUBBORN!r}), child("")
stop_on_signals(stop, lambda: [server.pid])
print(job.pid, stubborn.pid, server.pid, flush=True)
print(job.wait(), flush=True)
print(stubborn.wait(), flush=True)
input()
"""
    with program(code) as run:
        assert run.stdout is not None
        pids = [int(word) for word in run.stdout.readline().split()]
        server = psutil.Process(pids[2])
        os.kill(run.pid, signal.SIGTERM)
        assert [run.stdout.readline().strip() for _ in range(2)] == ["SIGTERM", str(-signal.SIGTERM)]
        assert psutil.Process(pids[1]).is_running()
        os.kill(run.pid, signal.SIGTERM)
        assert run.stdout.readline().strip() == str(-signal.SIGKILL)
        assert server.status() != psutil.STATUS_ZOMBIE
        server.kill()

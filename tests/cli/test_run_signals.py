"""Signals in the first moments of `cortexdsl run`: one line, and exit status 1, whatever the moment."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortexdsl.cli import experiments
from tests.jobs.experiment import SPEC, write_spec

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOPPED = b"stopped before the first job"


@pytest.fixture(autouse=True)
def _children_hear_signals() -> Iterator[None]:
    """Signals that this process ignores, as under `nohup`, would be ignored by its children, and so by the run."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_permission_is_asked(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    spec = write_spec(SPEC + "servers:\n  local: {command: sleep 1, env: LOCAL_URL}\n")
    control, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cortexdsl.cli.main", "run", spec, "--cores", "1"],
        stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    text = b""
    while b"[y/N]" not in text:
        text += os.read(control, 4096)
    process.send_signal(number)
    assert process.wait(60) == 1
    assert STOPPED in os.read(control, 4096)
    os.close(control)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_process_becomes_snakemake(number: int) -> None:
    """The signals wait until their handlers are there."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"import os, signal, sys\n"
         f"from cortexdsl.display.launch import block_signals\n"
         f"block_signals()\nos.kill(os.getpid(), {int(number)})\n"
         "os.execv(sys.executable, [sys.executable, '-m', 'cortexdsl.display.launch', '--version'])"],
        stderr=subprocess.PIPE,
    )  # fmt: skip
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error.strip()) == (1, STOPPED)


@pytest.mark.parametrize("number", SIGNALS[1:])
def test_a_gate_passes_them_to_its_run(number: int) -> None:
    """The run says when it listens, and ends with a status of its own; the gate waits for that."""
    run = "import signal, sys, time; signal.signal(int(sys.argv[1]), lambda *_: sys.exit(7))"
    run += "; print('listening', flush=True); time.sleep(60)"
    gate = "import subprocess, sys; from cortexdsl.cli.gate import wait_for"
    gate += "; sys.exit(wait_for(subprocess.Popen([sys.executable, '-c', *sys.argv[1:]])))"
    with subprocess.Popen([sys.executable, "-c", gate, run, str(int(number))], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(60) == 7


def test_run_blocks_them_before_it_becomes_snakemake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    masks: list[set[signal.Signals]] = []
    monkeypatch.setattr(
        experiments.os, "execv", lambda *command: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        from cortexdsl.cli.main import main

        main(["run", write_spec()])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert set(SIGNALS) <= masks[0]

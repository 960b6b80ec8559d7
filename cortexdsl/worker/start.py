"""Start and stop the worker of a run: what the workflow's handlers call."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.worker.holder import name_run
from cortexdsl.worker.wire import ADDRESS

MODULE = "cortexdsl.cli.worker"
BACKLOG = 1024
STOPPED_WITHIN = 5.0
ONE_THREAD = {
    f"{library}_THREADS": "1"
    for library in ("OMP_NUM", "GOTO_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM", "NUMEXPR_NUM")
}
"""What Snakemake sets for a job of one thread: sums of floats must not depend on who computes them."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that runs.

    Attributes
    ----------
    process : Popen
    folder : Path
        Of its socket; nobody else may enter it.
    lifeline : int
        The worker ends when this file is closed, by us or because we are killed.
    """

    process: subprocess.Popen[bytes]
    folder: Path
    lifeline: int


def start_worker(ways: Sequence[str] = (), log: Path = Path(os.devnull)) -> list[Worker]:
    """Start the worker, and tell the environment of jobs where it is and which run they belong to.

    Jobs may call at once: they are let in when the worker has come up.

    Parameters
    ----------
    ways : sequence of str
        To what jobs will ask over a network (`litellm`, `direct`, `search`); none: no job waits for a server.
    log : Path
        Where it says what is of no single job.

    Returns
    -------
    list of Worker
        One; none where none can be had (no place for a socket): jobs then run by themselves.
    """
    name_run()
    if not hasattr(socket, "send_fds"):
        return []
    folder = Path(tempfile.mkdtemp(prefix="cortexdsl-"))
    with socket.socket(socket.AF_UNIX) as listener:
        address = str(folder / "socket")
        try:
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError:  # the path of the folder for temporary files is too long for a socket
            shutil.rmtree(folder, ignore_errors=True)
            return []
        end, lifeline = os.pipe()
        command = [sys.executable, "-m", MODULE, str(listener.fileno()), str(end), *ways]
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as said:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**os.environ, **ONE_THREAD},
                pass_fds=[listener.fileno(), end],
                start_new_session=True,  # Ctrl-C is for jobs, which tell the worker by going
            )
        os.close(end)
    os.environ[ADDRESS] = address
    return [Worker(process, folder, lifeline)]


def stop_workers(workers: list[Worker]) -> None:
    """Stop the worker and whatever job it still has; may be called twice."""
    while workers:
        _stop(workers.pop())


def _stop(worker: Worker) -> None:
    os.environ.pop(ADDRESS, None)
    os.close(worker.lifeline)
    try:
        worker.process.wait(STOPPED_WITHIN)
    except subprocess.TimeoutExpired:
        os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
    shutil.rmtree(worker.folder, ignore_errors=True)

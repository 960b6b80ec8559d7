"""A run of the workflow: its lock on each experiment, its worker, and how signals stop it.

The system releases the lock when its holder ends, so that no file blocks the next run. Ctrl-C, SIGTERM and SIGHUP keep
further jobs from starting and end the running ones. A signal handler may interrupt the main thread while that holds a
lock of Snakemake's scheduler, and a handler that took the same lock would never return. The handler here only writes a
byte into a pipe, and a thread does the rest.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from cortexdsl.errors import RecordError
from cortexdsl.files import cannot_write, open_to_write, overwrite, truncate
from cortexdsl.import_path import SAFE_PATH, python_command
from cortexdsl.plan.persistence.run_record import LOCK
from cortexdsl.symlinks import refuse_symlinks
from cortexdsl.worker.client import ADDRESS
from cortexdsl.worker.process import name_run

TRIES, PAUSE = 5, 0.1  # `is_locked` takes the lock for a moment


def lock_experiment(folder: Path, sleep: Callable[[float], None] = time.sleep) -> int | None:
    """Lock an experiment's folder until this process ends.

    Returns
    -------
    int or None
        The open file that holds the lock; None if the file system has no locks.

    Raises
    ------
    RecordError
        Another run holds it, the folder cannot be written, or a link in it leads out of it.
    """
    try:
        refuse_symlinks(folder)
        file = open_to_write(folder / LOCK, durable=False)
    except OSError as error:
        raise cannot_write(folder / LOCK, "the lock of a run cannot be opened", error) from None
    for tries_left in reversed(range(TRIES)):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if tries_left:
                sleep(PAUSE)
                continue
            holder = os.pread(file, 200, 0).decode(errors="replace").strip()
            os.close(file)
            raise RecordError(
                f"{folder}: another run is at work on this experiment ({holder or 'its process is unknown'})\n"
                "    wait for its end, or stop it: what is finished is kept"
            ) from None
        except OSError:
            os.close(file)
            return None
    try:
        truncate(file, 0)
        overwrite(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    except OSError as error:
        os.close(file)
        raise cannot_write(folder / LOCK, "the lock of a run cannot be written", error) from None
    return file


def unlock(lock: int | None) -> None:
    """Release what `lock_experiment` returned."""
    if lock is not None:
        os.close(lock)


MODULE = "cortexdsl.cli.worker"
BACKLOG = 1024
SOCKET_FOLDER = "cortexdsl-"
"""Beginning of the names of the folders of workers' sockets, in the folder for temporary files."""
STOPPED_WITHIN = 5.0
ONE_THREAD = {
    f"{library}_THREADS": "1"
    for library in ("OMP_NUM", "GOTO_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM", "NUMEXPR_NUM")
}
"""Variables of Snakemake for a job of one thread: sums of floats must be equal with and without the worker."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A running worker.

    Attributes
    ----------
    process : Popen
    folder : Path
        Of its socket; only this user may enter it.
    lifeline : int
        The worker ends when this file descriptor is closed, also because this process is killed.
    """

    process: subprocess.Popen[bytes]
    folder: Path
    lifeline: int


def start_worker(ways: Sequence[str] = (), log: Path = Path(os.devnull)) -> list[Worker]:
    """Start the worker, and put its address and the id of this run into the environment of jobs.

    Jobs may connect at once; they wait until the worker has started.

    Parameters
    ----------
    ways : sequence of str
        How jobs call models and searches over a network (`litellm`, `direct`, `search`); none if no job does.
    log : Path
        The worker's own log, for messages that belong to no job.

    Returns
    -------
    list of Worker
        One worker, or none if no socket can be opened: jobs then run by themselves.
    """
    name_run()
    if not hasattr(socket, "send_fds"):
        return []
    folder = Path(tempfile.mkdtemp(prefix=SOCKET_FOLDER))
    with socket.socket(socket.AF_UNIX) as listener:
        address = str(folder / "socket")
        try:
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError:  # the path of the temporary folder is too long for a socket
            shutil.rmtree(folder, ignore_errors=True)
            return []
        end, lifeline = os.pipe()
        command = python_command(MODULE, str(listener.fileno()), str(end), *ways)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **ONE_THREAD, SAFE_PATH: "1"},  # as jobs have it, whose environment it compares
                pass_fds=[listener.fileno(), end],
                start_new_session=True,  # Ctrl-C reaches the jobs, and the worker notices that they end
            )
        os.close(end)
    os.environ[ADDRESS] = address
    return [Worker(process, folder, lifeline)]


def stop_workers(workers: list[Worker]) -> None:
    """Stop the worker and the jobs that it still runs; may be called twice."""
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


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SWEEP_EVERY = 0.2  # seconds; a job that starts during a sweep is ended by the next one


def stop_on_signals(stop: Callable[[str], None], spared: Callable[[], Collection[int]]) -> Callable[[], None]:
    """Install the handlers; call it from the main thread.

    A signal that was ignored when the program started stays ignored: `nohup`, and shells that start a command in the
    background, protect it in this way from a closed terminal and from Ctrl-C.

    Parameters
    ----------
    stop : callable
        Called once, in a thread, with the name of the signal. It must keep further jobs from starting.
    spared : callable
        Return the process ids of the children of this process that are not jobs. All other children and their
        descendants are ended: by SIGTERM, after a second signal by SIGKILL.

    Returns
    -------
    callable
        Wait until `stop` has returned, if a signal has come: jobs may end of it before the thread runs.
    """
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    come: list[int] = []  # an event would take a lock in the handler
    is_attended = threading.Event()

    def note(number: int, _: object) -> None:
        come.append(number)
        with suppress(BlockingIOError):
            os.write(writable, bytes([number]))

    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, note)

    def stop_and_tell(name: str) -> None:
        stop(name)
        is_attended.set()

    threading.Thread(target=_attend, args=(readable, stop_and_tell, spared), name="stop the run", daemon=True).start()

    def settle() -> None:
        if come:
            is_attended.wait(STOPPED_WITHIN)

    return settle


def interrupt_on_signals() -> None:
    """Have the signals raise KeyboardInterrupt in the main thread; ignored ones stay ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def _attend(readable: int, stop: Callable[[str], None], spared: Callable[[], Collection[int]]) -> None:
    stop(signal.Signals(os.read(readable, 1)[0]).name)
    with_signal = signal.SIGTERM
    while True:
        for job in _jobs(spared()):
            with suppress(psutil.Error):
                job.send_signal(with_signal)
        if select.select([readable], [], [], SWEEP_EVERY)[0]:
            os.read(readable, 1)
            with_signal = signal.SIGKILL


def _jobs(spared: Collection[int]) -> list[psutil.Process]:
    """Return the processes of jobs, descendants first."""
    children = [child for child in psutil.Process().children() if child.pid not in spared]
    below: list[psutil.Process] = []
    for child in children:
        with suppress(psutil.Error):
            below += child.children(recursive=True)
    return [*reversed(below), *children]

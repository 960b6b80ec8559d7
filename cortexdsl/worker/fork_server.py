"""The worker's first process: a fork server, which imports everything once and forks for each job.

It has one thread and no asyncio event loop, so that it can fork at any moment. A fork starts with all modules imported:
that takes milliseconds, and a new interpreter takes seconds.
"""

from __future__ import annotations

import atexit
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from cortexdsl.worker.client import DECLINED, edition, receive, send
from cortexdsl.worker.process import collect_garbage_rarely, end_with_parent

FILES = 3  # input, output, errors
RECEIVE_WITHIN = 5.0  # seconds that a client has to send its job
ENDED_WITHIN = 3.0  # seconds that jobs have to close their logs at the end of the run before they are killed


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A verb to run: its arguments, folder, environment, and the files of its input, output and errors."""

    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    files: Sequence[int]


class ForkServer:
    """Forks for each job that arrives at a listening socket, until the lifeline ends.

    Parameters
    ----------
    listener : socket
        Bound and listening.
    lifeline : int
        A file descriptor that ends when the run has ended.
    job_server : socket or None
        The channel to the process that runs the jobs which only wait for model servers.
    prepare : callable or None
        Called with the arguments of each job before its fork: its work is then done for all later jobs.
    """

    def __init__(
        self,
        listener: socket.socket,
        lifeline: int,
        job_server: socket.socket | None = None,
        prepare: Callable[[Sequence[str]], None] | None = None,
    ) -> None:
        self._listener, self._lifeline, self._job_server, self._prepare = listener, lifeline, job_server, prepare
        self._process = os.getpid()
        self._home = os.getcwd()  # noqa: PTH109 (as clients send it)
        self._clients: dict[int, socket.socket] = {}  # by the process id of their job

    def serve(self, warming: Iterator[object]) -> JobRequest | None:
        """Fork for every job that arrives; between jobs, take the next step of `warming` until it ends.

        Returns
        -------
        JobRequest or None
            In each fork: the job to run; folder, environment and files are set. In the server itself: None, at the
            end of the run, when every fork has ended.
        """
        woken, waker = socket.socketpair()
        for end in (woken, waker):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        self._poll = selectors.DefaultSelector()
        for file in (self._listener, woken, self._lifeline):
            self._poll.register(file, selectors.EVENT_READ)
        is_warm = False
        while True:
            for key, _ in self._poll.select(None if is_warm else 0):
                if key.fileobj is self._listener:
                    job = self._accept()
                    if job is not None:
                        return job
                elif key.fileobj is woken:
                    woken.recv(1 << 12)
                    self._reap()
                elif key.fileobj == self._lifeline:
                    self._end()
                    return None
                else:  # a client has ended: its job is not wanted any more
                    self._stop(key.data)
            if not is_warm and next(warming, None) is None:
                is_warm = True
                collect_garbage_rarely()  # all forks share the imported objects

    def _accept(self) -> JobRequest | None:
        connection, _ = self._listener.accept()
        connection.settimeout(RECEIVE_WITHIN)
        message = receive(connection)
        if message is None:
            connection.close()
            return None
        (client_edition, folder, length, *texts), files = message
        arguments, environment = texts[: int(length)], dict(each.partition("=")[::2] for each in texts[int(length) :])
        is_at_home = folder == self._home and has_environment(environment)
        if client_edition != edition() or len(files) != FILES:
            _answer(connection, DECLINED)
        elif self._job_server is not None and is_at_home and only_waits(arguments):
            try:
                send(self._job_server, arguments, [connection.fileno(), files[2]])
                connection.close()
            except OSError:  # the job server has ended
                self._job_server = None
                _answer(connection, DECLINED)
        else:
            if is_at_home and self._prepare is not None:
                self._prepare(arguments)
            fork = os.fork()
            if not fork:
                connection.detach()
                return self._forked(JobRequest(arguments, folder, environment, files))
            with suppress(OSError):
                os.setpgid(fork, fork)
            self._clients[fork] = connection
            self._poll.register(connection, selectors.EVENT_READ, fork)
        for file in files:
            os.close(file)
        return None

    def _forked(self, job: JobRequest) -> JobRequest:
        """Set this fork up as the process of one job.

        It keeps the connection of its client open without using it: if the worker is lost, the client notices only when
        this process has ended, too.
        """
        os.setpgid(0, 0)
        end_with_parent(self._process)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._poll.close()
        self._listener.close()
        if self._job_server is not None:
            self._job_server.close()
        os.close(self._lifeline)
        for connection in self._clients.values():
            connection.close()
        for number, file in enumerate(job.files):
            os.dup2(file, number)
            os.close(file)
        renew_streams()
        os.environ.clear()
        os.environ.update(job.environment)
        os.chdir(job.folder)
        return job

    def _reap(self) -> None:
        while True:
            try:
                fork, ended = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not fork:
                return
            connection = self._clients.pop(fork, None)
            if connection is None:  # the job server
                continue
            self._poll.unregister(connection)
            status = os.waitstatus_to_exitcode(ended)
            _answer(connection, str(status if status >= 0 else 128 - status))

    def _stop(self, fork: int, number: signal.Signals = signal.SIGINT) -> None:
        """End a job, by default as Ctrl-C does, so that it closes its log and its tally."""
        with suppress(ProcessLookupError):
            os.killpg(fork, number)

    def _has_children(self) -> bool:
        """Forget the children that have ended, and return whether there are others."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._clients.pop(ended, None)
            return True
        return False

    def _end(self) -> None:
        if self._job_server is not None:
            self._job_server.close()  # the job server stops its jobs and ends
        for fork in self._clients:
            self._stop(fork)
        until = time.monotonic() + ENDED_WITHIN
        while self._has_children() and time.monotonic() < until:
            time.sleep(0.01)
        for fork in list(self._clients):
            self._stop(fork, signal.SIGKILL)
            os.waitpid(fork, 0)
        address = Path(self._listener.getsockname())
        with suppress(OSError):  # the run has removed them already, unless it was killed
            address.unlink()
            address.parent.rmdir()


def renew_streams() -> None:
    """Reopen Python's standard streams: they remember the kind of file that the worker had."""
    sys.stdin = open(0, encoding=sys.stdin.encoding, errors=sys.stdin.errors, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding=sys.stderr.encoding, errors=sys.stderr.errors, closefd=False)  # noqa: SIM115


def end_fork(status: int) -> NoReturn:
    """End a fork without freeing its objects: that copies memory which it shares, and takes longer than most jobs."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a full disk, or a reader that has ended
            stream.flush()
    os._exit(status)


OF_ONE_JOB = {"_", "SHLVL", "PWD", "OLDPWD", "PATH", "TMPDIR", "TMP", "TEMP", "TEMPDIR", "LINES", "COLUMNS"}
OF_PROGRAMS = ("BASH_FUNC_", "CORTEXDSL_", "SNAKEMAKE_")
"""Variables that a shell and Snakemake set for each job, and that no call to a model depends on."""


def has_environment(environment: Mapping[str, str]) -> bool:
    """Return whether this process has each variable of a job's environment that a call to a model may depend on."""
    own = {name for name in environment if name.startswith(OF_PROGRAMS) or name.endswith("_THREADS")} | OF_ONE_JOB
    return all(os.environ.get(name) == value for name, value in environment.items() if name not in own)


def only_waits(arguments: Sequence[str]) -> bool:
    """Return whether a job only waits for model servers (`--threads 0`)."""
    return ("--threads", "0") in pairwise(arguments)


def _answer(connection: socket.socket, text: str) -> None:
    with suppress(OSError):  # the client may have ended
        send(connection, [text])
    connection.close()

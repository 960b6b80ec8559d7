"""The worker's first process: it imports everything once, and answers each job with a fork of itself.

It has one thread and no event loop of asyncio, so that forking is safe at any moment. A fork starts with all modules
in place, which costs milliseconds where a new interpreter costs seconds.
"""

from __future__ import annotations

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

from cortexdsl.worker.client import DECLINED, edition
from cortexdsl.worker.desk import is_known
from cortexdsl.worker.garbage import look_seldom
from cortexdsl.worker.holder import end_with_parent
from cortexdsl.worker.wire import receive, send

FILES = 3  # input, output, errors
PATIENCE = 5.0  # seconds that a client may take to say what it wants
ENDED_WITHIN = 3.0  # seconds that jobs have to close their logs at the end of the run; then they are killed


@dataclass(frozen=True, slots=True)
class Job:
    """A verb to run: its arguments, folder, environment, and the files that are its input, output and errors.

    Attributes
    ----------
    is_at_home : bool
        Whether folder and environment are the worker's own, so that what the worker has prepared is true of it.
    """

    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    files: Sequence[int]
    is_at_home: bool


class Zygote:
    """Serves jobs from a listening socket until its lifeline ends.

    Parameters
    ----------
    listener : socket
        Bound and listening.
    lifeline : int
        A file that ends when the run has ended.
    desk : socket or None
        The channel to the process that attends to jobs which only wait for servers.
    prepare : callable or None
        Told the arguments of each job before its fork: what it does once is done for all jobs.
    """

    def __init__(
        self,
        listener: socket.socket,
        lifeline: int,
        desk: socket.socket | None = None,
        prepare: Callable[[Sequence[str]], None] | None = None,
    ) -> None:
        self._listener, self._lifeline, self._desk, self._prepare = listener, lifeline, desk, prepare
        self._home = os.getcwd()  # noqa: PTH109 (as clients say it)
        self._clients: dict[int, socket.socket] = {}  # by the process that runs their job

    def serve(self, warming: Iterator[object]) -> Job | None:
        """Fork for every job that arrives; between jobs, go on with `warming` until it ends.

        Returns
        -------
        Job or None
            In each fork: the job to run, with the fork's folder, environment and files set. In the worker itself
            None, at the end of the run, when every fork has ended.
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
                else:  # a client has gone, and with it the wish for its job
                    self._stop(key.data)
            if not is_warm and next(warming, None) is None:
                is_warm = True
                look_seldom()  # what is imported is shared by all forks for good

    def _accept(self) -> Job | None:
        connection, _ = self._listener.accept()
        connection.settimeout(PATIENCE)
        asked = receive(connection)
        if asked is None:
            connection.close()
            return None
        (said_edition, folder, length, *said), files = asked
        if said_edition != edition() or len(files) != FILES:
            _answer(connection, DECLINED)
        elif self._desk is not None and waits(said[: int(length)]):
            try:
                send(self._desk, [folder, length, *said], [connection.fileno(), files[2]])
                connection.close()
            except OSError:  # the desk is lost
                self._desk = None
                _answer(connection, DECLINED)
        else:
            arguments, environment = said[: int(length)], dict(each.split("=", 1) for each in said[int(length) :])
            is_at_home = folder == self._home and is_known(environment)
            if is_at_home and self._prepare is not None:
                self._prepare(arguments)
            fork = os.fork()
            if not fork:
                connection.detach()
                return self._forked(Job(arguments, folder, environment, files, is_at_home))
            with suppress(OSError):
                os.setpgid(fork, fork)
            self._clients[fork] = connection
            self._poll.register(connection, selectors.EVENT_READ, fork)
        for file in files:
            os.close(file)
        return None

    def _forked(self, job: Job) -> Job:
        """Become the process of one job.

        It keeps its client's connection open without using it: where the worker is lost, the client learns of it
        only when this process has ended, too.
        """
        os.setpgid(0, 0)
        end_with_parent()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._poll.close()
        self._listener.close()
        if self._desk is not None:
            self._desk.close()
        os.close(self._lifeline)
        for connection in self._clients.values():
            connection.close()
        for number, file in enumerate(job.files):
            os.dup2(file, number)
            os.close(file)
        _renew_streams()
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
            if connection is None:  # the desk
                continue
            self._poll.unregister(connection)
            status = os.waitstatus_to_exitcode(ended)
            _answer(connection, str(status if status >= 0 else 128 - status))

    def _stop(self, fork: int, number: signal.Signals = signal.SIGINT) -> None:
        """End a job, by default as Ctrl-C does: it closes its log and its tally."""
        with suppress(ProcessLookupError):
            os.killpg(fork, number)

    def _has_children(self) -> bool:
        """Take note of children that have ended, and return whether there are others."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._clients.pop(ended, None)
            return True
        return False

    def _end(self) -> None:
        if self._desk is not None:
            self._desk.close()  # the desk stops its jobs and ends
        for fork in self._clients:
            self._stop(fork)
        until = time.monotonic() + ENDED_WITHIN
        while self._has_children() and time.monotonic() < until:
            time.sleep(0.01)
        for fork in list(self._clients):
            self._stop(fork, signal.SIGKILL)
            os.waitpid(fork, 0)
        address = Path(self._listener.getsockname())
        with suppress(OSError):  # who started this has removed them already, unless it was killed
            address.unlink()
            address.parent.rmdir()


def _renew_streams() -> None:
    """Open Python's own streams anew: they remember what kind of file the worker had there."""
    sys.stdin = open(0, encoding=sys.stdin.encoding, errors=sys.stdin.errors, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding=sys.stderr.encoding, errors=sys.stderr.errors, closefd=False)  # noqa: SIM115


def waits(arguments: Sequence[str]) -> bool:
    """Say whether a job needs no processor: it only waits for servers."""
    return ("--threads", "0") in pairwise(arguments)


def _answer(connection: socket.socket, text: str) -> None:
    with suppress(OSError):  # the client may have gone
        send(connection, [text])
    connection.close()

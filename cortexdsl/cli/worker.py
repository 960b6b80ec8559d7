"""`python -m cortexdsl.cli.worker`: the processes of a run's worker. The workflow starts them (`worker.run`)."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import socket
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib import import_module

from cortexdsl.cli.verbs import failure, parse, run
from cortexdsl.errors import CortexError
from cortexdsl.jobs import ballots, debate, judge, label, pool
from cortexdsl.jobs.arguments import results_of_job
from cortexdsl.models.known_models import known_model
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.transports.litellm import load
from cortexdsl.plan.compiled import read_compiled
from cortexdsl.program import note_program
from cortexdsl.tasks.registry import registry
from cortexdsl.worker.fork_server import ForkServer, end_fork
from cortexdsl.worker.job_server import DeclinedError, log_to_jobs, serve_jobs
from cortexdsl.worker.process import collect_garbage_rarely, end_with_parent

LATER = (
    "cortexdsl.jobs.score",
    "cortexdsl.jobs.verdict",
    "cortexdsl.cli.results",
    "cortexdsl.report.terminal",
    "cortexdsl.report.build",
)
"""Modules that the jobs after the debates import, in the order in which a run needs them."""
WAITING = {"debate": debate, "judge": judge, "label": label, "ballots": ballots, "pool": pool}
"""Verbs whose jobs may wait for model servers in the event loop of the job server."""
LITELLM = "litellm"


def main() -> int:
    """Serve jobs until the run ends; in each fork, run its job.

    The arguments are two file descriptors (the listening socket; the lifeline, which ends with the run) and the ways to
    the models that jobs ask. Without a way no job waits for a server, and there is no job server.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listener, lifeline, *ways = sys.argv[1:]
    note_program()  # of the code that is imported here: forks would read it again, and later than they run it
    collect_garbage_rarely()
    job_server = _job_server([int(listener), int(lifeline)], ways) if ways else None
    server = ForkServer(socket.socket(fileno=int(listener)), int(lifeline), job_server, prepare)
    job = server.serve(_imports())
    if job is not None:
        end_fork(run(job.arguments))
    return 0


def prepare(arguments: Sequence[str]) -> None:
    """Do before the fork of a debate job what later jobs of the same cell then find done.

    The job itself reports what is wrong with its arguments or its plan.
    """
    if arguments[:1] != ["debate"]:
        return
    with suppress(Exception, SystemExit), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        job = parse(arguments)
        debate.prepare(read_compiled(results_of_job(job.spec, job.experiment)), job.cell)


def _imports() -> Iterator[str]:
    """Load the lists of datasets and of known models, then import one module a step."""
    registry()
    yield "datasets"
    known_model("")
    yield "models"
    for module in LATER:
        import_module(module)
        yield module


def _job_server(files: Sequence[int], ways: Sequence[str]) -> socket.socket:
    """Fork the process that runs all jobs which wait for model servers; return the channel to it."""
    channel, other = socket.socketpair()
    parent = os.getpid()
    if os.fork():
        other.close()
        return channel
    channel.close()
    for file in files:
        os.close(file)
    end_with_parent(parent)
    status = 1
    try:
        if LITELLM in ways:
            load()  # takes seconds, in which the first jobs of the run are being started
        log_to_jobs()
        collect_garbage_rarely()
        asyncio.run(_serve(other))
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


async def _serve(channel: socket.socket) -> None:
    async with SharedState() as shared:

        async def attend(arguments: Sequence[str]) -> tuple[int, str]:
            try:
                with redirect_stderr(io.StringIO()):
                    job = parse(arguments)
                return 0, await WAITING[arguments[0]].JOB.attend(job, shared)
            except (CortexError, OSError) as error:
                return failure(error)
            except SystemExit as wrong:  # an invalid command, or --help: the job says it itself
                raise DeclinedError from wrong
            except Exception:
                return 1, traceback.format_exc()

        await serve_jobs(channel, attend)


if __name__ == "__main__":
    sys.exit(main())

"""`python -m cortexdsl.cli.worker`: the worker that a workflow starts for its jobs. Nobody calls it by hand."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import socket
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, suppress
from functools import partial
from importlib import import_module

from cortexdsl.cli.jobs import debate, judge, pool
from cortexdsl.cli.verbs import failure, module_of, parse, run
from cortexdsl.errors import CortexError
from cortexdsl.models.commons import Commons
from cortexdsl.models.transports.litellm import load
from cortexdsl.plan import compile_spec
from cortexdsl.tasks.registry import registry
from cortexdsl.worker.desk import DeclinedError, attend_all, warn_jobs
from cortexdsl.worker.garbage import look_seldom
from cortexdsl.worker.holder import end_with_parent
from cortexdsl.worker.plans import Plans
from cortexdsl.worker.zygote import Zygote

WARM = ("score", "join", "verdict", "report")
"""Verbs in the order in which a run comes to need them, after the debates."""
DRAWING = "cortexdsl.report.build"
WAITING = {"debate": debate.attend, "judge": judge.attend, "pool": pool.attend}
"""Verbs whose jobs may wait for servers beside others, in one loop."""
LITELLM = "litellm"


def main() -> int:
    """Serve jobs until the run ends; in each fork, run its job.

    The arguments are the files that listen and that end with the run, and the ways to the models that will be asked:
    none where no job waits for a server.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listener, lifeline, *ways = sys.argv[1:]
    look_seldom()
    desk = _desk([int(listener), int(lifeline)], ways) if ways else None
    plans = Plans(compile_spec)
    zygote = Zygote(socket.socket(fileno=int(listener)), int(lifeline), desk, partial(_compile, plans))
    job = zygote.serve(_warming())
    if job is None:
        return 0
    return run(job.arguments, plans if job.is_at_home else None)


def _compile(plans: Plans, arguments: Sequence[str]) -> None:
    """Compile the spec of a job before its fork, where it has one: all jobs find it compiled, its templates, too."""
    with suppress(Exception):  # the job itself meets it again, and says what is wrong
        plans(arguments[1], arguments[arguments.index("--experiment") + 1])


def _warming() -> Iterator[str]:
    """Read what never changes and import what jobs need, one thing at a step."""
    registry()
    yield "datasets"
    for verb in WARM:
        module_of(verb)
        yield verb
    import_module(DRAWING)  # the verb imports it only where it draws
    yield DRAWING


def _desk(files: Sequence[int], ways: Sequence[str]) -> socket.socket:
    """Fork the process that attends to all jobs which wait for servers; return the channel to it."""
    channel, other = socket.socketpair()
    if os.fork():
        other.close()
        return channel
    channel.close()
    for file in files:
        os.close(file)
    end_with_parent()
    status = 1
    try:
        if LITELLM in ways:
            load()  # seconds, while the run's first jobs are still on their way
        warn_jobs()
        look_seldom()
        asyncio.run(_attend_all(other))
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


async def _attend_all(channel: socket.socket) -> None:
    plans = Plans(compile_spec)
    async with Commons() as commons:

        async def attend(arguments: Sequence[str]) -> tuple[int, str]:
            try:
                with redirect_stderr(io.StringIO()):
                    job = parse(arguments, plans)
                return 0, await WAITING[arguments[0]](job, commons)
            except (CortexError, OSError) as error:
                return failure(error)
            except SystemExit as wrong:  # a command that is none, or asks for help: the job says it itself
                raise DeclinedError from wrong
            except Exception:
                return 1, traceback.format_exc()

        await attend_all(channel, attend)


if __name__ == "__main__":
    sys.exit(main())

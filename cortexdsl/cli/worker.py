"""`python -m cortexdsl.cli.worker`: the worker that a workflow starts for its jobs. Nobody calls it by hand."""

from __future__ import annotations

import importlib
import signal
import socket
import sys
from collections.abc import Iterator

from cortexdsl.cli.verbs import run
from cortexdsl.worker.zygote import Zygote

WARM = ("plan", "debate", "score", "join", "verdict", "report")
"""Verbs in the order in which a run comes to need them."""


def warming() -> Iterator[str]:
    """Import what jobs need, one verb at a step."""
    for verb in WARM:
        importlib.import_module(f"cortexdsl.cli.{verb}")
        yield verb


def main() -> int:
    """Serve jobs until the run ends; in each fork, run its job."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listener, lifeline = map(int, sys.argv[1:])
    job = Zygote(socket.socket(fileno=listener), lifeline).serve(warming())
    return 0 if job is None else run(job.arguments)


if __name__ == "__main__":
    sys.exit(main())

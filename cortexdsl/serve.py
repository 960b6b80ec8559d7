"""Model servers that specs declare: what the workflow's handlers call.

A server's address goes to jobs as an environment variable, which `api_base: env:NAME` reads; it is part of no
digest, so that a server on another port is the same server.
"""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from subprocess import Popen

from cortexdsl.models.servers import processes as servers
from cortexdsl.plan import Plan

Running = Popen[bytes]


def start_servers(plans: Sequence[Plan]) -> list[Running]:
    """Start every server that some plans declare, wait until each answers, and tell the environment its address.

    Raises
    ------
    ModelError
        A server that does not come up; those started before are stopped.
    """
    running: list[Running] = []
    try:
        for plan in plans:
            for name, entry in plan.servers.items():
                port = free_port()
                address = (entry.url or f"http://127.0.0.1:{port}/v1").rstrip("/")
                command = shlex.split(entry.command.replace("{port}", str(port)))
                log = Path(plan.layout.root) / "logs" / f"server-{name}.log"
                running.append(servers.start(command, address + entry.ready, timeout=entry.seconds, log=log))
                os.environ[entry.env] = address
    except BaseException:
        stop_servers(running)
        raise
    return running


def stop_servers(running: list[Running]) -> None:
    """Stop servers; may be called twice."""
    while running:
        servers.stop(running.pop())


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

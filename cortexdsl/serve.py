"""What the workflow's handlers call: model servers that specs declare, and what jobs are told of the run.

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

from cortexdsl.errors import InputError
from cortexdsl.models.servers import processes as servers
from cortexdsl.plan import Plan

Running = Popen[bytes]
AT_ONCE = "CORTEXDSL_JOBS_AT_ONCE"
"""The environment variable that tells a job how many of its kind may run at once."""


def tell_jobs_at_once(number: int | None) -> int:
    """Tell jobs how many run at once; a job of a cluster reads the rules again and knows only itself."""
    os.environ[AT_ONCE] = str(number or 1)
    return number or 1


def told_jobs_at_once() -> int:
    """Return how many jobs run at once, as this one was told; 1 where nobody told it."""
    said = os.environ.get(AT_ONCE, "")
    return int(said) if said.isdigit() and int(said) > 0 else 1


def unset_variables(plan: Plan) -> list[str]:
    """Return the variables that a plan's models need and that neither the environment nor a server sets."""
    models = [agent.model for cell in plan.cells for cast in cell.debate.cast.values() for agent in cast]
    models += [plan.judging.model] if plan.judging else []
    addresses = [(model.api_base or "").partition("env:") for model in models]
    needed = [name.strip() for before, mark, name in addresses if mark and not before]
    needed += [model.api_key_env for model in models if model.api_key_env]
    served = {server.env for server in plan.servers.values()}
    return sorted({name for name in needed if name not in served and not os.environ.get(name, "").strip()})


def refuse_unset(plans: Sequence[Plan]) -> None:
    """Refuse to start where a variable is missing: one message, not one a job.

    Raises
    ------
    InputError
    """
    for plan in plans:
        unset = unset_variables(plan)
        if unset:
            lines = "\n".join(f"    export {name}=..." for name in unset)
            them = "it" if len(unset) == 1 else "them"
            raise InputError(
                f"{plan.spec_path}: the environment lacks {', '.join(unset)}; set {them} and start again\n{lines}"
            )


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

"""What the workflow's handlers call: model servers that specs declare, and what jobs are told of the run.

A server's address goes to jobs as an environment variable, which `api_base: env:NAME` reads; it is part of no
digest, so that a server on another port is the same server.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import Popen

from cortexdsl.errors import InputError, ModelError
from cortexdsl.models.reach.providers import Unset, unset_variables_of
from cortexdsl.models.servers import processes as servers
from cortexdsl.models.servers.counters import engine_of
from cortexdsl.models.servers.watch import Asked, Start, Watch
from cortexdsl.plan import Plan
from cortexdsl.plan.cost.windows import models_of
from cortexdsl.plan.experiment import pool_sources
from cortexdsl.plan.jobs.waiting import HERE
from cortexdsl.plan.parts.money import may_cost
from cortexdsl.plan.parts.tools import tool_sources
from cortexdsl.spec.grammar.sections.limits import ServerText
from cortexdsl.spec.grammar.sections.speakers import LITELLMS_OWN, PLAIN_WIRES
from cortexdsl.terms import Model

ELSEWHERE_WITHIN = 10.0
"""Seconds that a server which runs elsewhere has to answer: it should be up."""
_HOPELESS = ("authentication", "bad_request", "not_found", "foreign")  # what every job would meet, too
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


def unset_keys(plan: Plan) -> list[tuple[Model, Unset]]:
    """Return the models whose key, or address, is expected in a variable of their provider's that is not set.

    Each variable once. If `is_needed` is false the provider also takes a key from a file or from the machine, so that a
    run is not refused.
    """
    found: dict[str, tuple[Model, Unset]] = {}
    for model in _models(plan):
        for unset in unset_variables_of(model, os.environ):
            if unset.variable != model.api_key_env:
                found.setdefault(unset.variable, (model, unset))
    return [found[variable] for variable in sorted(found)]


def unset_variables(plan: Plan) -> list[str]:
    """Return the variables that a plan needs and that neither the environment nor a server sets.

    They hold addresses and keys: of models that speak, judge or compare texts, and of sources that are searched. The
    key of a hosted provider is in the provider's own variable, if the entry names no other.
    """
    searched = {name for cell in plan.cells for name in (*pool_sources(cell), *tool_sources(cell.debate))}
    asked = [*_models(plan), *(plan.knowledge[name] for name in searched)]
    addresses = [(one.api_base or "").partition("env:") for one in asked]
    needed = [name.strip() for before, mark, name in addresses if mark and not before]
    needed += [one.api_key_env for one in asked if one.api_key_env]
    needed += [unset.variable for _, unset in unset_keys(plan) if unset.is_needed]
    served = {server.env for server in plan.servers.values() if server.command or server.url}
    return sorted({name for name in needed if name not in served and not os.environ.get(name, "").strip()})


def _models(plan: Plan) -> list[Model]:
    """Return the models that speak, judge or compare texts; some several times."""
    models = [model for cell in plan.cells for model in cell.debate.models]
    models += [plan.judging.model] if plan.judging else []
    compared = dict.fromkeys(cell.debate.similarity for cell in plan.cells)
    return models + [plan.models.get(name) or Model(name, name) for name in compared if not name.startswith(HERE)]


def what_runs(experiments: Sequence[str]) -> str:
    """Return what a run without the name of a spec says first."""
    named = ", ".join(experiments)
    return f"no spec is named, so all in specs/ run that are not finished: {named}; one alone: cortexdsl run NAME"


def refuse_paid(plans: Sequence[Plan]) -> None:
    """Refuse to run specs that nobody named if a model of one may cost money.

    A model may cost money if it has a price, or if it is a hosted one without an address of one's own.

    Raises
    ------
    InputError
    """
    paid = {plan.experiment: sorted({model.name for model in _models(plan) if may_cost(model)}) for plan in plans}
    lines = [f"    {name}: {', '.join(models)}" for name, models in paid.items() if models]
    if lines:
        first = lines[0].strip().partition(":")[0]
        raise InputError(
            "no spec is named, and models of some specs in specs/ may cost money\n"
            + "\n".join(lines)
            + f"\n    name the one to run: cortexdsl run {first}, or snakemake --cores 2 --config spec={first}"
        )


def refuse_unset(plans: Sequence[Plan]) -> None:
    """Refuse to start where a variable is missing: one message, not one a job.

    Raises
    ------
    InputError
    """
    for plan in plans:
        unset = unset_variables(plan)
        if unset:
            keys = {found.variable: f"  # for model {model.name} ({model.model})" for model, found in unset_keys(plan)}
            lines = "\n".join(f"    export {name}=...{keys.get(name, '')}" for name in unset)
            them = "it" if len(unset) == 1 else "them"
            raise InputError(
                f"{plan.spec_path}: the environment lacks {', '.join(unset)}; set {them} and start again\n{lines}"
            )


@dataclass(frozen=True, slots=True)
class Running:
    """A server that jobs may ask; `process` is None where it runs elsewhere."""

    process: Popen[bytes] | None
    watch: Watch


@dataclass(frozen=True, slots=True)
class _Declared:
    """A server as one or several experiments declare it."""

    name: str
    entry: ServerText
    plans: tuple[Plan, ...]

    def logs(self) -> Path:
        return Path(self.plans[0].layout.root) / "logs" / f"server-{self.name}.log"

    def models(self) -> list[Model]:
        """Return the models that are asked at its address, each as the server knows it."""
        mine = f"env:{self.entry.env}"
        return [model for plan in self.plans for model in models_of(plan) if (model.api_base or "").strip() == mine]


def start_servers(plans: Sequence[Plan]) -> list[Running]:
    """Start every server that some plans declare, wait until each answers, and tell the environment its address.

    One that several experiments declare alike is started once. One without a command runs elsewhere: it is waited for,
    too. Each model is then asked a few small questions (`cortexdsl.models.probe`): one that the server does not have
    ends the run here, and whether it keeps seeds is written down beside what the server counts.

    Raises
    ------
    ModelError
        A server that does not come up, or lacks a model; those started before are stopped.
    InputError
        Two servers that would put their addresses into one variable.
    """
    running: list[Running] = []
    try:
        for declared in _declared(plans):
            running.append(_start(declared))
    except BaseException:
        stop_servers(running)
        raise
    return running


def _declared(plans: Sequence[Plan]) -> Iterator[_Declared]:
    """Yield each server once, with all experiments that declare it."""
    found: dict[str, _Declared] = {}
    for plan in plans:
        for name, entry in plan.servers.items():
            other = found.get(entry.env)
            if other is not None and other.entry != entry:
                raise InputError(
                    f"{plan.spec_path}: servers.{name} and servers.{other.name} of {other.plans[0].spec_path} both put "
                    f"their address into {entry.env}\n    give one of them another variable, or run one spec at a time"
                )
            found[entry.env] = _Declared(name, entry, (*(other.plans if other else ()), plan))
    yield from found.values()


def _start(declared: _Declared) -> Running:
    entry, began = declared.entry, time.monotonic()
    process = None
    if entry.command is not None:
        port = free_port()
        address = (entry.url or f"http://127.0.0.1:{port}/v1").rstrip("/")
        command = shlex.split(entry.command.replace("{port}", str(port)))
        limit = entry.seconds or servers.READY_WITHIN
        process = servers.start(command, address + entry.ready, timeout=limit, log=declared.logs())
    else:
        address = (entry.url or os.environ[entry.env]).rstrip("/")
        servers.wait_for(address + entry.ready, entry.seconds or ELSEWHERE_WITHIN)
    os.environ[entry.env] = address
    try:
        ready = round(time.monotonic() - began, 1)
        start = Start(declared.name, engine_of(address), process is not None, ready, _asked(declared))
        stamp = f"{declared.name}~{time.time_ns() // 1_000_000}"
        return Running(process, Watch(start, address, [Path(plan.layout.server(stamp)) for plan in declared.plans]))
    except BaseException:
        if process is not None:
            servers.stop(process)
        raise


def _asked(declared: _Declared) -> tuple[Asked, ...]:
    """Ask each model a few small questions, straight: what a way through litellm adds, a server does not see."""
    from cortexdsl.models.probe import probe  # with what it imports, only where a server is declared

    models = [_straight(model) for model in declared.models()]
    found = asyncio.run(probe(models))
    for one in found:
        if one.kind in _HOPELESS:
            raise ModelError(
                f"server {declared.name}: model {one.entry} ({one.model}): {one.problem}\n    {one.remedy}"
            )
    return tuple(Asked(one.entry, one.model, one.seed) for one in found)


def _straight(model: Model) -> Model:
    if not model.model.startswith(PLAIN_WIRES):
        return model
    options = {name: value for name, value in model.options.items() if name not in LITELLMS_OWN}
    return replace(model, transport="direct", options=options)


def stop_servers(running: list[Running]) -> None:
    """Stop looking at servers, and those that were started; may be called twice."""
    while running:
        one = running.pop()
        one.watch.stop()
        if one.process is not None:
            servers.stop(one.process)


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

"""Functions that the workflow calls before the first job: checks of the environment, and model servers.

Jobs get a server's address from a file, by the name in `api_base: env:NAME`. The address is part of no digest, so that
a server on another port is the same server.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import Popen

from cortexdsl.core import KnowledgeSource, Model
from cortexdsl.engine.methods import pool_sources
from cortexdsl.errors import InputError, ModelError
from cortexdsl.language.grammar.experiment import ServerText
from cortexdsl.language.grammar.speakers import LITELLMS_OWN
from cortexdsl.models.endpoints.providers import Unset, redirected, unset_variables_of
from cortexdsl.models.rounds.engines import program_of
from cortexdsl.models.servers import processes as servers
from cortexdsl.models.servers.addresses import write_addresses
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.transports.addresses import is_address
from cortexdsl.models.transports.registry import transport_type
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.warnings import models_of
from cortexdsl.plan.jobs.schedule import LOCAL_SIMILARITIES
from cortexdsl.plan.models import may_cost, tool_sources
from cortexdsl.plan.persistence.controls import in_words

READY = "/models"
"""The path below the address of a server that says whether it is ready."""
ELSEWHERE_WITHIN = 10.0
"""Seconds that a server has to answer which this run did not start."""
_HOPELESS = ("authentication", "bad_request", "not_found", "foreign")  # errors that every job would have, too


def lines_in_force(plans: Sequence[Plan]) -> list[str]:
    """Return in words what is in force besides the specs."""
    return [f"{plan.experiment}: {line}" for plan in plans for line in in_words(plan)]


def unset_keys(plan: Plan) -> list[tuple[Model, Unset]]:
    """Return the models whose key or address is expected in an unset variable of their provider.

    Each variable once. If `is_needed` is false, the provider also takes a key from a file or from the machine, and the
    run is not refused.
    """
    unset_by_variable: dict[str, tuple[Model, Unset]] = {}
    for model in _models(plan):
        for unset in unset_variables_of(model, os.environ):
            if unset.variable != model.api_key_env:
                unset_by_variable.setdefault(unset.variable, (model, unset))
    return [unset_by_variable[variable] for variable in sorted(unset_by_variable)]


def unset_variables(plan: Plan) -> list[str]:
    """Return the variables that a plan needs and that are set neither in the environment nor by a server.

    They contain addresses and keys of models (that speak, judge or compare texts) and of searched sources. The key of a
    hosted provider is in the provider's own variable, if the entry names no other.
    """
    searched = {name for cell in plan.cells for name in (*pool_sources(cell.debate), *tool_sources(cell.debate))}
    sources = [plan.knowledge[name] for name in searched]
    served = {server.env for server in plan.servers.values() if server.command}
    everywhere = [each for model in _models(plan) for each in model.at_each_address]
    needed = [name for name in map(_address_variable, everywhere) if name and name not in served]
    needed += filter(None, map(_address_variable, sources))
    entries: list[Model | KnowledgeSource] = [*_models(plan), *sources]
    needed += [one.api_key_env for one in entries if one.api_key_env]
    needed += [unset.variable for _, unset in unset_keys(plan) if unset.is_needed]
    return sorted({name for name in needed if not os.environ.get(name, "").strip()})


def _address_variable(entry: Model | KnowledgeSource) -> str:
    """Return the NAME of `api_base: env:NAME`; empty if the address is written in the spec, or there is none."""
    before, mark, name = (entry.api_base or "").partition("env:")
    return name.strip() if mark and not before else ""


def _models(plan: Plan) -> list[Model]:
    """Return the models that speak, judge or compare texts, with repetitions."""
    compared = dict.fromkeys(cell.debate.similarity for cell in plan.cells)
    remote = [name for name in compared if not name.startswith(LOCAL_SIMILARITIES)]
    return plan.called_models + [plan.models.get(name) or redirected(Model(name, name), os.environ) for name in remote]


def what_runs(experiments: Sequence[str]) -> str:
    """Return the first message of a run without the name of a spec."""
    named = ", ".join(experiments)
    return f"no spec is named, so all in specs/ run that are not finished: {named}; one alone: cortexdsl run NAME"


def refuse_paid(plans: Sequence[Plan]) -> None:
    """Refuse to run specs that were not named if a model of one may cost money.

    A model may cost money if it has a price, or if it is hosted and has no address in the spec.

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
    """Refuse to start if a variable is missing, with one message for all jobs.

    Raises
    ------
    InputError
    """
    for plan in plans:
        unset = unset_variables(plan)
        if unset:
            keys = {key.variable: f"  # for model {model.name} ({model.model})" for model, key in unset_keys(plan)}
            lines = "\n".join(f"    export {name}=...{keys.get(name, '')}" for name in unset)
            them = "it" if len(unset) == 1 else "them"
            raise InputError(
                f"{plan.spec_path}: the environment lacks {', '.join(unset)}; set {them} and start again\n{lines}"
            )


def refuse_missing_engines(plans: Sequence[Plan]) -> None:
    """Refuse to start if the program of an engine is not on this machine, which runs the jobs.

    Raises
    ------
    InputError
    """
    for plan in plans:
        for name, engine in plan.engines.items():
            program_of(name, engine)


@dataclass(frozen=True, slots=True)
class Running:
    """A server that is up.

    Attributes
    ----------
    process : Popen or None
        None if this run did not start it.
    name, address : str
        What models call it (`api_base: env:NAME`), and where it is.
    files : tuple of Path
        The files from which jobs read its address.
    """

    process: Popen[bytes] | None
    name: str
    address: str
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class _Declared:
    """A server that one or several experiments declare."""

    name: str
    entry: ServerText
    plans: tuple[Plan, ...]

    def logs(self) -> Path:
        return Path(self.plans[0].layout.root) / "logs" / f"server-{self.name}.log"

    def models(self) -> list[Model]:
        """Return the models at its address."""
        mine = f"env:{self.entry.env}"
        return [model for plan in self.plans for model in models_of(plan) if mine in (model.api_base, *model.copies)]


def start_servers(plans: Sequence[Plan]) -> list[Running]:
    """Start the declared servers, wait until each answers, and write down their addresses for the jobs.

    A server that several experiments declare alike is started once. One without a command is only waited for. Each
    model is then sent a few small calls (`cortexdsl.models.probe`): a model that the server does not have ends the run
    here.

    Raises
    ------
    ModelError
        A server that does not come up, or lacks a model; those started before are stopped.
    InputError
        Two servers that models would call by one name.
    """
    running: list[Running] = []
    try:
        for declared in _declared(plans):
            running.append(_start(declared))
        _write_addresses(running)
    except BaseException:
        stop_servers(running)
        raise
    return running


def _write_addresses(running: Sequence[Running]) -> None:
    for file in dict.fromkeys(file for one in running for file in one.files):
        write_addresses(file, {one.name: one.address for one in running if file in one.files})


def _declared(plans: Sequence[Plan]) -> Iterator[_Declared]:
    """Yield each server once, with all experiments that declare it."""
    declared: dict[str, _Declared] = {}
    for plan in plans:
        for name, entry in plan.servers.items():
            other = declared.get(entry.env)
            if other is not None and other.entry != entry:
                raise InputError(
                    f"{plan.spec_path}: servers.{name} and servers.{other.name} of {other.plans[0].spec_path} are both "
                    f"called {entry.env}\n    give one of them another name, or run one spec at a time"
                )
            declared[entry.env] = _Declared(name, entry, (*(other.plans if other else ()), plan))
    yield from declared.values()


def _start(declared: _Declared) -> Running:
    entry, process = declared.entry, None
    if entry.command is not None:
        port = free_port()
        address = f"http://127.0.0.1:{port}/v1"
        command = shlex.split(entry.command.replace("{port}", str(port)))
        process = servers.start(command, address + READY, log=declared.logs())
    else:
        address = os.environ.get(entry.env, "").strip().rstrip("/")
        if not is_address(address):
            raise InputError(
                f"servers.{declared.name}: the environment variable {entry.env} does not hold the address of a server\n"
                f"    write it whole, for example: export {entry.env}=http://127.0.0.1:8000/v1"
            )
        servers.wait_for(address + READY, ELSEWHERE_WITHIN)
    try:
        _probe_models(declared, address)
        files = tuple(Path(plan.layout.addresses) for plan in declared.plans)
        return Running(process, entry.env, address, files)
    except BaseException:
        if process is not None:
            servers.stop(process)
        raise


def _probe_models(declared: _Declared, address: str) -> None:
    """Send each model a few small calls, directly to the server: litellm would add parameters of its own."""
    from cortexdsl.models.probe import probe  # late: only a run with servers needs it

    models = [_straight(model) for model in declared.models()]
    shared = SharedState()
    shared.secrets.add_served({declared.entry.env: address})
    for one in asyncio.run(probe(models, shared)):
        if one.kind in _HOPELESS:
            raise ModelError(
                f"server {declared.name}: model {one.entry} ({one.model}): {one.problem}\n    {one.remedy}"
            )


def _straight(model: Model) -> Model:
    name = model.model.partition("/")[2]
    if not transport_type("direct/").serves(model.model) or name.startswith("anthropic/"):
        return model
    options = {key: value for key, value in model.options.items() if key not in LITELLMS_OWN}
    return replace(model, model=f"direct/{name}", options=options)


def stop_servers(running: list[Running]) -> None:
    """Stop the servers that were started, and withdraw all addresses; may be called twice."""
    while running:
        one = running.pop()
        for file in one.files:
            file.unlink(missing_ok=True)
        if one.process is not None:
            servers.stop(one.process)


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

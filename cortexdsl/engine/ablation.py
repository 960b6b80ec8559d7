"""Counterfactual debates: what leaving agents, edges, rounds or steps out does, and what cannot be left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from cortexdsl.core import (
    SIMILARITY_FROM_REPLIES,
    Ablation,
    Graph,
    Method,
    OfRole,
    Sparse,
    Step,
)
from cortexdsl.engine.methods import debating_agents, opens_round, placed_expressions, principal_roles, scheduled_steps
from cortexdsl.engine.topology import PlannedTurn
from cortexdsl.expressions.evaluation import parse, split_key
from cortexdsl.expressions.names import OF_STEPS, STATED


def without_agents(method: Method, ablation: Ablation) -> Method:
    """Return a method without the agents that are left out."""
    if not ablation.agents:
        return method
    gone = set(ablation.agents)
    role_agents = {
        role: tuple(agent for agent in agents if agent.name not in gone) for role, agents in method.role_agents.items()
    }
    return replace(method, role_agents=MappingProxyType(role_agents))


def without_edges(
    graph: Graph, step: Step, ablation: Ablation, groups: Sequence[Sequence[str]], silent: Collection[str] = ()
) -> Graph:
    """Return a graph of all agents without what is left out, without empty groups, and with no silent listeners."""
    gone = set(ablation.agents)
    listeners = list(graph.listeners)
    if step.each == "group":
        remaining = [k for k, group in enumerate(groups) if not gone.issuperset(group)]
    else:
        deaf = gone if step.each == "listener" else gone.union(silent)
        remaining = [k for k, name in enumerate(listeners) if name not in deaf]
    speakers = [k for k, name in enumerate(graph.speakers) if name not in gone]
    cut = np.ix_(speakers, remaining)
    heard = graph.heard[cut].copy()
    names = tuple(graph.speakers[k] for k in speakers), tuple(listeners[k] for k in remaining)
    if step.each not in ("listener", "group"):
        for speaker, listener in ablation.edges:
            if speaker in names[0] and listener in names[1]:
                heard[names[0].index(speaker), names[1].index(listener)] = False
    weight = None if graph.weight is None else graph.weight[cut]
    return replace(graph, speakers=names[0], listeners=names[1], weight=weight, heard=heard)


def without_heard(planned: PlannedTurn, step: Step, ablation: Ablation) -> PlannedTurn:
    """Return a call in which the speaker does not hear along the edges that are left out.

    If a step speaks for each listener or group, the graph has these as listeners, and the speaker of the call hears.
    """
    if step.each not in ("listener", "group") or not ablation.edges:
        return planned
    unheard = {speaker for speaker, listener in ablation.edges if listener == planned.speaker.name}
    return replace(planned, hears=tuple(name for name in planned.hears if name not in unheard))


Reason: TypeAlias = tuple[str, str]
"""Why something is needed, and what the user can do."""


def why_needed(method: Method, ablation: Ablation) -> Reason | None:
    """Return why something cannot be left out of a debate; None if it can.

    Parameters
    ----------
    method : Method
    ablation : Ablation
        Agents and steps of the method.
    """
    return next(_reasons(method, ablation), None)


def _reasons(method: Method, ablation: Ablation) -> Iterator[Reason]:
    remaining = without_agents(method, ablation)
    if not debating_agents(remaining):
        yield f"nobody is left to debate as {' or '.join(principal_roles(method))}", "leave out fewer agents"
        return
    steps = [method.steps[name] for name in dict.fromkeys(scheduled_steps(method.schedule))]
    roles = {role for role, agents in remaining.role_agents.items() if agents} | {""}
    spoken = [step for step in steps if step.name not in ablation.steps and {step.role, step.of} <= roles]
    silent = ", ".join(step.name for step in steps if step not in spoken)

    def is_lost(kind: str, role: str | None = None, names: Collection[str] = ()) -> bool:
        reading = [step for step in spoken if kind in (step.reads, *step.beside) and role in (None, step.role)]
        return not any(not names or step.name in names for step in reading)

    opening = next(step for step in steps if opens_round(method, step))
    if opening not in spoken:
        yield f"step {opening.name} opens the debate, and all that follows is about its answers", "leave out another"
    if method.decide.role is not None and method.decide.otherwise == "none" and is_lost("answer", method.decide.role):
        yield f"the answer of the debate is that of {method.decide.role} in step {silent}", "leave out another"
    if method.decide.rule in ("borda", "runoff") and is_lost("ranking"):
        yield f"the answer of the debate is computed from step {silent}", "leave out another"
    judges = {agent.name for agent in method.role_agents.get(method.decide.role or "", ())}
    if method.decide.otherwise == "none" and (
        deciding := sorted(judges & {turn.rpartition("@")[0] for turn in ablation.turns})
    ):
        yield f"the answer of the debate is that of {deciding[0]}", "leave out turns of others"
    for place, expression, part in placed_expressions(method):
        if (part in spoken or not isinstance(part, Step)) and _lost_in(expression, is_lost):
            user = f"what step {part.name} hears" if isinstance(part, Step) else _USERS[place]
            yield f"{user} is computed from step {silent}", "leave out another"
    for step in spoken:
        similar = isinstance(step.hears, Sparse) and parse(step.hears.weight).names & {"similarity", "intimacy"}
        if similar and method.similarity == SIMILARITY_FROM_REPLIES and is_lost("similarity"):
            yield f"what step {step.name} hears is computed from step {silent}", "leave out another"
        if step.split is not None and step.split.step in silent.split(", "):
            yield f"step {step.name} gets the items of step {silent}", "leave out both"
        heard = {agent.name for role in _heard_roles(step) for agent in method.role_agents[role]}
        speaking = {agent.name for other in spoken for agent in method.role_agents[other.role]}
        if isinstance(step.hears, OfRole) and not heard & speaking:
            alone = Ablation(steps=(*silent.split(", "), step.name))
            yield f"step {step.name} hears nobody but step {silent}", f"leave out both: {alone}"


def _heard_roles(step: Step) -> tuple[str, ...]:
    return step.hears.roles if isinstance(step.hears, OfRole) else ()


def _lost_in(expression: str, is_lost: Callable[..., bool]) -> bool:
    """Return whether an expression has a name whose values no step gives any more."""
    for name, steps in map(split_key, parse(expression).keys):
        if (name in OF_STEPS and is_lost(OF_STEPS[name], names=steps)) or (name == STATED and is_lost(*steps)):
            return True
    return False


_USERS = {"choice": "a choice of the schedule", "condition": "the end of a loop", "vote": "the vote"}
"""By place of an expression outside of steps: the name of the result in messages."""

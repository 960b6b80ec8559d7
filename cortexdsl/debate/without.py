"""What leaving something out does to a method, and what cannot be left out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from cortexdsl.debate.talk.views import Address
from cortexdsl.terms import Graph, Method, Step, Without


def present(method: Method, without: Without) -> Method:
    """Return a method with those alone who are left."""
    if not without.agents:
        return method
    gone = set(without.agents)
    cast = {role: tuple(agent for agent in agents if agent.name not in gone) for role, agents in method.cast.items()}
    return replace(method, cast=MappingProxyType(cast))


def without_edges(graph: Graph, step: Step, without: Without, groups: Sequence[Sequence[str]]) -> Graph:
    """Return a graph that was laid out for everybody without the agents and edges that are left out.

    A group of which nobody is left is no listener any more.
    """
    gone = set(without.agents)
    listeners = list(graph.listeners)
    if step.each == "group":
        here = [k for k, group in enumerate(groups) if not gone.issuperset(group)]
    else:
        here = [k for k, name in enumerate(listeners) if name not in gone]
    speakers = [k for k, name in enumerate(graph.speakers) if name not in gone]
    cut = np.ix_(speakers, here)
    heard = graph.heard[cut].copy()
    names = tuple(graph.speakers[k] for k in speakers), tuple(listeners[k] for k in here)
    if step.each not in ("listener", "group"):
        for speaker, listener in without.edges:
            if speaker in names[0] and listener in names[1]:
                heard[names[0].index(speaker), names[1].index(listener)] = False
    weight = None if graph.weight is None else graph.weight[cut]
    return replace(graph, speakers=names[0], listeners=names[1], weight=weight, heard=heard)


def deaf(address: Address, step: Step, without: Without) -> Address:
    """Return a call in which the speaker does not hear along an edge that is left out.

    Where a step speaks for listeners or groups, those hear in the graph, and the speaker in the call.
    """
    if step.each not in ("listener", "group") or not without.edges:
        return address
    cut = {speaker for speaker, listener in without.edges if listener == address.speaker.name}
    return replace(address, hears=tuple(name for name in address.hears if name not in cut))

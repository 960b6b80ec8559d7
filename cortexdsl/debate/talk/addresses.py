"""From a step to its calls: the graph of who hears whom, and one address for each call."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from cortexdsl.debate.roles import debating_roles, players
from cortexdsl.debate.talk.topology import group_members, heard_matrix
from cortexdsl.debate.talk.transcript import Transcript
from cortexdsl.debate.talk.views import Address
from cortexdsl.debate.weights.scene import Scene
from cortexdsl.debate.weights.sparsify import sparse_graph
from cortexdsl.errors import DebateError
from cortexdsl.terms import Agent, Bools, Everyone, Graph, Groups, Method, Nobody, OfRole, Sparse, Step


async def step_graph(scene: Scene, step: Step) -> Graph:
    """Lay out who hears whom in a step.

    Speakers are the agents of the role that is heard (those who debate, unless `hears` names another). Listeners are
    the step's own agents; where it speaks for each listener, those who debate; where it speaks for each group, the
    groups.

    Raises
    ------
    DebateError
        The topology does not fit the agents, or a weight is not a number.
    """
    if isinstance(step.hears, Sparse):
        check_layout(scene.method, step, scene.agents, scene.groups)
        return await _sparse(scene, step, step.hears, speaking(scene.method, step))
    speakers, listeners, heard = layout(scene.method, step, scene.agents, scene.groups, scene.chance)
    return Graph(scene.transcript.round, step.name, speakers, listeners, None, heard, {})


async def _sparse(scene: Scene, step: Step, topology: Sparse, listeners: tuple[str, ...]) -> Graph:
    """Weigh the edges of a layout, or of those for which a condition holds."""
    if isinstance(topology.within, Sparse):
        within = (await _sparse(scene, step, topology.within, scene.names)).heard
    else:
        within = heard_matrix(topology.within, scene.names, scene.names, scene.groups, scene.chance)
    return await sparse_graph(scene, step, topology, listeners, within)


def speaking(method: Method, step: Step) -> tuple[str, ...]:
    """Return who speaks in a step: its role as the cast stands, without those who have left the debate."""
    return players(method, step.role)


def draw_groups(method: Method, names: Sequence[str], chance: random.Random) -> tuple[tuple[str, ...], ...]:
    """Draw the groups of a debate, once: every step that talks in groups talks in the same.

    Raises
    ------
    DebateError
        Steps talk in different groups, or the sizes do not fit the agents.
    """
    hears = [step.hears.within if isinstance(step.hears, Sparse) else step.hears for step in method.steps.values()]
    layouts = {each for each in hears if isinstance(each, Groups)}
    if len(layouts) > 1:
        raise DebateError(f"protocol {method.protocol!r} talks in different groups; all its steps share one layout")
    return group_members(layouts.pop(), names, chance) if layouts else ()


def check_layout(method: Method, step: Step, principal: tuple[Agent, ...], groups: Sequence[Sequence[str]]) -> None:
    """Raise what laying out a step's graph would, before anything is said.

    Raises
    ------
    DebateError
        The topology does not fit the step's role or its agents.
    """
    if isinstance(step.hears, Sparse):
        if not _debates(method, step, principal) or step.each in ("listener", "group"):
            raise DebateError(
                f"step {step.name!r} of role {step.role!r}: only those whose answers are weighed can hear by weight, "
                "each for itself"
            )
        return
    layout(method, step, principal, groups, lambda: random.Random(0))


def layout(
    method: Method,
    step: Step,
    principal: tuple[Agent, ...],
    groups: Sequence[Sequence[str]],
    chance: Callable[[], random.Random],
) -> tuple[tuple[str, ...], tuple[str, ...], Bools]:
    """Return speakers, listeners and (S, L) edges of a step whose graph depends on nothing that was said.

    Raises
    ------
    DebateError
        As `check_layout`.
    """
    names = tuple(agent.name for agent in principal)
    if isinstance(step.hears, Everyone) and not _debates(method, step, principal):
        raise DebateError(
            f"step {step.name!r} of role {step.role!r} cannot hear everyone: that is said among those who debate; "
            "name the roles that it hears, as in hears: {role: debater}"
        )
    speakers = names
    if isinstance(step.hears, OfRole):
        cast = [agent.name for role in step.hears.roles for agent in method.cast[role]]
        speakers = tuple(dict.fromkeys(cast))  # an agent may play two of the roles
    if step.each == "group":
        if not groups:
            raise DebateError(f"step {step.name!r} speaks for each group, and no step hears: {{groups: ...}}")
        listeners = tuple(f"group {k}" for k in range(1, len(groups) + 1))
        return speakers, listeners, np.array([[name in group for group in groups] for name in speakers], dtype=bool)
    own = speaking(method, step)
    if step.each != "listener" and not isinstance(step.hears, OfRole) and set(own) < set(names):
        # Some of those who debate: they hear as if all spoke, on a ring as in groups.
        heard = heard_matrix(step.hears, speakers, names, groups, chance)
        return speakers, own, heard[:, [names.index(name) for name in own]]
    listeners = names if step.each == "listener" else own
    return speakers, listeners, heard_matrix(step.hears, speakers, listeners, groups, chance)


def _debates(method: Method, step: Step, principal: tuple[Agent, ...]) -> bool:
    return step.role in debating_roles(method) or method.cast[step.role] == principal


def as_shown(graph: Graph, step: Step, transcript: Transcript, execution: int) -> Graph:
    """Return a graph as it came about: an edge is heard where the listener's prompt held words of the speaker.

    An edge of the layout along which nothing came is none: the speaker had said nothing yet, or its reply was empty,
    or the prompt left it out.
    """
    rows = {name: k for k, name in enumerate(graph.speakers)}
    columns = {name: k for k, name in enumerate(graph.listeners)}
    heard = np.zeros_like(graph.heard)
    for turn in transcript.spoken(execution):
        column = columns[(turn.about or "") if step.each in ("listener", "group") else turn.speaker]
        heard[[rows[transcript.turns[number].speaker] for number in turn.heard], column] = True
    return replace(graph, heard=heard)


def addresses(step: Step, agents: Sequence[Agent], graph: Graph, of: Collection[str] | None = None) -> list[Address]:
    """List the calls of a step, in the agents' order, `draws` not counted.

    One call a speaker; with `each`, one for each edge heard, for each pair of those heard, for each match of two
    neighbours among them, for each listener, or for each group. `of`: with a call for each edge, the speakers whom
    these are about, the others being heard in each; None: all.
    """
    met = set(graph.speakers if of is None else of)

    kept: list[list[int]] = [[] for _ in graph.listeners]
    for column, row in zip(*(places.tolist() for places in np.nonzero(graph.heard.T)), strict=True):
        kept[column].append(row)

    def heard_by(column: int) -> tuple[str, ...]:
        return tuple([graph.speakers[row] for row in kept[column]])

    def trust_of(column: int) -> dict[str, float] | None:
        if graph.weight is None:
            return None
        weights = graph.weight[kept[column], column].tolist()
        return dict(zip(heard_by(column), weights, strict=True))

    if step.each in ("listener", "group"):
        return [
            Address(agent, heard_by(column), listener, trust_of(column))
            for agent in agents
            for column, listener in enumerate(graph.listeners)
        ]
    if step.each == "match":
        return [
            Address(agent, pair, " and ".join(pair), trust_of(column))
            for column, agent in enumerate(agents)
            for pair in matches(heard_by(column))
        ]
    if step.each == "pair":
        return [
            Address(agent, pair, " and ".join(pair), trust_of(column))
            for column, agent in enumerate(agents)
            for pair in combinations(heard_by(column), 2)
        ]
    if step.each == "edge":
        return [
            Address(agent, tuple(each for each in heard if each == name or each not in met), name, trust_of(column))
            for column, agent in enumerate(agents)
            for heard in [heard_by(column)]
            for name in heard
            if name in met
        ]
    return [Address(agent, heard_by(column), None, trust_of(column)) for column, agent in enumerate(agents)]


def matches(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the first with the second, the third with the fourth and so on; who is left over has no match."""
    return list(zip(names[::2], names[1::2], strict=False))


def is_worth_recording(step: Step) -> bool:
    """Say whether a step has a graph at all: where nobody is heard there is none."""
    return not isinstance(step.hears, Nobody)

"""Build the graphs that do not depend on replies, and derive the turns of a step from a graph."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from cortexdsl.core import (
    Agent,
    Bools,
    Edges,
    Everyone,
    Graph,
    Groups,
    Method,
    NetworkX,
    Nobody,
    OfRole,
    RandomEdges,
    Ring,
    Self,
    Sparse,
    Step,
    Topology,
)
from cortexdsl.engine.methods import is_debating, players
from cortexdsl.engine.state import DebateState
from cortexdsl.errors import DebateError


def heard_matrix(
    topology: Topology,
    speakers: Sequence[str],
    listeners: Sequence[str],
    groups: Sequence[Sequence[str]],
    chance: Callable[[], random.Random],
) -> Bools:
    """Return the edges of a topology.

    Parameters
    ----------
    topology : Topology
        Any but `Sparse`, whose edges depend on the debate.
    speakers, listeners : sequence of str
        Names, (S,) and (L,); the same sequence for a debate within one role.
    groups : sequence of sequence of str
        The groups of this debate, for `Groups`.
    chance : callable
        Returns the generator of this step's draws, for `RandomEdges` and seeded networkx generators.

    Returns
    -------
    (S, L) bool array
        No agent hears itself, except under `Self`.

    Raises
    ------
    DebateError
        A ring or a networkx graph between different roles, or one that does not fit the agents.
    """
    count = len(speakers)
    if topology.is_square and tuple(speakers) != tuple(listeners):
        raise DebateError(
            f"{', '.join(listeners)} cannot hear {', '.join(speakers)} by {topology.key}: "
            "such a graph lies within one role"
        )
    rows = {name: k for k, name in enumerate(speakers)}
    itself: Bools = np.zeros((count, len(listeners)), dtype=bool)
    for column, name in enumerate(listeners):
        if name in rows:
            itself[rows[name], column] = True
    match topology:
        case Nobody():
            return np.zeros_like(itself)
        case Self():
            return itself
        case Everyone() | OfRole():
            return ~itself
        case Ring(reach=reach):
            position = np.arange(count)
            apart = np.abs(position[:, None] - position[None, :])
            near: Bools = np.minimum(apart, count - apart) <= reach
            return near & ~itself
        case Groups():
            number = {name: k for k, group in enumerate(groups) for name in group}
            of_speakers, of_listeners = (
                np.array([number.get(name, -1) for name in names]) for names in (speakers, listeners)
            )
            same: Bools = of_speakers[:, None] == of_listeners[None, :]
            return same & ~itself
        case Edges(pairs=pairs):
            edges = set(pairs)
            return np.array([[(u, v) in edges for v in listeners] for u in speakers], dtype=bool) & ~itself
        case RandomEdges(p=p):
            generator = chance()
            return np.array([[generator.random() < p for _ in listeners] for _ in speakers], dtype=bool) & ~itself
        case NetworkX():
            return _networkx_matrix(topology, count, chance) & ~itself
        case _:
            raise AssertionError(f"{topology} has no fixed edges")


def _networkx_matrix(topology: NetworkX, count: int, chance: Callable[[], random.Random]) -> Bools:
    import networkx

    generator = getattr(networkx, topology.generator, None)
    if not callable(generator):
        raise DebateError(f"networkx has no generator {topology.generator!r}")
    arguments = dict(topology.arguments)
    parameters = inspect.signature(generator).parameters
    if "n" in parameters:
        arguments.setdefault("n", count)
    if "seed" in parameters:
        arguments.setdefault("seed", chance().randrange(2**31))
    try:
        graph = generator(**arguments)
    except (networkx.NetworkXException, TypeError, ValueError) as error:
        raise DebateError(f"networkx.{topology.generator}({arguments}) gives no graph: {error}") from error
    if graph.number_of_nodes() != count:
        raise DebateError(
            f"networkx.{topology.generator}({arguments}) has {graph.number_of_nodes()} nodes for {count} agents; "
            "choose arguments with one node per agent"
        )
    matrix: Bools = networkx.to_numpy_array(graph) != 0
    return matrix


def group_members(topology: Groups, agents: Sequence[str], chance: random.Random) -> tuple[tuple[str, ...], ...]:
    """Shuffle agents into groups (GroupDebate, section 3), each group in the agents' own order.

    With a count, sizes differ by at most one, larger groups first.

    Raises
    ------
    DebateError
        The sizes do not add up to the agents, or a group would be empty.
    """
    sizes = topology.sizes or tuple(
        len(agents) // topology.count + (k < len(agents) % topology.count) for k in range(topology.count)
    )
    if sum(sizes) != len(agents) or min(sizes) < 1:
        raise DebateError(f"groups of {', '.join(map(str, sizes))} do not hold {len(agents)} agents")
    shuffled = list(agents)
    chance.shuffle(shuffled)
    order = {name: k for k, name in enumerate(agents)}
    starts = np.cumsum((0, *sizes))
    return tuple(tuple(sorted(shuffled[a:b], key=order.__getitem__)) for a, b in pairwise(starts))


def group_layout(method: Method) -> Groups | None:
    """Return the groups that the steps of a method hear; None if there are none.

    Raises
    ------
    DebateError
        Steps use different groups.
    """
    hears = [step.hears.within if isinstance(step.hears, Sparse) else step.hears for step in method.steps.values()]
    layouts = {topology for topology in hears if isinstance(topology, Groups)}
    if len(layouts) > 1:
        raise DebateError(f"steps of protocol {method.protocol!r} hear different groups; all steps share one layout")
    return layouts.pop() if layouts else None


def draw_groups(method: Method, names: Sequence[str], chance: random.Random) -> tuple[tuple[str, ...], ...]:
    """Draw the groups of a debate, once for all steps that use groups.

    Raises
    ------
    DebateError
        Steps use different groups, or the sizes do not fit the agents.
    """
    layout = group_layout(method)
    return () if layout is None else group_members(layout, names, chance)


def check_layout(method: Method, step: Step, debaters: tuple[Agent, ...], groups: Sequence[Sequence[str]]) -> None:
    """Raise the error that a step's graph would raise, before the debate begins.

    Raises
    ------
    DebateError
        The topology does not fit the step's role or its agents.
    """
    if isinstance(step.hears, Sparse):
        if not _debates(method, step, debaters) or step.each in ("listener", "group"):
            raise DebateError(
                f"step {step.name!r} of role {step.role!r}: only debaters can hear by weight, each for itself"
            )
        return
    fixed_edges(method, step, debaters, groups, lambda: random.Random(0))


def fixed_edges(
    method: Method,
    step: Step,
    debaters: tuple[Agent, ...],
    groups: Sequence[Sequence[str]],
    chance: Callable[[], random.Random],
) -> tuple[tuple[str, ...], tuple[str, ...], Bools]:
    """Return speakers, listeners and (S, L) edges of a step whose graph does not depend on replies.

    Speakers are the agents of the roles that are heard (the debaters, unless `hears` names roles). Listeners are the
    step's own agents; the debaters if it speaks for each listener; the groups if it speaks for each group.

    Raises
    ------
    DebateError
        As `check_layout`.
    """
    names = tuple(agent.name for agent in debaters)
    if isinstance(step.hears, Everyone) and not _debates(method, step, debaters):
        raise DebateError(
            f"step {step.name!r} of role {step.role!r} cannot hear everyone: only debaters can; "
            "name the roles that it hears, as in hears: debater"
        )
    speakers = names
    if isinstance(step.hears, OfRole):
        role_agents = [agent.name for role in step.hears.roles for agent in method.role_agents[role]]
        speakers = tuple(dict.fromkeys(role_agents))  # an agent may play two of the roles
    if step.each == "group":
        if not groups:
            raise DebateError(f"step {step.name!r} speaks for each group, and no step hears: {{groups: ...}}")
        listeners = tuple(f"group {k}" for k in range(1, len(groups) + 1))
        return speakers, listeners, np.array([[name in group for group in groups] for name in speakers], dtype=bool)
    own = players(method, step.role)
    is_reordered = step.hears.is_square and own != names and set(own) == set(names)
    if step.each != "listener" and not isinstance(step.hears, OfRole) and (set(own) < set(names) or is_reordered):
        # If only some debaters speak, they hear as if all did, on a ring as well as in groups.
        heard = heard_matrix(step.hears, speakers, names, groups, chance)
        return speakers, own, heard[:, [names.index(name) for name in own]]
    listeners = names if step.each == "listener" else own
    return speakers, listeners, heard_matrix(step.hears, speakers, listeners, groups, chance)


def _debates(method: Method, step: Step, debaters: tuple[Agent, ...]) -> bool:
    return is_debating(method, step.role) or method.role_agents[step.role] == debaters


@dataclass(frozen=True, slots=True)
class PlannedTurn:
    """One call of a step: who speaks, whom it hears, and whom it is about.

    Attributes
    ----------
    speaker : Agent
    hears : tuple of str
        Names, in the agents' order.
    about : str or None
        The agent (or `group 2`) that the turn is for.
    weights : mapping of name to float
        Weights of the agents that it hears, if the topology has any.
    item : str
        What a call for an item gets.
    """

    speaker: Agent
    hears: tuple[str, ...]
    about: str | None = None
    weights: Mapping[str, float] | None = None
    item: str = ""


def planned_turns(
    step: Step,
    agents: Sequence[Agent],
    graph: Graph,
    subjects: Collection[str] | None = None,
    items: Sequence[str] = (),
) -> list[PlannedTurn]:
    """Return the calls of a step, in the agents' order, each once whatever its `samples`.

    There is one call for each speaker; or, by `each`, one for each edge, for each pair of agents that are heard, for
    each match of two neighbours among them, for each listener, or for each group. With a call for each edge, only the
    edges from `subjects` get one (None: all), and the other agents that are heard are heard in each call. `items` are
    dealt to the agents in their order, in a circle.
    """
    subjects = set(graph.speakers if subjects is None else subjects)
    rows: list[list[int]] = [[] for _ in graph.listeners]
    for column, row in zip(*(places.tolist() for places in np.nonzero(graph.heard.T)), strict=True):
        rows[column].append(row)
    heard = [tuple([graph.speakers[row] for row in kept]) for kept in rows]

    def weights(column: int) -> dict[str, float] | None:
        if graph.weight is None:
            return None
        return dict(zip(heard[column], graph.weight[rows[column], column].tolist(), strict=True))

    if step.each in ("listener", "group"):
        return [
            PlannedTurn(agent, heard[column], listener, weights(column))
            for agent in agents
            for column, listener in enumerate(graph.listeners)
        ]
    if step.each == "item":
        columns = [number % len(agents) for number in range(len(items))]
        return [
            PlannedTurn(agents[column], heard[column], f"item {number}", weights(column), item)
            for number, (column, item) in enumerate(zip(columns, items, strict=True), 1)
        ]
    if step.each in ("match", "pair"):
        pairs = matches if step.each == "match" else lambda names: list(combinations(names, 2))
        return [
            PlannedTurn(agent, pair, " and ".join(pair), weights(column))
            for column, agent in enumerate(agents)
            for pair in pairs(heard[column])
        ]
    if step.each == "edge":
        return [
            PlannedTurn(
                agent,
                tuple(other for other in heard[column] if other == name or other not in subjects),
                name,
                weights(column),
            )
            for column, agent in enumerate(agents)
            for name in heard[column]
            if name in subjects
        ]
    return [PlannedTurn(agent, heard[column], None, weights(column)) for column, agent in enumerate(agents)]


def matches(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the first with the second, the third with the fourth and so on; an unpaired last one has no match."""
    return list(zip(names[::2], names[1::2], strict=False))


def shown_graph(graph: Graph, step: Step, state: DebateState, execution: int) -> Graph:
    """Return a graph with the edges along which the listener's prompt contained words of the speaker.

    Other edges of the layout had no effect: the speaker had said nothing yet, its reply was empty, or the prompt left
    it out.
    """
    rows = {name: k for k, name in enumerate(graph.speakers)}
    columns = {name: k for k, name in enumerate(graph.listeners)}
    heard = np.zeros_like(graph.heard)
    for turn in state.execution(execution):
        column = columns[(turn.about or "") if step.each in ("listener", "group") else turn.speaker]
        heard[[rows[state.turns[number].speaker] for number in turn.heard], column] = True
    return replace(graph, heard=heard)

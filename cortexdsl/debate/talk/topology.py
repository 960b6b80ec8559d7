"""Who hears whom, where it does not depend on what was said: bool matrices `heard[speaker, listener]`."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from cortexdsl.errors import DebateError
from cortexdsl.terms import (
    Bools,
    Edges,
    Everyone,
    Groups,
    NetworkX,
    Nobody,
    OfRole,
    RandomEdges,
    Ring,
    Self,
    Topology,
)


def heard_matrix(
    topology: Topology,
    speakers: Sequence[str],
    listeners: Sequence[str],
    groups: Sequence[Sequence[str]],
    chance: Callable[[], random.Random],
) -> Bools:
    """Lay out the edges of a topology.

    Parameters
    ----------
    topology : Topology
        Any but `Sparse`, whose edges depend on the debate.
    speakers, listeners : sequence of str
        Names, (S,) and (L,); the same sequence for a talk within one role.
    groups : sequence of sequence of str
        The groups of this debate, for `Groups`.
    chance : callable
        Gives the generator of this step's draws, for `RandomEdges` and seeded networkx generators.

    Returns
    -------
    (S, L) bool array
        Nobody hears itself, except under `Self`.

    Raises
    ------
    DebateError
        A ring or a networkx graph between different roles, or one that does not fit the agents.
    """
    count = len(speakers)
    if isinstance(topology, Ring | NetworkX) and tuple(speakers) != tuple(listeners):
        raise DebateError(
            f"{', '.join(listeners)} cannot hear {', '.join(speakers)} by {type(topology).__name__.lower()}: "
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
            said, hears = (np.array([number.get(name, -1) for name in names]) for names in (speakers, listeners))
            same: Bools = said[:, None] == hears[None, :]
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
    takes = inspect.signature(generator).parameters
    if "n" in takes:
        arguments.setdefault("n", count)
    if "seed" in takes:
        arguments.setdefault("seed", chance().randrange(2**31))
    try:
        graph = generator(**arguments)
    except (networkx.NetworkXException, TypeError, ValueError) as error:
        raise DebateError(f"networkx.{topology.generator}({arguments}) gives no graph: {error}") from error
    if graph.number_of_nodes() != count:
        raise DebateError(
            f"networkx.{topology.generator}({arguments}) has {graph.number_of_nodes()} nodes for {count} agents; "
            "choose arguments that give one node an agent"
        )
    matrix: Bools = networkx.to_numpy_array(graph) != 0
    return matrix


def group_members(topology: Groups, agents: Sequence[str], chance: random.Random) -> tuple[tuple[str, ...], ...]:
    """Shuffle agents into groups (GroupDebate, section 3), each group in the agents' own order.

    With a count, sizes differ by at most one and larger groups come first.

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

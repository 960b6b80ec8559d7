"""Topologies: who hears whom in a step.

A new topology is a class here, a case of `cortexdsl.engine.topology.heard_matrix`, and a member of `HearsText`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from cortexdsl.core.keep_rules import Keep
from cortexdsl.core.types import EMPTY, word


class BaseTopology:
    """Base class of topologies, with the fields of all of them.

    Attributes
    ----------
    key : str
        The word of the language for it.
    candidates : str
        Whom a listener can hear: `nobody`, `itself`, the `debaters`, or agents or roles that the topology names
        (`named`).
    is_square : bool
        Whether speakers and listeners must be the same agents.
    """

    __slots__ = ()
    key: ClassVar[str]
    candidates: ClassVar[Literal["nobody", "itself", "debaters", "named"]]
    is_square: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Nobody(BaseTopology):
    """A topology without edges."""

    key: ClassVar = "nobody"
    candidates: ClassVar = "nobody"


@dataclass(frozen=True, slots=True)
class Everyone(BaseTopology):
    """Each agent hears all other debaters (see `Method.voters`)."""

    key: ClassVar = "everyone"
    candidates: ClassVar = "debaters"


@dataclass(frozen=True, slots=True)
class Self(BaseTopology):
    """Each agent hears only itself."""

    key: ClassVar = "self"
    candidates: ClassVar = "itself"


@dataclass(frozen=True, slots=True)
class Ring(BaseTopology):
    """`{ring: k}`: each agent hears the k nearest agents on both sides of a ring in the agents' order."""

    key: ClassVar = "ring"
    candidates: ClassVar = "debaters"
    is_square: ClassVar = True

    reach: int = word(key="ring")
    """How many neighbours on each side are heard."""


@dataclass(frozen=True, slots=True)
class Groups(BaseTopology):
    """Agents are shuffled (seeded by experiment, replicate and question) into groups; each agent hears its own group.

    `sizes` holds the size of each group. Without them, the sizes of `count` groups differ by at most one, larger
    groups first.
    """

    key: ClassVar = "groups"
    candidates: ClassVar = "debaters"

    count: int
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Edges(BaseTopology):
    """`{edges: [[speaker, listener], ...]}`: hear along these edges, which are pairs of names."""

    key: ClassVar = "edges"
    candidates: ClassVar = "named"

    pairs: tuple[tuple[str, str], ...] = word(key="edges")
    """Pairs of agents: the speaker, then the listener."""


@dataclass(frozen=True, slots=True)
class RandomEdges(BaseTopology):
    """`{random: p}`: hear each other agent with probability p, drawn again in every step."""

    key: ClassVar = "random"
    candidates: ClassVar = "debaters"

    p: float = word(key="random")
    """The probability of each edge."""


@dataclass(frozen=True, slots=True)
class NetworkX(BaseTopology):
    """A graph of a networkx generator; its nodes are the agents in their order, undirected edges go both ways."""

    key: ClassVar = "networkx"
    candidates: ClassVar = "debaters"
    is_square: ClassVar = True

    generator: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Sparse(BaseTopology):
    """The edges of another topology whose weight, an expression, is kept by a rule."""

    key: ClassVar = "sparse"
    candidates: ClassVar = "debaters"

    weight: str
    keep: Keep
    within: Everyone | Ring | Groups | Edges | RandomEdges | NetworkX | Sparse = Everyone()


@dataclass(frozen=True, slots=True)
class OfRole(BaseTopology):
    """All agents of some roles are heard, role after role."""

    key: ClassVar = "role"
    candidates: ClassVar = "named"

    roles: tuple[str, ...]


Topology: TypeAlias = Nobody | Everyone | Self | Ring | Groups | Edges | RandomEdges | NetworkX | Sparse | OfRole

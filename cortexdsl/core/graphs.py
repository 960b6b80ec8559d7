"""Topologies: who hears whom in a step.

A new topology is a class here, a case of `cortexdsl.engine.topology.heard_matrix`, and a form of the language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from cortexdsl.core.keep_rules import Keep
from cortexdsl.core.types import EMPTY


class BaseTopology:
    """Base class of topologies, with the fields of all of them.

    Attributes
    ----------
    word : str
        The word of the language for it.
    candidates : str
        Whom a listener can hear: `nobody`, `itself`, the `debaters`, or agents or roles that the topology names
        (`named`).
    is_square : bool
        Whether speakers and listeners must be the same agents.
    """

    __slots__ = ()
    word: ClassVar[str]
    candidates: ClassVar[Literal["nobody", "itself", "debaters", "named"]]
    is_square: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Nobody(BaseTopology):
    """A topology without edges."""

    word: ClassVar = "nobody"
    candidates: ClassVar = "nobody"


@dataclass(frozen=True, slots=True)
class Everyone(BaseTopology):
    """Each agent hears all other debaters (see `Method.voters`)."""

    word: ClassVar = "everyone"
    candidates: ClassVar = "debaters"


@dataclass(frozen=True, slots=True)
class Self(BaseTopology):
    """Each agent hears only itself."""

    word: ClassVar = "self"
    candidates: ClassVar = "itself"


@dataclass(frozen=True, slots=True)
class Ring(BaseTopology):
    """Each agent hears the `reach` nearest agents on both sides of a ring in the agents' order."""

    word: ClassVar = "ring"
    candidates: ClassVar = "debaters"
    is_square: ClassVar = True

    reach: int


@dataclass(frozen=True, slots=True)
class Groups(BaseTopology):
    """Agents are shuffled (seeded by experiment, replicate and question) into groups; each agent hears its own group.

    `sizes` holds the size of each group. Without them, the sizes of `count` groups differ by at most one, larger
    groups first.
    """

    word: ClassVar = "groups"
    candidates: ClassVar = "debaters"

    count: int
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Edges(BaseTopology):
    """Explicit edges (speaker, listener), by agent name."""

    word: ClassVar = "edges"
    candidates: ClassVar = "named"

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RandomEdges(BaseTopology):
    """Each ordered pair of different agents is an edge with probability `p`, drawn again in every step."""

    word: ClassVar = "random"
    candidates: ClassVar = "debaters"

    p: float


@dataclass(frozen=True, slots=True)
class NetworkX(BaseTopology):
    """A graph of a networkx generator; its nodes are the agents in their order, undirected edges go both ways."""

    word: ClassVar = "networkx"
    candidates: ClassVar = "debaters"
    is_square: ClassVar = True

    generator: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Sparse(BaseTopology):
    """The edges of another topology whose weight, an expression, is kept by a rule."""

    word: ClassVar = "sparse"
    candidates: ClassVar = "debaters"

    weight: str
    keep: Keep
    within: Everyone | Ring | Groups | Edges | RandomEdges | NetworkX | Sparse = Everyone()


@dataclass(frozen=True, slots=True)
class OfRole(BaseTopology):
    """All agents of some roles are heard, role after role."""

    word: ClassVar = "role"
    candidates: ClassVar = "named"

    roles: tuple[str, ...]


Topology: TypeAlias = Nobody | Everyone | Self | Ring | Groups | Edges | RandomEdges | NetworkX | Sparse | OfRole

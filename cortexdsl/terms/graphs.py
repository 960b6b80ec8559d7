"""Who hears whom: the layouts that a step may have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from cortexdsl.terms.base import EMPTY


@dataclass(frozen=True, slots=True)
class Nobody:
    """Nobody is heard."""


@dataclass(frozen=True, slots=True)
class Everyone:
    """Each hears all others of the principal role, whose answers make the rounds (see `Method`)."""


@dataclass(frozen=True, slots=True)
class Self:
    """Each hears itself alone."""


@dataclass(frozen=True, slots=True)
class Ring:
    """Each hears the `reach` nearest on both sides of a ring in the agents' order."""

    reach: int


@dataclass(frozen=True, slots=True)
class Groups:
    """Agents are shuffled (seeded by experiment, replicate and question) into groups; each hears its own group.

    `sizes` holds the size of each group; with `count` groups sizes differ by at most one, larger ones first.
    """

    count: int
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Edges:
    """Explicit edges (speaker, listener), by agent name."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RandomEdges:
    """Each ordered pair of different agents is an edge with probability `p`, drawn anew in every step."""

    p: float


@dataclass(frozen=True, slots=True)
class NetworkX:
    """A graph from a networkx generator, its nodes taken in the agents' order; undirected edges go both ways."""

    generator: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Keep:
    """Which incoming edges a listener keeps, by weight.

    Attributes
    ----------
    rule : str
        `mean`, `median` (of its own incoming weights), `mean_of_all` (of all weights), `top`, `drop_bottom`,
        `above`, `all`.
    number : float or None
        k of top and drop_bottom, the threshold of above.
    floor : float or None
        With top and drop_bottom: weights up to this one are never kept.
    """

    rule: Literal["mean", "median", "mean_of_all", "top", "drop_bottom", "above", "all"]
    number: float | None = None
    floor: float | None = None

    @property
    def may_keep_nobody(self) -> bool:
        """Whether all weights may be too low."""
        return self.rule == "above" or self.floor is not None


@dataclass(frozen=True, slots=True)
class Sparse:
    """Edges by weight: an expression, and the rule that keeps edges among those of a layout."""

    weight: str
    keep: Keep
    within: Everyone | Ring | Groups | Edges | RandomEdges | NetworkX | Sparse = Everyone()


@dataclass(frozen=True, slots=True)
class OfRole:
    """Everybody bound to one of some roles is heard, role after role."""

    roles: tuple[str, ...]


Topology: TypeAlias = Nobody | Everyone | Self | Ring | Groups | Edges | RandomEdges | NetworkX | Sparse | OfRole

"""Who hears whom, as it is written: the words of `hears:`, `weight:` and `keep:`, and what they mean.

Each form has a `term()`: the frozen value of the engine, to be taken when no setting is left open.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from cortexdsl.debate import expressions
from cortexdsl.spec.problems import nearest
from cortexdsl.spec.words import (
    SETTING_OR_VALUE,
    Asked,
    Entry,
    Name,
    Number,
    Share,
    Text,
    Variable,
    Whole,
    one_of,
    said,
    setting_or_value,
)
from cortexdsl.terms import (
    Edges,
    Everyone,
    Groups,
    Keep,
    NetworkX,
    Nobody,
    OfRole,
    RandomEdges,
    Ring,
    Self,
    Sparse,
    Topology,
)

MOST = 10_000
"""The largest count that the language takes: agents, groups, samples, rounds."""

_AtLeastOne: TypeAlias = Annotated[Whole, Field(ge=1, le=MOST)]
Count: TypeAlias = Annotated[Annotated[_AtLeastOne, Tag("<value>")] | Asked, SETTING_OR_VALUE]
MaybeNone: TypeAlias = Annotated[Annotated[Whole, Field(ge=0, le=MOST), Tag("<value>")] | Asked, SETTING_OR_VALUE]


def number(value: int | float | str) -> float:
    """Return a number whose settings have all been put in."""
    assert not isinstance(value, str), value
    return value


# ---------------------------------------------------------------- which edges survive
class TopForm(Entry):
    """`{top: k}`: the k highest incoming weights."""

    top: Count

    def term(self) -> Keep:
        """Return the rule."""
        return Keep("top", number(self.top))


class DropBottomForm(Entry):
    """`{drop_bottom: k}`: all but the k lowest incoming weights."""

    drop_bottom: MaybeNone

    def term(self) -> Keep:
        """Return the rule."""
        return Keep("drop_bottom", number(self.drop_bottom))


class AboveForm(Entry):
    """`{above: x}`: weights of more than x."""

    above: Annotated[Annotated[Number, Tag("<value>")] | Asked, SETTING_OR_VALUE]

    def term(self) -> Keep:
        """Return the rule."""
        return Keep("above", number(self.above))


KeepWord: TypeAlias = Literal["mean", "median", "mean_of_all", "all"]
KeepText: TypeAlias = Annotated[
    Annotated[KeepWord, Tag("<word>")]
    | Asked
    | Annotated[TopForm, Tag("<top>")]
    | Annotated[DropBottomForm, Tag("<drop_bottom>")]
    | Annotated[AboveForm, Tag("<above>")],
    one_of(get_args(KeepWord), {"top": "{top: k}", "drop_bottom": "{drop_bottom: k}", "above": "{above: x}"}),
]


def _weight(text: str) -> str:
    if "$" in text:
        return text
    try:
        unknown = sorted(expressions.parse(text).names - set(expressions.NAMES))
    except ValueError as error:
        raise said(str(error), f"names: {', '.join(expressions.NAMES)}") from None
    if unknown:
        raise said(f"no factor is called {unknown[0]}", nearest(unknown[0], expressions.NAMES))
    if not any(math.isfinite(_tried(text, value)) for value in (0.3, 0.9, 1.7, 3.0)):
        raise said(f"{text!r} is no number, whatever the agents say", "is something divided by 0, or too large?")
    return text


def _tried(text: str, value: float) -> float:
    """Compute a weight of factors that differ a little from a value."""
    factors = {name: value * (1 + 0.01 * k) for k, name in enumerate(expressions.NAMES)}
    return float(expressions.evaluate(expressions.parse(text), factors))


class SparseText(Entry):
    """Edges by weight, and the rule that keeps them."""

    weight: Annotated[Text, AfterValidator(_weight)] = Field(
        description=f"Arithmetic over {', '.join(expressions.NAMES)}."
    )
    keep: KeepText = "mean"

    def term(self) -> Sparse:
        """Return the topology."""
        return Sparse(self.weight, Keep(self.keep) if isinstance(self.keep, str) else self.keep.term())  # type: ignore[arg-type]


# ---------------------------------------------------------------- who hears whom
class RingForm(Entry):
    """`{ring: k}`: the k nearest on both sides."""

    ring: Count

    def term(self) -> Ring:
        """Return the topology."""
        return Ring(int(number(self.ring)))


def _count_or_sizes(value: Any) -> str:
    return "<sizes>" if isinstance(value, list) else setting_or_value(value)


class GroupsForm(Entry):
    """`{groups: count}`, or the sizes of the groups."""

    groups: Annotated[
        Annotated[_AtLeastOne, Tag("<value>")]
        | Asked
        | Annotated[tuple[_AtLeastOne, ...], Field(min_length=1), Tag("<sizes>")],
        Discriminator(_count_or_sizes),
    ]

    def term(self) -> Groups:
        """Return the topology."""
        if isinstance(self.groups, tuple):
            return Groups(len(self.groups), self.groups)
        return Groups(int(number(self.groups)))


class SparseForm(Entry):
    """`{sparse: {weight, keep}}`."""

    sparse: SparseText

    def term(self) -> Sparse:
        """Return the topology."""
        return self.sparse.term()


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


_RoleName: TypeAlias = Annotated[Annotated[Name, Tag("<value>")] | Asked, SETTING_OR_VALUE]


class RoleForm(Entry):
    """`{role: name}`: everybody bound to a role, or to one of several."""

    role: Annotated[
        tuple[_RoleName, ...],
        BeforeValidator(_listed, json_schema_input_type=_RoleName | tuple[_RoleName, ...]),
        Field(min_length=1),
    ]

    def term(self) -> OfRole:
        """Return the topology."""
        return OfRole(self.role)


class EdgesForm(Entry):
    """`{edges: [[speaker, listener], ...]}`, by agent name."""

    edges: tuple[Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)], ...]

    def term(self) -> Edges:
        """Return the topology."""
        return Edges(tuple((pair[0], pair[1]) for pair in self.edges))


class RandomForm(Entry):
    """`{random: p}`: each ordered pair with probability p."""

    random: Annotated[Annotated[Share, Tag("<value>")] | Asked, SETTING_OR_VALUE]

    def term(self) -> RandomEdges:
        """Return the topology."""
        return RandomEdges(float(number(self.random)))


class NetworkXForm(Entry, extra="allow"):
    """`{networkx: generator, ...}`: a networkx generator and its arguments, but for the number of nodes."""

    networkx: Variable

    def term(self) -> NetworkX:
        """Return the topology."""
        return NetworkX(self.networkx, dict(self.__pydantic_extra__ or {}))


HearsWord: TypeAlias = Literal["nobody", "everyone", "self"]
HearsText: TypeAlias = Annotated[
    Annotated[HearsWord, Tag("<word>")]
    | Asked
    | Annotated[RingForm, Tag("<ring>")]
    | Annotated[GroupsForm, Tag("<groups>")]
    | Annotated[SparseForm, Tag("<sparse>")]
    | Annotated[RoleForm, Tag("<role>")]
    | Annotated[EdgesForm, Tag("<edges>")]
    | Annotated[RandomForm, Tag("<random>")]
    | Annotated[NetworkXForm, Tag("<networkx>")],
    one_of(
        get_args(HearsWord),
        {
            "ring": "{ring: k}",
            "groups": "{groups: count or sizes}",
            "sparse": "{sparse: {weight: ..., keep: ...}}",
            "role": "{role: name or names}",
            "edges": "{edges: [[speaker, listener]]}",
            "random": "{random: p}",
            "networkx": "{networkx: generator}",
        },
    ),
]

_WORDS: dict[str, Topology] = {"nobody": Nobody(), "everyone": Everyone(), "self": Self()}


def topology(hears: Any) -> Topology:
    """Return the topology that a checked `hears:` means, its settings all put in."""
    return _WORDS[hears] if isinstance(hears, str) else hears.term()

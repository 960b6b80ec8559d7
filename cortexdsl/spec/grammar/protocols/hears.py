"""Who hears whom, as it is written: the words of `hears:`, and what they mean.

Each form has a `term()`: the frozen value of the engine, to be taken when no setting is left open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag

from cortexdsl.spec.grammar.protocols.keep import MET, KeepText, keep
from cortexdsl.spec.grammar.values.counts import AtLeastOne, Count, number
from cortexdsl.spec.grammar.values.expressions import Weight
from cortexdsl.spec.grammar.values.words import (
    SETTING_OR_VALUE,
    Asked,
    Entry,
    Name,
    Share,
    Variable,
    listed,
    one_of,
    setting_or_value,
)
from cortexdsl.terms import graphs

_FORMS: dict[str, str] = {
    "ring": "{ring: k}",
    "groups": "{groups: count or sizes}",
    "sparse": "{sparse: {weight: ..., keep: ...}}",
    "where": "{where: condition}",
    "role": "{role: name or names}",
    "edges": "{edges: [[speaker, listener]]}",
    "random": "{random: p}",
    "networkx": "{networkx: generator}",
}


class RingForm(Entry):
    """`{ring: k}`: the k nearest on both sides."""

    ring: Count

    def term(self) -> graphs.Ring:
        """Return the topology."""
        return graphs.Ring(int(number(self.ring)))


def _count_or_sizes(value: Any) -> str:
    return "<sizes>" if isinstance(value, list) else setting_or_value(value)


class GroupsForm(Entry):
    """`{groups: count}`, or the sizes of the groups."""

    groups: Annotated[
        Annotated[AtLeastOne, Tag("<value>")]
        | Asked
        | Annotated[tuple[AtLeastOne, ...], Field(min_length=1), Tag("<sizes>")],
        Discriminator(_count_or_sizes),
    ]

    def term(self) -> graphs.Groups:
        """Return the topology."""
        if isinstance(self.groups, tuple):
            return graphs.Groups(len(self.groups), self.groups)
        return graphs.Groups(int(number(self.groups)))


_RoleName: TypeAlias = Annotated[Annotated[Name, Tag("<value>")] | Asked, SETTING_OR_VALUE]


class RoleForm(Entry):
    """`{role: name}`: everybody bound to a role, or to one of several."""

    role: Annotated[
        tuple[_RoleName, ...],
        BeforeValidator(listed, json_schema_input_type=_RoleName | tuple[_RoleName, ...]),
        Field(min_length=1),
    ]

    def term(self) -> graphs.OfRole:
        """Return the topology."""
        return graphs.OfRole(self.role)


class EdgesForm(Entry):
    """`{edges: [[speaker, listener], ...]}`, by agent name."""

    edges: tuple[Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)], ...]

    def term(self) -> graphs.Edges:
        """Return the topology."""
        return graphs.Edges(tuple((pair[0], pair[1]) for pair in self.edges))


class RandomForm(Entry):
    """`{random: p}`: each ordered pair with probability p."""

    random: Annotated[Annotated[Share, Tag("<value>")] | Asked, SETTING_OR_VALUE]

    def term(self) -> graphs.RandomEdges:
        """Return the topology."""
        return graphs.RandomEdges(float(number(self.random)))


class NetworkXForm(Entry, extra="allow"):
    """`{networkx: generator, ...}`: a networkx generator and its arguments, but for the number of nodes."""

    networkx: Variable

    def term(self) -> graphs.NetworkX:
        """Return the topology."""
        return graphs.NetworkX(self.networkx, dict(self.__pydantic_extra__ or {}))


class ConditionForm(Entry):
    """`{where: condition}`: the edges for which a condition holds, of which weights may keep a part."""

    where: Weight

    def term(self) -> graphs.Sparse:
        """Return the topology."""
        return graphs.Sparse(self.where, MET)


LayoutText: TypeAlias = Annotated[
    Annotated[Literal["everyone"], Tag("<word>")]
    | Asked
    | Annotated[RingForm, Tag("<ring>")]
    | Annotated[GroupsForm, Tag("<groups>")]
    | Annotated[EdgesForm, Tag("<edges>")]
    | Annotated[RandomForm, Tag("<random>")]
    | Annotated[NetworkXForm, Tag("<networkx>")]
    | Annotated[ConditionForm, Tag("<where>")],
    one_of(("everyone",), {form: _FORMS[form] for form in ("ring", "groups", "edges", "random", "networkx", "where")}),
]
"""A layout among those who debate, of which weights may keep a part."""


class SparseText(Entry):
    """Edges by weight, and the rule that keeps them."""

    example: ClassVar[str] = "{weight: confidence, keep: mean}"

    weight: Weight = Field(description="An expression with a value an edge (docs/language.md#expressions).")
    keep: KeepText = "mean"
    within: LayoutText = Field("everyone", description="The edges that there may be.")

    def term(self) -> graphs.Sparse:
        """Return the topology."""
        return graphs.Sparse(self.weight, keep(self.keep), topology(self.within))  # type: ignore[arg-type]


class SparseForm(Entry):
    """`{sparse: {weight, keep}}`."""

    sparse: SparseText

    def term(self) -> graphs.Sparse:
        """Return the topology."""
        return self.sparse.term()


class WhereForm(Entry):
    """`{where: condition}`: the edges for which a condition holds."""

    hints: ClassVar[Mapping[str, str]] = {
        "keep": "write {sparse: {weight: ..., keep: ...}}: a condition keeps what is true"
    }

    where: Weight = Field(description="A condition on edges, such as differs.")
    within: LayoutText = Field("everyone", description="The edges that there may be.")

    def term(self) -> graphs.Sparse:
        """Return the topology."""
        return graphs.Sparse(self.where, MET, topology(self.within))  # type: ignore[arg-type]


HearsWord: TypeAlias = Literal["nobody", "everyone", "self"]
HearsText: TypeAlias = Annotated[
    Annotated[HearsWord, Tag("<word>")]
    | Asked
    | Annotated[RingForm, Tag("<ring>")]
    | Annotated[GroupsForm, Tag("<groups>")]
    | Annotated[SparseForm, Tag("<sparse>")]
    | Annotated[WhereForm, Tag("<where>")]
    | Annotated[RoleForm, Tag("<role>")]
    | Annotated[EdgesForm, Tag("<edges>")]
    | Annotated[RandomForm, Tag("<random>")]
    | Annotated[NetworkXForm, Tag("<networkx>")],
    one_of(get_args(HearsWord), _FORMS),
]

_WORDS: dict[str, graphs.Topology] = {"nobody": graphs.Nobody(), "everyone": graphs.Everyone(), "self": graphs.Self()}


def topology(hears: Any) -> graphs.Topology:
    """Return the topology that a checked `hears:` means, its settings all put in."""
    return _WORDS[hears] if isinstance(hears, str) else hears.term()

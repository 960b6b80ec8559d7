"""Who hears whom: the words of `hears:` and `keep:`, and the topologies and rules that they mean."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, Union

from pydantic import AfterValidator, BeforeValidator, Field, create_model, model_validator

from cortexdsl.core import KEEP_RULES, KEEP_TRUE, Keep, graphs
from cortexdsl.core.keep_rules import KeepRule
from cortexdsl.language.grammar.core_words import FromCore, WrittenAs
from cortexdsl.language.grammar.entries import (
    AtLeastOne,
    Count,
    CountOrZero,
    Name,
    OneOf,
    Setting,
    Share,
    StrictEntry,
    Text,
    Variable,
    invalid,
)
from cortexdsl.language.grammar.expressions import Weight


# ---------------------------------------------------------------- which weights are kept
class KeepForm(StrictEntry):
    """A rule with its number. The key is its name in `KEEP_RULES`."""

    def value(self) -> Keep:
        """Return the rule."""
        ((name, number),) = self
        return Keep(name, number)


def _keep_form(name: str, rule: KeepRule) -> Any:
    """Return the form of a rule that takes a number."""
    kind: Any = float if rule.retained is None else Count if rule.fewest else CountOrZero
    words: dict[str, Any] = {name: (kind, Field(description=rule.number))}
    form: Any = create_model(
        f"{name.title().replace('_', '')}Form",
        __base__=KeepForm,
        __doc__=f"`{{{name}: k}}`: keep {rule.summary}.",
        __module__=__name__,
        **words,
    )
    return Annotated[Keep, WrittenAs(form)]


_KEEP_WORDS = tuple(name for name, rule in KEEP_RULES.items() if rule.is_word and not rule.number)
_KEEP_FORMS = tuple(_keep_form(name, rule) for name, rule in KEEP_RULES.items() if rule.number)
_KeepWord: TypeAlias = Annotated[Literal[_KEEP_WORDS], AfterValidator(Keep)]  # type: ignore[valid-type]
KeepText: TypeAlias = Annotated[
    Keep,
    WrittenAs(Annotated[Union[(_KeepWord, Setting, *_KEEP_FORMS)], OneOf()]),
]


# ---------------------------------------------------------------- layouts
class GroupsForm(StrictEntry):
    """`{groups: n}` or `{groups: [sizes]}`: hear the other agents of the same group."""

    groups: Annotated[AtLeastOne | Setting | Annotated[tuple[AtLeastOne, ...], Field(min_length=1)], OneOf()]
    """How many groups of about equal size, or the size of each group."""

    def value(self) -> graphs.Groups:
        """Return the groups."""
        sizes: Any = self.groups
        return graphs.Groups(len(sizes), sizes) if isinstance(sizes, tuple) else graphs.Groups(sizes)


class NetworkXForm(StrictEntry, extra="allow"):
    """`{networkx: GENERATOR, ...}`: hear the neighbours in a graph of networkx.

    Further keys are the arguments of the generator.
    """

    networkx: Variable
    """A graph generator of networkx. Its arguments, except the number of nodes, are further keys."""

    def value(self) -> graphs.NetworkX:
        """Return the graph."""
        return graphs.NetworkX(self.networkx, dict(self.model_extra or {}))


_Everyone: TypeAlias = Annotated[Literal["everyone"], AfterValidator(lambda word: graphs.Everyone())]
_Ring: TypeAlias = Annotated[graphs.Ring, FromCore(reach=Count)]
_Groups: TypeAlias = Annotated[graphs.Groups, WrittenAs(GroupsForm)]
_Pair: TypeAlias = Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)]


def _pairs(value: Any) -> Any:
    if not isinstance(value, list) or not all(isinstance(pair, list) for pair in value):
        raise invalid("an edge is a pair of agents", "write {edges: [[ann, bob], ...]}, with which bob hears ann")
    return value


_Pairs: TypeAlias = Annotated[tuple[_Pair, ...], BeforeValidator(_pairs, json_schema_input_type=tuple[_Pair, ...])]
_Edges: TypeAlias = Annotated[graphs.Edges, FromCore(pairs=_Pairs)]


def _probability(value: Any) -> Any:
    if type(value) is int and value > 0:
        remedy = f"write {{weight: random, keep: {{top: {value}}}}} for {value} of the others, or a share such as 0.4"
        raise invalid("each other agent is heard with this probability", remedy)
    return value


_Probability: TypeAlias = Annotated[Share | Setting, OneOf()]
_Random: TypeAlias = Annotated[
    graphs.RandomEdges,
    FromCore(p=Annotated[_Probability, BeforeValidator(_probability, json_schema_input_type=_Probability)]),
]
_NetworkX: TypeAlias = Annotated[graphs.NetworkX, WrittenAs(NetworkXForm)]


class SelectionForm(StrictEntry):
    """`{topology: T, where: CONDITION, weight: EXPRESSION, keep: RULE}`: hear along some edges of a graph.

    The condition holds for these edges, and the rule keeps those with large weights.
    """

    example: ClassVar[str] = "{topology: ..., where: ..., weight: ..., keep: ...}"

    topology: LayoutText = Field("everyone", validate_default=True)
    """Only edges of this graph are considered."""
    where: Weight | None = None
    """A condition on edges. For example, `differs`: the last answers of the two agents are not equal."""
    weight: Weight | None = None
    """An expression with a value for each edge, such as similarity."""
    keep: KeepText = Field("mean", validate_default=True)
    """The rule that keeps edges by their weights."""

    @model_validator(mode="after")
    def _weighed(self) -> Self:
        if not self.model_fields_set & {"topology", "where", "weight"}:
            raise invalid("nothing says which edges", "write topology:, where: or weight:")
        if self.weight is None and "keep" in self.model_fields_set:
            raise invalid("keep compares weights, and there is no weight", "write weight:, or remove keep")
        return self

    def value(self) -> graphs.Topology:
        """Return the topology."""
        layout: Any = self.topology
        if self.where is not None:
            layout = graphs.Sparse(self.where, KEEP_TRUE, layout)
        return layout if self.weight is None else graphs.Sparse(self.weight, self.keep, layout)


_Selection: TypeAlias = Annotated[graphs.Sparse, WrittenAs(SelectionForm)]
LayoutText: TypeAlias = Annotated[
    _Everyone | Setting | _Ring | _Groups | _Edges | _Random | _NetworkX | _Selection, OneOf()
]
"""A layout among debaters; weights may keep a part of it."""
SelectionForm.model_rebuild()

HearsWord: TypeAlias = Literal["nobody", "everyone", "self"]
_WORDS: dict[str, graphs.Topology] = {"nobody": graphs.Nobody(), "everyone": graphs.Everyone(), "self": graphs.Self()}
_FORMS = {"ring": "{ring: k}", "groups": "{groups: n}", "edges": "{edges: [[speaker, listener], ...]}",
          "random": "{random: p}", "networkx": "{networkx: GENERATOR, ...}"}  # fmt: skip


def _role(value: str) -> graphs.OfRole:
    if value in _FORMS:
        raise invalid(f"{value} needs a value", f"write {_FORMS[value]}")
    return graphs.OfRole((value,))


_RoleName: TypeAlias = Annotated[Name | Setting, OneOf()]
_Hears: TypeAlias = Annotated[
    Annotated[HearsWord, AfterValidator(_WORDS.__getitem__)]
    | Setting
    | Annotated[Text, AfterValidator(_role)]
    | Annotated[tuple[_RoleName, ...], Field(min_length=1), AfterValidator(graphs.OfRole)]
    | _Ring
    | _Groups
    | _Edges
    | _Random
    | _NetworkX
    | _Selection,
    OneOf("ROLE", "[roles]"),
]
HearsText: TypeAlias = Annotated[graphs.Topology, WrittenAs(_Hears)]

"""Who hears whom: the words of `hears:` and `keep:`, and the topologies and rules that they mean."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, Union

from pydantic import AfterValidator, Field, create_model, model_validator

from cortexdsl.core import KEEP_RULES, KEEP_TRUE, Keep, graphs
from cortexdsl.core.keep_rules import KeepRule
from cortexdsl.language.grammar.entries import (
    AtLeastOne,
    Count,
    CountOrZero,
    Name,
    Number,
    OneOf,
    Setting,
    Share,
    StrictEntry,
    Text,
    Variable,
    invalid,
    number,
)
from cortexdsl.language.grammar.expressions import Weight

Threshold: TypeAlias = Annotated[Number | Setting, OneOf()]


# ---------------------------------------------------------------- which weights are kept
class KeepForm(StrictEntry):
    """A rule with its number. The required key is its name in `KEEP_RULES`; `above`, if optional, is the floor."""

    def as_keep(self) -> Keep:
        """Return the rule, once settings have their values."""
        name = self.key()
        numbers = {word: number(value) for word, value in self if value is not None}
        return Keep(name, numbers.pop(name), numbers.get("above"))

    @property
    def may_keep_nobody(self) -> bool:
        """Whether all weights may be too low."""
        return not KEEP_RULES[self.key()].keeps_somebody or getattr(self, "above", None) is not None


def _keep_form(name: str, rule: KeepRule) -> type[KeepForm]:
    """Return the form of a rule that takes a number."""
    words: dict[str, Any] = {name: (Threshold, Field(description=rule.number))}
    letter, floor = "x", ""
    if rule.retained is not None:
        letter, floor = "k", " With `above: x`, weights up to x are never kept."
        words[name] = (Count if rule.fewest else CountOrZero, Field(description=rule.number))
        words["above"] = (Threshold | None, Field(None, description="Weights up to this one are never kept."))
    return create_model(
        f"{name.title().replace('_', '')}Form",
        __base__=KeepForm,
        __doc__=f"`{{{name}: {letter}}}`: keep {rule.summary}.{floor}",
        __module__=__name__,
        **words,
    )


_KEEP_WORDS = tuple(name for name, rule in KEEP_RULES.items() if not rule.number)
_KEEP_FORMS = tuple(_keep_form(name, rule) for name, rule in KEEP_RULES.items() if rule.number)
KeepWord: TypeAlias = Literal[_KEEP_WORDS]  # type: ignore[valid-type]
KeepText: TypeAlias = Annotated[Union[(KeepWord, Setting, *_KEEP_FORMS)], OneOf()]  # type: ignore[valid-type]


def keep_rule(written: Any) -> Keep:
    """Return the rule that a validated `keep:` means, once settings have their values."""
    return written.as_keep() if isinstance(written, KeepForm) else Keep(written)


def may_keep_nobody(written: Any) -> bool:
    """Return whether a validated `keep:` may leave nobody; False for a setting, whose value is not known yet."""
    if isinstance(written, KeepForm):
        return written.may_keep_nobody
    return written in KEEP_RULES and not KEEP_RULES[written].keeps_somebody


# ---------------------------------------------------------------- layouts
class RingForm(StrictEntry):
    """`{ring: k}`: hear the k nearest agents on each side."""

    ring: Count
    """How many neighbours on each side are heard."""


class GroupsForm(StrictEntry):
    """`{groups: n}` or `{groups: [sizes]}`: hear the other agents of the same group."""

    groups: Annotated[
        AtLeastOne | Setting | Annotated[tuple[AtLeastOne, ...], Field(min_length=1)],
        OneOf(),
    ]
    """How many groups of about equal size, or the size of each group."""


class EdgesForm(StrictEntry):
    """`{edges: [[speaker, listener], ...]}`: hear along these edges, which are pairs of names."""

    edges: tuple[Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)], ...]
    """Pairs of agents: the speaker, then the listener."""


class RandomForm(StrictEntry):
    """`{random: p}`: hear each other agent with probability p."""

    random: Annotated[Share | Setting, OneOf()]
    """The probability of each edge."""


class NetworkXForm(StrictEntry, extra="allow"):
    """`{networkx: GENERATOR, ...}`: hear the neighbours in a graph of networkx.

    Further keys are the arguments of the generator.
    """

    networkx: Variable
    """A graph generator of networkx. Its arguments, except the number of nodes, are further keys."""


class ConditionForm(StrictEntry):
    """`{where: CONDITION}`: in `topology`, only the edges for which a condition holds."""

    where: Weight
    """A condition on edges. For example, `differs`: the last answers of the two agents are not equal."""


LayoutText: TypeAlias = Annotated[
    Literal["everyone"] | Setting | RingForm | GroupsForm | EdgesForm | RandomForm | NetworkXForm | ConditionForm,
    OneOf(),
]
"""A layout among debaters; weights may keep a part of it."""


class SelectionForm(StrictEntry):
    """`{topology: T, where: CONDITION, weight: EXPRESSION, keep: RULE}`: hear along some edges of a graph.

    The condition holds for these edges, and the rule keeps those with large weights.
    """

    example: ClassVar[str] = "{topology: ..., where: ..., weight: ..., keep: ...}"

    topology: LayoutText = "everyone"
    """Only edges of this graph are considered."""
    where: Weight | None = None
    """A condition on edges. For example, `differs`: the last answers of the two agents are not equal."""
    weight: Weight | None = None
    """An expression with a value for each edge, such as similarity."""
    keep: KeepText = "mean"
    """The rule that keeps edges by their weights."""

    @model_validator(mode="after")
    def _weighed(self) -> Self:
        if not self.model_fields_set & {"topology", "where", "weight"}:
            raise invalid("nothing says which edges", "write topology:, where: or weight:")
        if self.weight is None and "keep" in self.model_fields_set:
            raise invalid("keep compares weights, and there is no weight", "write weight:, or remove keep")
        return self

    def as_topology(self) -> graphs.Topology:
        """Return the topology that it means, once settings have their values."""
        layout: Any = topology(self.topology)
        if self.where is not None:
            layout = graphs.Sparse(self.where, KEEP_TRUE, layout)
        return layout if self.weight is None else graphs.Sparse(self.weight, keep_rule(self.keep), layout)


def _role(value: str) -> str:
    form = next((form for form in _GRAPHS if form.key() == value), None)
    if form is not None:
        raise invalid(f"{value} needs a value", f"write {form.spelling()}")
    return value


_GRAPHS = (RingForm, GroupsForm, EdgesForm, RandomForm, NetworkXForm)
HearsWord: TypeAlias = Literal["nobody", "everyone", "self"]
_RoleName: TypeAlias = Annotated[Name | Setting, OneOf()]
HearsText: TypeAlias = Annotated[
    HearsWord
    | Setting
    | Annotated[Text, AfterValidator(_role)]
    | Annotated[tuple[_RoleName, ...], Field(min_length=1)]
    | RingForm
    | GroupsForm
    | EdgesForm
    | RandomForm
    | NetworkXForm
    | SelectionForm,
    OneOf("ROLE", "[roles]"),
]


def heard_roles(hears: Any) -> tuple[str, ...]:
    """Return the roles that a validated `hears:` names; none if it is a word, a setting or a graph."""
    if isinstance(hears, str):
        return () if hears in _WORDS or "$" in hears else (hears,)
    return hears if isinstance(hears, tuple) else ()


_WORDS: dict[str, graphs.Topology] = {"nobody": graphs.Nobody(), "everyone": graphs.Everyone(), "self": graphs.Self()}


def topology(hears: Any) -> Any:
    """Return the topology that a validated `hears:` or `topology:` means, once settings have their values."""
    match hears:
        case str() if hears in _WORDS:
            return _WORDS[hears]
        case str() | tuple():
            return graphs.OfRole(heard_roles(hears))
        case RingForm():
            return graphs.Ring(int(number(hears.ring)))
        case GroupsForm(groups=tuple() as sizes):
            return graphs.Groups(len(sizes), sizes)
        case GroupsForm(groups=int() as count):
            return graphs.Groups(count)
        case EdgesForm():
            return graphs.Edges(tuple((speaker, listener) for speaker, listener in hears.edges))
        case RandomForm():
            return graphs.RandomEdges(float(number(hears.random)))
        case NetworkXForm():
            return graphs.NetworkX(hears.networkx, dict(hears.model_extra or {}))
        case ConditionForm():
            return graphs.Sparse(hears.where, KEEP_TRUE)
        case SelectionForm():
            return hears.as_topology()
    raise AssertionError(hears)  # pragma: no cover - the types admit nothing else

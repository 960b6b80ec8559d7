"""A protocol as it is written: who speaks, who hears whom, what is read, in which order, and how it ends.

Any value may be `$name`, a setting that a method may set; a count or a weight may contain one. The same types
check a protocol before its settings are known and after they have been put in.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from cortexdsl.debate.names import NAMES
from cortexdsl.spec.bins import RecalibrationText
from cortexdsl.spec.expressions import Ballot, ChoiceWeight, expression
from cortexdsl.spec.hears import MET, AtLeastOne, Count, HearsText, KeepText, MaybeNone, keep, number
from cortexdsl.spec.problems import nearest
from cortexdsl.spec.words import (
    SETTING_OR_VALUE,
    Asked,
    Entry,
    Name,
    Plain,
    Template,
    Text,
    Variable,
    Whole,
    no_such_form,
    one_of,
    said,
    setting_or_value,
)
from cortexdsl.terms import Beside, Choose, Each, Own, Reads, Tells, Told

Fallback: TypeAlias = Literal["confidence", "none"]
Participation: TypeAlias = Literal["spoken", "heard", "both"]
PassesOn: TypeAlias = Literal["whole", "answer", "reasoning"]


# ---------------------------------------------------------------- steps
ELSE = "else"
"""The agents that a mapping of templates does not name."""

PromptText: TypeAlias = Annotated[
    Annotated[Template, Tag("<template>")]
    | Annotated[tuple[Template, ...], Field(min_length=1), Tag("<list>")]
    | Annotated[dict[Name, Template], Field(min_length=1), Tag("<agents>")],
    Discriminator(lambda value: {list: "<list>", dict: "<agents>"}.get(type(value), "<template>")),
]


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _last(value: Any) -> str:
    return "<word>" if value == "all" else setting_or_value(value)


class OwnTold(Entry):
    """`{step: name, last: 1}`: what a speaker itself said in some steps."""

    step: Annotated[tuple[Name, ...], BeforeValidator(_listed, json_schema_input_type=Name | tuple[Name, ...])] = Field(
        (), description="A step or steps; none: all talk."
    )
    last: Annotated[
        Annotated[Literal["all"], Tag("<word>")] | Asked | Annotated[AtLeastOne, Tag("<value>")], Discriminator(_last)
    ] = Field(1, description="Of how many last times; all of them.")

    def term(self) -> Told:
        """Return what is told."""
        return Told(self.step, last=None if self.last == "all" else int(number(self.last)))


class ToldText(OwnTold):
    """`{step: name, about: me, last: 1}`: what those heard said in some steps."""

    example: ClassVar[str] = "{step: review, about: me}"

    about: Literal["me", "anyone"] = Field("anyone", description="me: what is about the one who is told, alone.")

    def term(self) -> Told:
        """Return what is told."""
        return Told(self.step, self.about == "me", None if self.last == "all" else int(number(self.last)))


def _told(value: Any) -> str:
    return "<told>" if isinstance(value, dict) else setting_or_value(value)


_Tells: TypeAlias = Annotated[
    Annotated[Tells, Tag("<value>")] | Asked | Annotated[ToldText, Tag("<told>")], Discriminator(_told)
]


def _readable(reads: tuple[Reads, ...]) -> tuple[Reads, ...]:
    if not reads:
        raise said("nothing is read", "name what the reply is read for, such as answer")
    for what in reads[1:]:
        if what not in get_args(Beside) or reads.count(what) > 1:
            raise said(
                f"{what} cannot be read beside {reads[0]}",
                f"write [{what}, ...] to read it first; {' and '.join(get_args(Beside))} can stand second, each once",
            )
    return reads


class StepText(Entry):
    """One kind of utterance."""

    example: ClassVar[str] = "{role: debater, prompt: my/answer.j2}"

    role: Name = Field(description="Who speaks.")
    prompt: PromptText = Field(
        description="The template; a list that is dealt to the role's agents in turn; or templates by agent, and else."
    )
    hears: HearsText = Field("nobody", description="Who hears whom.")
    tells: Annotated[
        tuple[_Tells, ...],
        BeforeValidator(_listed, json_schema_input_type=_Tells | tuple[_Tells, ...]),
        Field(min_length=1),
    ] = Field(("latest",), description="Which heard turns reach the prompt: a word, or a list of words.")
    own: Annotated[Annotated[Own, Tag("<value>")] | Asked | Annotated[OwnTold, Tag("<told>")], Discriminator(_told)] = (
        Field("none", description="What a speaker sees of itself.")
    )
    material: dict[str, Plain] = Field(
        default_factory=dict, alias="with", description="Template variables that are no talk."
    )
    order: Annotated[Annotated[Literal["simultaneous", "sequential"], Tag("<value>")] | Asked, SETTING_OR_VALUE] = (
        "simultaneous"
    )
    each: Annotated[Annotated[Each, Tag("<value>")] | Asked, SETTING_OR_VALUE] = Field(
        "speaker", description="One call per speaker, edge, pair, match, listener or group."
    )
    draws: Count = Field(1, description="Independent replies per call.")
    reads: Annotated[
        tuple[Reads, ...],
        BeforeValidator(_listed, json_schema_input_type=Reads | tuple[Reads, ...]),
        AfterValidator(_readable),
    ] = Field(("answer",), description="What is read from the reply; a verdict or a choice also beside another.")


# ---------------------------------------------------------------- the schedule
NEVER = "never"


def _truth(value: Any) -> Any:
    """Let a setting such as `check_opening: true` say when: true is consensus, false is never."""
    if isinstance(value, bool):
        return "consensus" if value else NEVER
    if isinstance(value, str) and value.isidentifier() and value not in (NEVER, *NAMES["condition"]):
        raise said(f"{value!r} is no time to end", nearest(value, ["true", "false", *TIMES]))
    return value if value == NEVER or not isinstance(value, str) else expression("condition")(value)


TIMES = ("consensus", "agreed", NEVER)
"""Conditions that are one word; others are expressions, such as `agreement >= 0.8 and round >= 2`."""

Ending: TypeAlias = Annotated[Text, BeforeValidator(_truth, json_schema_input_type=Text | bool)]


class LoopText(Entry):
    """`{repeat, unless, until, do}`: a loop of the schedule."""

    repeat: MaybeNone = Field(description="At most so many passes.")
    unless: Ending = Field("never", description="Looked at before the first pass; true is consensus.")
    until: Ending = Field("never", description="Looked at after each pass; true is consensus.")
    do: Annotated[tuple[ItemText, ...], Field(min_length=1)]


OTHERWISE = "else"
"""The branch of a case that is taken where no other is called like the value."""


class CaseText(Entry):
    """`{case: $setting, do: {value: [...], else: [...]}}`: the part of the schedule that a setting chooses."""

    case: Plain = Field(description="A setting; its value is the name of a branch.")
    do: Annotated[dict[Text, tuple[ItemText, ...]], Field(min_length=1)] = Field(
        description="Branches by value, `else` for every other value; an empty list passes on."
    )

    @property
    def branch(self) -> str | None:
        """The name of the branch that the value chooses; None where there is none."""
        word = str(self.case).lower() if isinstance(self.case, bool) else str(self.case)
        return next((name for name in (word, OTHERWISE) if name in self.do), None)


class ChooseText(Entry):
    """`{choose: role, from: role, weight, keep}` or `{choose: role, where: condition}`: a role is filled anew."""

    example: ClassVar[str] = "{choose: role, where: condition}"

    choose: Name = Field(description="The role that is filled.")
    from_: Name | None = Field(None, alias="from", description="Whose players stand; the role's own where not said.")
    weight: ChoiceWeight | None = Field(None, description="An expression with a value an agent.")
    keep: KeepText = Field("mean", description="Which weights are kept.")
    where: ChoiceWeight | None = Field(None, description="A condition on agents, in place of weight and keep.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.weight is None) == (self.where is None) or (
            self.where is not None and "keep" in self.model_fields_set
        ):
            raise said("a choice weighs agents or asks a condition of them", "write weight: and keep:, or where: alone")
        return self

    def term(self) -> Choose:
        """Return the choice."""
        source = self.from_ or self.choose
        if self.where is not None:
            return Choose(self.choose, source, self.where, MET)
        return Choose(self.choose, source, self.weight or "", keep(self.keep))


def _item(value: Any) -> str:
    if not isinstance(value, dict):
        return "<step>"
    return next((f"<{form}>" for form in ("case", "choose") if form in value), "<loop>")


ItemText: TypeAlias = Annotated[
    Annotated[Name, Tag("<step>")]
    | Annotated[LoopText, Tag("<loop>")]
    | Annotated[CaseText, Tag("<case>")]
    | Annotated[ChooseText, Tag("<choose>")],
    Discriminator(_item),
]
LoopText.model_rebuild()
CaseText.model_rebuild()


class EndsText(Entry):
    """`{rounds: T}`: at most T rounds in which debaters answered, the opening included."""

    rounds: Count


# ---------------------------------------------------------------- the decision
class VoteText(Entry):
    """What a tied vote becomes."""

    fallback: Annotated[Annotated[Fallback, Tag("<value>")] | Asked, SETTING_OR_VALUE] = "confidence"


class LastForm(Entry):
    """`{last: role}`: the last answer of a role."""

    last: Name


class RoleAnswerForm(Entry):
    """`{role: name}`: the answer of an extra role, such as a summarizer; its last one."""

    role: Name


class MajorityForm(Entry):
    """`{majority: {fallback: none}}`."""

    majority: VoteText


class WeightedForm(Entry):
    """`{weighted: {fallback: none}}`."""

    weighted: VoteText


class BallotForm(VoteText):
    """`{vote: weight}`: every answer of every round counts what an expression says."""

    vote: Ballot = Field(description="An expression with a value an answer.")


DecideWord: TypeAlias = Literal["majority", "weighted", "first"]
DecideText: TypeAlias = Annotated[
    Annotated[DecideWord, Tag("<word>")]
    | Asked
    | Annotated[LastForm, Tag("<last>")]
    | Annotated[RoleAnswerForm, Tag("<role>")]
    | Annotated[MajorityForm, Tag("<majority>")]
    | Annotated[WeightedForm, Tag("<weighted>")]
    | Annotated[BallotForm, Tag("<vote>")],
    one_of(
        get_args(DecideWord),
        {
            "vote": "{vote: weight of an answer}",
            "last": "{last: role}",
            "role": "{role: name}",
            "majority": "{majority: {fallback: none}}",
            "weighted": "{weighted: {fallback: none}}",
        },
    ),
]


# ---------------------------------------------------------------- roles
class ModelOfForm(Entry):
    """`{model_of: first}`: an extra agent, named after the role, with the model of the first agent."""

    model_of: Literal["first", "second"]


class ModelForm(Entry):
    """`{model: NAME}`: an extra agent, named after the role, with a model of its own."""

    model: Name
    persona: Text | None = None


class ToolForm(Entry):
    """`{tool: NAME}`: no model, but a tool of the spec, named after the role."""

    tool: Annotated[Annotated[Name, Tag("<value>")] | Asked, SETTING_OR_VALUE]


def _role(value: Any) -> str | None:
    if isinstance(value, str):
        return "<setting>" if value.startswith("$") else "<word>" if value in get_args(RoleWord) else None
    if isinstance(value, dict):
        return next((f"<{form}>" for form in ("model_of", "model", "tool") if form in value), None)
    return {list: "<names>", int: "<number>"}.get(type(value))


RoleWord: TypeAlias = Literal["everyone", "first", "second"]
RoleText: TypeAlias = Annotated[
    Annotated[RoleWord, Tag("<word>")]
    | Asked
    | Annotated[Annotated[Whole, Field(ge=1)], Tag("<number>")]
    | Annotated[tuple[Name, ...], Field(min_length=1), Tag("<names>")]
    | Annotated[ModelOfForm, Tag("<model_of>")]
    | Annotated[ModelForm, Tag("<model>")]
    | Annotated[ToolForm, Tag("<tool>")],
    Discriminator(
        _role,
        **no_such_form(
            (*get_args(RoleWord), "the number of an agent"),
            {
                "names": "[agent names]",
                "model_of": "{model_of: first}",
                "model": "{model: NAME}",
                "tool": "{tool: NAME}",
            },
        ),
    ),
]


# ---------------------------------------------------------------- the whole
class ProtocolText(Entry):
    """A debate protocol. Words that are not written take the setting of that name, if there is one."""

    example: ClassVar[str] = "{steps: ..., schedule: ..., decide: ...}"

    title: Text = ""
    source: Text | None = Field(None, description="Where the method was published.")
    settings: dict[Variable, Plain] = Field(
        default_factory=dict, description="What a method may set, with defaults; each may be a grid axis."
    )
    roles: Annotated[dict[Variable, RoleText], Field(min_length=1)] = Field({"debater": "everyone"})
    debaters: Annotated[tuple[Name, ...], BeforeValidator(_listed, json_schema_input_type=Name | tuple[Name, ...])] = (
        Field((), description="Whose answers make rounds and votes: a role or roles; else the first to answer.")
    )
    steps: Annotated[dict[Variable, StepText], Field(min_length=1)]
    schedule: Annotated[tuple[ItemText, ...], Field(min_length=1)]
    decide: DecideText
    ends: EndsText | None = None
    recalibration: RecalibrationText = "none"
    participation: Annotated[Annotated[Participation, Tag("<value>")] | Asked, SETTING_OR_VALUE] = "spoken"
    similarity: Text = Field(
        "ngram",
        description="ngram, an embedding model, sentence-transformers/NAME, nli/NAME, or asked: what a step has read.",
    )
    passes: Annotated[Annotated[PassesOn, Tag("<value>")] | Asked, SETTING_OR_VALUE] = "whole"
    fallback: Annotated[Annotated[Fallback, Tag("<value>")] | Asked, SETTING_OR_VALUE] = "confidence"


INHERITING = ("recalibration", "participation", "similarity", "passes", "fallback")
"""The words of a protocol that take the setting of the same name where they are not written."""

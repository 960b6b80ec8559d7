"""A protocol as it is written: who speaks, who hears whom, what is read, in which order, and how it ends.

Any value may be `$name`, a setting that a method may set; a count or a weight may contain one. The same types
check a protocol before its settings are known and after they have been put in.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag

from cortexdsl.spec.grammar.protocols.bins import RecalibrationText
from cortexdsl.spec.grammar.protocols.schedule import EndsText, ItemText
from cortexdsl.spec.grammar.protocols.steps import StepText
from cortexdsl.spec.grammar.values.expressions import Ballot
from cortexdsl.spec.grammar.values.words import (
    SETTING_OR_VALUE,
    Asked,
    Entry,
    Name,
    Plain,
    Text,
    Variable,
    Whole,
    listed,
    no_such_form,
    one_of,
)

Fallback: TypeAlias = Literal["confidence", "none"]
Participation: TypeAlias = Literal["spoken", "heard", "both"]
PassesOn: TypeAlias = Literal["whole", "answer", "reasoning"]


# ---------------------------------------------------------------- the decision
class VoteText(Entry):
    """What a tied vote becomes."""

    example: ClassVar[str] = "{fallback: none}"

    fallback: Annotated[Annotated[Fallback, Tag("<value>")] | Asked, SETTING_OR_VALUE] = "confidence"


class OtherwiseText(Entry):
    """What decides where a role gave no answer."""

    otherwise: Literal["majority", "weighted", "first", "none"] | None = Field(
        None, alias="else", description="What decides where the role gave no answer that could be read."
    )


class LastForm(OtherwiseText):
    """`{last: role}`: the last answer of a role; `{last: role, else: majority}`."""

    last: Name


class RoleAnswerForm(OtherwiseText):
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
            "last": "{last: role, else: majority}",
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
    debaters: Annotated[tuple[Name, ...], BeforeValidator(listed, json_schema_input_type=Name | tuple[Name, ...])] = (
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
